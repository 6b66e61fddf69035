"""Inspection: counts, leaks and contradictions, against the slow and obvious way to find them."""

import torch
from hypothesis import given

from ngs.tasks.hwf.dataset import HandwrittenFormulas
from ngs.tasks.hwf.inspection import Contradiction, LengthCount, SymbolCount, contents, inspect
from tests.tasks.hwf.datasets import dataset, datasets


def test_what_a_small_data_set_holds() -> None:
    shown = [("1", 0), ("+", 10), ("2", 20), ("2", 20), ("1", 20), ("1", 30), ("-", 40)]
    train = [("1+2", [0, 1, 2]), ("1+1", [0, 1, 0]), ("2", [2]), ("1", [4])]
    test = [("2", [3]), ("1", [5]), ("1+2", [5, 1, 3])]
    found = inspect(dataset(shown, train, test))
    assert (found.train_formulas, found.test_formulas) == (4, 3)
    assert (found.train_images, found.test_images, found.contents) == (4, 3, 4)  # the image of - is not used
    assert found.leaked == ("+/1.jpg", "2/3.jpg") and found.leaked_formulas == 2
    assert found.lengths == (LengthCount(1, 2, 2), LengthCount(3, 2, 1))
    assert found.contradictions == (Contradiction("2", ("2/2.jpg", "2/3.jpg"), ("1/4.jpg",)),)
    counts = {count.symbol: count for count in found.symbols}
    assert counts["1"] == SymbolCount("1", 4, 2, 2, 1, 3, 0)
    assert counts["2"] == SymbolCount("2", 2, 2, 1, 1, 1, 1)
    assert counts["+"] == SymbolCount("+", 2, 1, 1, 1, 1, 1)
    assert counts["-"] == SymbolCount("-", 0, 0, 0, 0, 0, 0)


def agree(data: HandwrittenFormulas, one: int, other: int) -> bool:
    return torch.equal(data.images[one], data.images[other])


@given(datasets())
def test_leaks_and_contradictions_are_those_found_by_comparing_all_pairs(data) -> None:
    found = inspect(data)
    train, test = (set(part.images.tolist()) for part in (data.train, data.test))
    leaked = {row for row in test if any(agree(data, row, other) for other in train)}
    assert set(found.leaked) == {data.sources[row] for row in leaked} and len(found.leaked) == len(leaked)
    touched = [rows for rows in data.test.where.tolist() if leaked.intersection(rows)]
    assert found.leaked_formulas == len(touched)
    assert sum(count.leaked for count in found.symbols) == len(leaked)

    firsts = {min(other for other in train | test if agree(data, row, other)) for row in train | test}
    assert found.contents == len(firsts)
    opposed = {
        frozenset((data.sources[row], data.sources[other]))
        for row in train | test
        for other in train | test
        if agree(data, row, other) and data.columns[row] != data.columns[other]
    }
    named = {
        frozenset((one, other))
        for contradiction in found.contradictions
        for one in contradiction.contradicting
        for other in contradiction.agreeing
    }
    assert named <= opposed
    assert {source for pair in opposed for source in pair} == {
        source
        for contradiction in found.contradictions
        for source in (*contradiction.agreeing, *contradiction.contradicting)
    }
    assert all(len(each.agreeing) > 0 < len(each.contradicting) for each in found.contradictions)


def test_one_pixel_makes_another_content() -> None:
    images = torch.zeros(4, 45, 45, dtype=torch.uint8)
    images[1, 44, 44] = 1
    images[3, 44, 44] = 1
    assert contents(images).tolist() == [0, 1, 0, 1]
    assert contents(images[:0]).tolist() == []
