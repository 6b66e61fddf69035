"""What the search refuses, and how it says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import inf, nan

import pytest
import torch
from torch import Tensor

import ngs
from ngs import (
    ANY,
    PAD,
    UNDEFINED,
    Arithmetic,
    Grammar,
    NGSError,
    ParseError,
    Semantics,
    SemanticsError,
    ShapeError,
    multi_step,
    multi_step_batch,
    one_step,
    one_step_batch,
    posterior,
)
from ngs.reasoning.operation import Value
from tests.search.semantics import SMALL_ARITHMETIC

Batched = Callable[[Tensor, Sequence[int] | None, Sequence[Value]], object]
Single = Callable[[Tensor, Value], object]


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


BATCHED: dict[str, Batched] = {
    "one_step_batch": lambda scores, lengths, answers: one_step_batch(
        SMALL_ARITHMETIC, Arithmetic, scores, lengths, answers
    ),
    "multi_step_batch": lambda scores, lengths, answers: multi_step_batch(
        SMALL_ARITHMETIC, Arithmetic, scores, lengths, answers, generator=generator()
    ),
    "posterior": lambda scores, lengths, answers: posterior(SMALL_ARITHMETIC, Arithmetic, scores, lengths, answers),
}
SINGLE: dict[str, Single] = {
    "one_step": lambda scores, target: one_step(SMALL_ARITHMETIC, Arithmetic, scores, target),
    "multi_step": lambda scores, target: multi_step(
        SMALL_ARITHMETIC, Arithmetic, scores, target, generator=generator()
    ),
}
batched = pytest.mark.parametrize("search", BATCHED.values(), ids=BATCHED)
single = pytest.mark.parametrize("search", SINGLE.values(), ids=SINGLE)
of_probabilities = pytest.mark.parametrize(  # `posterior` takes any scores
    "search", list(BATCHED.values())[:2], ids=list(BATCHED)[:2]
)


def uniform(batch: int = 2, time: int = 3) -> Tensor:
    return torch.zeros(batch, time, len(SMALL_ARITHMETIC.symbols)).log_softmax(-1)


@pytest.mark.parametrize("value", [nan, inf])
@batched
def test_scores_that_are_no_numbers(search: Batched, value: float) -> None:
    scores = uniform()
    scores[1, 2, 4] = value
    with pytest.raises(
        ShapeError, match=rf"the scores hold {value} at \[example, time, symbol\] = \[1, 2, 4\]"
    ):
        search(scores, None, [1, 1])


@pytest.mark.parametrize("value", [nan, inf])
@single
def test_scores_that_are_no_numbers_of_one_example(search: Single, value: float) -> None:
    scores = uniform()[0]
    scores[2, 4] = value
    with pytest.raises(
        ShapeError, match=rf"the scores hold {value} at \[time, symbol\] = \[2, 4\] \(symbol '0'\)"
    ):
        search(scores, 1)


@batched
def test_what_stands_behind_the_end_may_be_anything(search: Batched) -> None:
    scores = uniform()
    scores[1, 1:] = nan
    search(scores, [3, 1], [1, 1])


@of_probabilities
def test_scores_that_do_not_sum_to_one(search: Batched) -> None:
    scores = uniform()
    scores[1, 2] += 1.0
    with pytest.raises(ShapeError, match=r"time 2 of example 1 sum to 2.718.*, not to 1; .*log_softmax"):
        search(scores, None, [1, 1])
    search(scores, [3, 1], [1, 1])  # behind the end it does not matter


@single
def test_scores_of_one_example_that_do_not_sum_to_one(search: Single) -> None:
    with pytest.raises(ShapeError, match=r"the probabilities of time 0 sum to 7, not to 1; .*log_softmax"):
        search(torch.zeros(3, 7), 1)


@batched
def test_scores_for_another_grammar(search: Batched) -> None:
    with pytest.raises(ShapeError, match="the network scores 5 symbols but the grammar has 7 terminals"):
        search(torch.zeros(2, 3, 5).log_softmax(-1), None, [1, 1])


@single
def test_scores_of_one_example_for_another_grammar(search: Single) -> None:
    with pytest.raises(ShapeError, match="the network scores 5 symbols but the grammar has 7 terminals"):
        search(torch.zeros(3, 5).log_softmax(-1), 1)


@batched
@pytest.mark.parametrize("shape", [(), (7,), (3, 7)])
def test_no_batch_dimension(search: Batched, shape: tuple[int, ...]) -> None:
    shown = re.escape(str(list(shape)))
    with pytest.raises(ShapeError, match=f"the shape {shown}; add a batch dimension"):
        search(torch.zeros(shape), None, [1])


@single
@pytest.mark.parametrize("shape", [(), (7,)])
def test_too_few_dimensions_for_one_example(search: Single, shape: tuple[int, ...]) -> None:
    shown = re.escape(str(list(shape)))
    with pytest.raises(ShapeError, match=rf"the scores have the shape {shown}; give \[time, symbol\]"):
        search(torch.zeros(shape), 1)


@single
def test_a_batch_where_one_example_belongs(search: Single) -> None:
    with pytest.raises(ShapeError, match=r"the shape \[2, 3, 7\], but one sentence needs \[time, symbol\]"):
        search(uniform(), 1)


@pytest.mark.parametrize(
    "lengths, message",
    [
        ([3, 4], "example 1 has length 4, but the scores allow 1 to 3"),
        ([0, 3], "example 0 has length 0, but the scores allow 1 to 3"),
        ([3, -1], "example 1 has length -1, but"),
        ([3], r"the batch has 2 examples but the lengths have the shape \[1\]"),
        ([3.0, 1.0], "the lengths are torch.float32, not integers"),
    ],
)
@batched
def test_lengths_that_do_not_fit(search: Batched, lengths: Sequence[int], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        search(uniform(), lengths, [1, 1])


@batched
def test_lengths_the_language_does_not_have(search: Batched) -> None:
    message = "the grammar has no sentence of length 2; the lengths up to [23] it has are 1"
    with pytest.raises(ParseError, match=message):
        search(uniform(2, 2), None, [1, 1])
    with pytest.raises(ParseError, match=message):
        search(uniform(2, 3), [3, 2], [1, 1])


@single
def test_a_length_the_language_does_not_have(search: Single) -> None:
    with pytest.raises(
        ParseError, match="the grammar has no sentence of length 2; the lengths up to 2 it has"
    ):
        search(uniform(1, 2)[0], 1)


def test_a_length_the_language_does_not_have_beyond_the_budget() -> None:
    with pytest.raises(ParseError, match="the grammar has no sentence of length 4"):
        posterior(SMALL_ARITHMETIC, Arithmetic, uniform(1, 4), None, [1], budget=1)


@batched
def test_answers_that_are_too_few_or_too_many(search: Batched) -> None:
    for answers in ([1], [1, 2, 3], []):
        given = rf"{len(answers)} (targets|answers) for a batch of 2; give one for each example"
        with pytest.raises(ShapeError, match=given):
            search(uniform(), None, answers)


BAD_ANSWERS = [
    (UNDEFINED, "the answer is UNDEFINED; leave examples without a defined answer out"),
    (ANY, "the answer is ANY; leave"),
    ([1], r"the answer \[1\] is not hashable; give a number, string, tuple or frozenset"),
    ({}, r"the answer \{\} is not hashable"),
]


@pytest.mark.parametrize("answer, message", BAD_ANSWERS)
@batched
def test_answers_nobody_could_mean(search: Batched, answer: Value, message: str) -> None:
    with pytest.raises(SemanticsError, match=message):
        search(uniform(), None, [1, answer])


@pytest.mark.parametrize("answer, message", BAD_ANSWERS)
@single
def test_an_answer_nobody_could_mean(search: Single, answer: Value, message: str) -> None:
    with pytest.raises(SemanticsError, match=message):
        search(uniform()[0], answer)


@pytest.mark.parametrize(
    "sentence, error, message",
    [
        ("1+", ShapeError, "the sentence has 2 symbols, but there are scores for 3"),
        ("1+1+1", ShapeError, "the sentence has 5 symbols, but there are scores for 3"),
        ("", ShapeError, "the sentence has 0 symbols, but there are scores for 3"),
        ("++1", ParseError, r"'\+ \+ 1' is not a sentence of the grammar"),
        ("1^1", ParseError, r"the grammar has no symbol '\^'; its symbols are \+ - \* / 0 1 2"),
    ],
)
def test_sentences_that_cannot_be_corrected(sentence: str, error: type[NGSError], message: str) -> None:
    scores = uniform()[0]
    with pytest.raises(error, match=message):
        one_step(SMALL_ARITHMETIC, Arithmetic, scores, 1, sentence)
    with pytest.raises(error, match=message):
        multi_step(SMALL_ARITHMETIC, Arithmetic, scores, 1, sentence, generator=generator())


@pytest.mark.parametrize(
    "columns, error, message",
    [
        (
            torch.zeros(2, 2, dtype=torch.long),
            ShapeError,
            r"of shape \[2, 2\]; give .* int64 of shape \[2, 3\]",
        ),
        (torch.zeros(1, 3, dtype=torch.long), ShapeError, r"of shape \[1, 3\]; give"),
        (torch.zeros(2, 3), ShapeError, "the sentences are torch.float32"),
        (torch.tensor([[4, 0, 5], [4, 4, 4]]), ParseError, "example 1: '0 0 0' is not a sentence"),
        (torch.tensor([[4, 0, 5], [4, 0, 7]]), ParseError, r"example 1: '0 \+ column 7' is not a sentence"),
    ],
)
def test_sentences_of_a_batch_that_cannot_be_corrected(
    columns: Tensor, error: type[NGSError], message: str
) -> None:
    targets = [1, 1]
    with pytest.raises(error, match=message):
        one_step_batch(SMALL_ARITHMETIC, Arithmetic, uniform(), None, targets, columns)
    with pytest.raises(error, match=message):
        multi_step_batch(SMALL_ARITHMETIC, Arithmetic, uniform(), None, targets, columns, generator=generator())


def impossible() -> Tensor:
    """All probability on `+`: no formula is possible."""
    scores = torch.full((1, 3, len(SMALL_ARITHMETIC.symbols)), -inf)
    scores[..., SMALL_ARITHMETIC.column("+")] = 0.0
    return scores


@single
def test_no_sentence_is_possible(search: Single) -> None:
    with pytest.raises(ParseError, match="no sentence of 3 symbols has positive probability"):
        search(impossible()[0], 1)


@pytest.mark.parametrize("target", range(5))
def test_no_sentence_of_a_batch_is_possible(target: int) -> None:
    """A batch goes on without it."""
    scores = torch.cat([impossible(), uniform(1)])
    for have in (
        one_step_batch(SMALL_ARITHMETIC, Arithmetic, scores, None, [target, target]),
        multi_step_batch(SMALL_ARITHMETIC, Arithmetic, scores, None, [target, target], generator=generator()),
    ):
        assert not have.found[0]
        assert have.sentences.columns[0].tolist() == [PAD] * 3
        assert have.sentences.log_probs[0] == -inf
        assert have.sentences[1] != ()
    exact = posterior(SMALL_ARITHMETIC, Arithmetic, scores, None, [target, target])
    assert exact.found.tolist() == [False, True]
    assert not exact.marginals[0].any()


@pytest.mark.parametrize("time", [0, 3])
def test_empty_batches(time: int) -> None:
    scores = torch.zeros(0, time, len(SMALL_ARITHMETIC.symbols))
    for lengths in (None, []):
        for have in (
            one_step_batch(SMALL_ARITHMETIC, Arithmetic, scores, lengths, []),
            multi_step_batch(SMALL_ARITHMETIC, Arithmetic, scores, lengths, [], generator=generator()),
        ):
            assert have.found.shape == (0,)
            assert have.sentences.columns.shape == (0, time)
        exact = posterior(SMALL_ARITHMETIC, Arithmetic, scores, lengths, [])
        assert exact.log_evidence.shape == exact.found.shape == exact.exact.shape == (0,)
        assert exact.marginals.shape == scores.shape
        assert exact.best().columns.shape == exact.sample(generator()).columns.shape == (0, time)
        assert exact.k_best(2).columns.shape == (0, 2, time)


def test_beams_and_ranks_without_room() -> None:
    with pytest.raises(NGSError, match="beam is 0; keep at least one value of each span"):
        posterior(SMALL_ARITHMETIC, Arithmetic, uniform(1), None, [1], budget=1, beam=0)
    with pytest.raises(NGSError, match="k is 0; ask for at least one sentence"):
        posterior(SMALL_ARITHMETIC, Arithmetic, uniform(1), None, [1]).k_best(0)


@batched
def test_whole_numbers_for_scores(search: Batched) -> None:
    with pytest.raises(ShapeError, match=r"the scores are torch.int64, not floating point"):
        search(torch.zeros(2, 3, 7, dtype=torch.int64), None, [1, 1])


def test_a_meaning_that_is_missing_is_named_before_the_search() -> None:
    grammar = Grammar.parse('s: x "+" x -> plus\nx: "0" | "1"')

    class Empty(Semantics):
        pass

    scores = torch.zeros(1, 3, 3).log_softmax(-1)
    for search in (
        lambda: one_step(grammar, Empty, scores[0], "0"),
        lambda: multi_step(grammar, Empty, scores[0], "0", generator=generator()),
        lambda: one_step_batch(grammar, Empty, scores, None, ["0"]),
        lambda: multi_step_batch(grammar, Empty, scores, None, ["0"], generator=generator()),
        lambda: posterior(grammar, Empty, scores, None, ["0"]),
        lambda: posterior(grammar, Empty, scores, None, ["0"], budget=1),
    ):
        with pytest.raises(SemanticsError, match="line 1: the grammar names `plus`, but Empty has no such"):
            search()


@pytest.mark.parametrize("answer", [torch.tensor(3), float("nan"), float("inf")], ids=repr)
def test_answers_that_equal_no_value(answer) -> None:
    scores = torch.zeros(1, 3, len(SMALL_ARITHMETIC.symbols)).log_softmax(-1)
    for call in (
        lambda: ngs.posterior(SMALL_ARITHMETIC, ngs.Arithmetic, scores, None, [answer]),
        lambda: ngs.one_step_batch(SMALL_ARITHMETIC, ngs.Arithmetic, scores, None, [answer]),
        lambda: ngs.one_step(SMALL_ARITHMETIC, ngs.Arithmetic, scores[0], answer),
    ):
        with pytest.raises(SemanticsError, match="the answer is"):
            call()


def test_given_sentences_are_checked() -> None:
    scores = torch.zeros(2, 3, len(SMALL_ARITHMETIC.symbols)).log_softmax(-1)

    def correct(columns):
        return ngs.one_step_batch(SMALL_ARITHMETIC, ngs.Arithmetic, scores, [3, 1], [2, 2], columns)

    good = torch.tensor([SMALL_ARITHMETIC.encode("1+2"), SMALL_ARITHMETIC.encode("1+1")])
    assert correct(good).sentences.columns[1, 1:].tolist() == [ngs.PAD, ngs.PAD]  # behind the end
    with pytest.raises(ShapeError, match=r"float32 of shape \[2, 3\]; give .* int64"):
        correct(good.float())
    with pytest.raises(ShapeError, match=r"give columns of the scores as int64 of shape \[2, 3\]"):
        correct(good[:, :2])
    for wrong in (SMALL_ARITHMETIC.column("+"), 99):
        bad = good.clone()
        bad[1, 0] = wrong
        with pytest.raises(ParseError, match=r"example 1: .* is not a sentence of the grammar"):
            correct(bad)
