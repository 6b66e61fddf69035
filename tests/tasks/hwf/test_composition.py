"""New formulas with the images of a data set: what they show, from where, and the same again."""

from dataclasses import replace

import pytest
import torch

from ngs.errors import DataError, NGSError
from ngs.tasks.hwf.composition import composed
from ngs.tasks.hwf.dataset import Formulas, HandwrittenFormulas, value_of
from ngs.tasks.hwf.embedded import embedded

LENGTHS = {1: 1.0, 9: 1.0, 15: 2.0}


@pytest.fixture(scope="module")
def data() -> HandwrittenFormulas:
    return embedded(train=120, test=80)


def rows(formulas: Formulas) -> set[int]:
    return set(formulas.images.tolist())


def test_formulas_are_worth_what_they_say_and_have_the_lengths_asked_for(data: HandwrittenFormulas) -> None:
    longer = composed(data, LENGTHS, train=40, test=20)
    for part, number in ((longer.train, 40), (longer.test, 20)):
        sentences = [longer.sentence(part, k) for k in range(number)]
        assert [value_of(sentence) for sentence in sentences] == list(part.answers)
        lengths = [len(sentence) for sentence in sentences]
        assert lengths == part.lengths.tolist()
        assert [lengths.count(n) for n in LENGTHS] == [number // 4, number // 4, number // 2]
        assert len(set(sentences)) > number * 2 // 3
    assert longer.images is data.images and longer.columns is data.columns


def test_each_part_shows_images_of_its_own_part(data: HandwrittenFormulas) -> None:
    longer = composed(data, LENGTHS, train=200, test=200)
    assert rows(longer.train) <= rows(data.train) and rows(longer.test) <= rows(data.test)
    assert rows(longer.train).isdisjoint(rows(longer.test))
    assert len(rows(longer.test)) > len(rows(data.test)) * 0.9  # all of them, not one for each symbol
    leaking = composed(replace(data, test=data.train), LENGTHS, train=200, test=200)
    assert rows(leaking.train) & rows(leaking.test)  # what is in both parts stays in both


def test_the_same_seed_gives_the_same_and_more_leaves_the_first_as_they_are(
    data: HandwrittenFormulas,
) -> None:
    one, again = (composed(data, LENGTHS, train=12, test=5, seed=3) for _ in range(2))
    assert one.digest == again.digest != data.digest
    assert composed(data, LENGTHS, train=12, test=5, seed=4).digest != one.digest
    more = composed(data, LENGTHS, train=30, test=9, seed=3)
    assert torch.equal(more.train.where[:12], one.train.where) and more.test.answers[:5] == one.test.answers


def lacking(data: HandwrittenFormulas, symbols: str) -> HandwrittenFormulas:
    """The data without the formulas that have one of the symbols."""

    def part(formulas: Formulas) -> Formulas:
        kept = [k for k in range(len(formulas)) if not set(data.sentence(formulas, k)) & set(symbols)]
        return formulas.select(kept)

    return replace(data, train=part(data.train), test=part(data.test))


@pytest.mark.parametrize("symbols", ["0", "07-", "+-/"])
def test_symbols_without_an_image_are_not_written(data: HandwrittenFormulas, symbols: str) -> None:
    """HWF as published has no 0."""
    longer = composed(lacking(data, symbols), LENGTHS, train=40, test=40)
    for part in (longer.train, longer.test):
        sentences = [longer.sentence(part, k) for k in range(40)]
        assert set("".join(sentences)).isdisjoint(symbols)
        assert [value_of(sentence) for sentence in sentences] == list(part.answers)
        assert len(set(sentences)) > 25


def test_what_cannot_be_written_is_refused(data: HandwrittenFormulas) -> None:
    for less in (replace(data, test=data.test.select([])), lacking(data, "+-*/")):
        with pytest.raises(DataError, match="a part of embedded shows no digit or no operator, so no new"):
            composed(less, LENGTHS, train=1, test=1)
    with pytest.raises(NGSError, match="4"):
        composed(data, {4: 1.0}, train=1, test=1)
