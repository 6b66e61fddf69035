"""Leak-free splits: the same formulas, and no test image in training."""

from random import Random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ngs.errors import DataError
from ngs.grammar.padding import PAD
from ngs.tasks.hwf.dataset import HandwrittenFormulas
from ngs.tasks.hwf.inspection import inspect
from ngs.tasks.hwf.splitting import leak_free
from tests.tasks.hwf.datasets import dataset, datasets, parts_of, same


def lacks_images(data: HandwrittenFormulas) -> bool:
    """Whether a symbol that stands in both parts has only one image to itself, or one in use has none."""
    written = [set(part.images.tolist()) for part in (data.train, data.test)]
    labels: dict[int, set[int]] = {}
    for row in written[0] | written[1]:
        labels.setdefault(int(data.images[row, 0, 0]), set()).add(int(data.columns[row]))
    needed = [int(data.columns[row]) for row in written[0] | written[1]]
    return any(
        sum(shown == {symbol} for shown in labels.values())
        < sum(symbol in data.columns[list(rows)].tolist() for rows in written)
        for symbol in needed
    )


@given(datasets(), st.integers(0, 3))
def test_a_split_has_the_same_formulas_and_no_leak(data, seed) -> None:
    if lacks_images(data):
        with pytest.raises(DataError, match="has too few images of"):
            leak_free(data, Random(seed))
        return
    split = leak_free(data, Random(seed))
    assert parts_of(split) == parts_of(data)
    found = inspect(split)
    assert found.leaked == () and found.contradictions == ()
    assert found.train_images + found.test_images == found.contents == len(split.images)
    assert set(split.sources) <= set(data.sources)
    for row, source in enumerate(split.sources):
        original = data.sources.index(source)
        assert torch.equal(split.images[row], data.images[original])
        assert split.columns[row] == data.columns[original]
    assert same(split, leak_free(data, Random(seed)))


def ones(contents: int, train: int, test: int) -> HandwrittenFormulas:
    """Formulas of one symbol, written with images of 1 in turn."""
    shown = [("1", grey) for grey in range(contents)]
    written = [("1", [k % contents]) for k in range(train + test)]
    return dataset(shown, written[:train], written[train:])


def greys(data: HandwrittenFormulas, part: str) -> list[int]:
    where = getattr(data, part).where
    return [int(data.images[row, 0, 0]) for row in where[where != PAD].tolist()]


def test_the_share_of_the_test_is_kept_and_every_image_is_used() -> None:
    data = ones(100, train=80, test=20)
    split = leak_free(data, Random(0))
    assert split.name == "small-leak-free"
    train, test = set(greys(split, "train")), set(greys(split, "test"))
    assert (len(train), len(test)) == (80, 20) and train | test == set(range(100))
    assert test != set(greys(data, "test"))
    assert test != set(greys(leak_free(data, Random(1)), "test"))


def test_formulas_keep_the_images_of_their_side() -> None:
    data = ones(100, train=80, test=20)
    split = leak_free(data, Random(0))
    for part in ("train", "test"):
        side = set(greys(split, part))
        kept = [
            (was, now) for was, now in zip(greys(data, part), greys(split, part), strict=True) if was in side
        ]
        assert kept and all(was == now for was, now in kept)


def test_images_without_an_owner_are_dealt_out_evenly() -> None:
    data = ones(10, train=100, test=100)
    split = leak_free(data, Random(0))
    for part in ("train", "test"):
        given_out = greys(split, part)
        # Five images, each of which ten formulas keep; the other fifty formulas get them in turn.
        assert sorted(given_out.count(grey) for grey in set(given_out)) == [20] * 5


def test_images_with_two_labels_are_dropped() -> None:
    shown = [("1", 0), ("1", 1), ("1", 2), ("2", 0), ("2", 3), ("2", 4)]
    data = dataset(shown, [("1", [0]), ("2", [3])], [("1", [1]), ("2", [4])])
    with pytest.raises(DataError, match=r"small has too few images of 1 that differ \(1\)"):
        leak_free(data, Random(0))
    data = dataset(shown, [("1", [0]), ("2", [3]), ("1", [2])], [("1", [1]), ("2", [4]), ("2", [5])])
    split = leak_free(data, Random(0))
    assert 0 not in greys(split, "train") + greys(split, "test")
