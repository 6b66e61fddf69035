"""What the search refuses, and how it says so."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan

import pytest
import torch
from torch import Tensor

from ngs import (
    ANY,
    UNDEFINED,
    Arithmetic,
    ChainSettings,
    Corrections,
    Grammar,
    NGSError,
    ParseError,
    Semantics,
    SemanticsError,
    ShapeError,
    back_search,
    multi_step,
    one_step,
    posterior,
    reasoner,
    sample_corrections,
)
from ngs.parsing.independent import normalised
from ngs.reasoning.operation import Value
from tests.search.semantics import SMALL_ARITHMETIC, Examples

Batched = Callable[[Tensor, Sequence[int] | None, Sequence[Value]], object]
Single = Callable[[Tensor, Value], object]


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def correct(
    scores: Tensor, lengths: Sequence[int] | None, answers: Sequence[Value], steps: int
) -> Corrections:
    """1-BS, or m-BS of some steps, from the most likely sentences."""
    p = normalised(SMALL_ARITHMETIC, scores, lengths)
    r = reasoner(SMALL_ARITHMETIC, Arithmetic, Examples(p.lengths, answers))
    search = p.best().symbols, p.score, r.edits, r.judge
    if not steps:
        return back_search(*search)
    return sample_corrections(*search, ChainSettings(steps), generator())


BATCHED: dict[str, Batched] = {
    "back_search": lambda *given: correct(*given, 0),
    "sample_corrections": lambda *given: correct(*given, 2),
    "posterior": lambda *given: posterior(SMALL_ARITHMETIC, Arithmetic, *given),
}
SINGLE: dict[str, Single] = {
    "one_step": lambda scores, target: one_step(SMALL_ARITHMETIC, Arithmetic, scores, target),
    "multi_step": lambda scores, target: multi_step(
        SMALL_ARITHMETIC, Arithmetic, scores, target, generator=generator()
    ),
}
batched = pytest.mark.parametrize("search", BATCHED.values(), ids=BATCHED)
single = pytest.mark.parametrize("search", SINGLE.values(), ids=SINGLE)


def uniform(batch: int = 2, time: int = 3, symbols: int = 7) -> Tensor:
    return torch.zeros(batch, time, symbols).log_softmax(-1)


def spoilt(value: float) -> Tensor:
    scores = uniform()
    scores[1, 2, 4] = value
    return scores


def test_a_posterior_reads_its_scores_as_a_distribution_does() -> None:
    """What else is refused is in tests/parsing/test_bad_input.py."""
    for scores, message in (
        (spoilt(nan), r"hold nan at \[example, time, symbol\] = \[1, 2, 4\]"),
        (spoilt(0.0), r"time 2 of example 1 sum to 1.85.*, not to 1; .*log_softmax"),
    ):
        with pytest.raises(ShapeError, match=message):
            posterior(SMALL_ARITHMETIC, Arithmetic, scores, None, [1, 1])


@single
@pytest.mark.parametrize(
    "scores, error, message",
    [
        *(
            (spoilt(x)[1], ShapeError, rf"{x} at \[time, symbol\] = \[2, 4\] \(symbol '0'\)")
            for x in (nan, inf)
        ),
        (torch.zeros(3, 7), ShapeError, r"of time 0 sum to 7, not to 1; .*log_softmax"),
        (uniform(symbols=5)[0], ShapeError, "the network scores 5 symbols but the grammar has 7 terminals"),
        (torch.zeros(()), ShapeError, r"the scores have the shape \[\]; give \[time, symbol\]"),
        (torch.zeros(7), ShapeError, r"the scores have the shape \[7\]; give \[time, symbol\]"),
        (uniform(), ShapeError, r"the shape \[2, 3, 7\], but one sentence needs \[time, symbol\]"),
        (uniform(1, 2)[0], ParseError, "no sentence of length 2; the lengths up to 2 it has"),
    ],
)
def test_scores_of_one_example_that_cannot_be_searched(
    search: Single, scores: Tensor, error: type[NGSError], message: str
) -> None:
    with pytest.raises(error, match=message):
        search(scores, 1)


@batched
def test_what_stands_behind_the_end_may_be_anything(search: Batched) -> None:
    scores = uniform()
    scores[1, 1:] = nan
    search(scores, [3, 1], [1, 1])


def test_lengths_the_language_does_not_have() -> None:
    """Also for a reasoner, which sees no scores, and beyond the budget."""
    for lengths in ([2, 3], [3, 2]):
        with pytest.raises(ParseError, match="the grammar has no sentence of length 2"):
            reasoner(SMALL_ARITHMETIC, Arithmetic, Examples(lengths, [1, 1]))
    with pytest.raises(ParseError, match="the grammar has no sentence of length 4"):
        posterior(SMALL_ARITHMETIC, Arithmetic, uniform(1, 4), None, [1], budget=1)


@batched
def test_answers_that_are_too_few_or_too_many(search: Batched) -> None:
    for answers in ([1], [1, 2, 3], []):
        given = rf"{len(answers)} (targets|answers) for a batch of 2; give one for each example"
        with pytest.raises(ShapeError, match=given):
            search(uniform(), None, answers)


@pytest.mark.parametrize(
    "answer, message",
    [
        (UNDEFINED, "the answer is UNDEFINED; leave examples without a defined answer out"),
        (ANY, "the answer is ANY; leave"),
        (nan, "the answer is nan; leave"),
        (-inf, "the answer is -inf; leave"),
        ([1], r"the answer \[1\] is not hashable; give a number, string, tuple or frozenset"),
        (torch.tensor(3), r"the answer is a tensor \(tensor\(3\)\), which equals no value; .*`.tolist\(\)`"),
    ],
)
def test_answers_nobody_could_mean(answer: Value, message: str) -> None:
    for search in SINGLE.values():
        with pytest.raises(SemanticsError, match=message):
            search(uniform()[0], answer)
    for many in BATCHED.values():
        with pytest.raises(SemanticsError, match=message):
            many(uniform(), None, [1, answer])


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


def impossible() -> Tensor:
    """All probability on `+`: no formula is possible."""
    scores = torch.full((1, 3, len(SMALL_ARITHMETIC.symbols)), -inf)
    scores[..., SMALL_ARITHMETIC.symbol_id("+")] = 0.0
    return scores


@single
def test_no_sentence_is_possible(search: Single) -> None:
    with pytest.raises(ParseError, match="no sentence of 3 symbols has positive probability"):
        search(impossible()[0], 1)


def test_no_sentence_of_a_batch_is_possible() -> None:
    """A batch goes on without it. So does back-search: tests/search/test_back_search.py."""
    scores = torch.cat([impossible(), uniform(1)])
    exact = posterior(SMALL_ARITHMETIC, Arithmetic, scores, None, [1, 1])
    assert exact.found.tolist() == [False, True] and not exact.marginals[0].any()


@pytest.mark.parametrize("time", [0, 3])
def test_empty_batches(time: int) -> None:
    scores = torch.zeros(0, time, len(SMALL_ARITHMETIC.symbols))
    for lengths in (None, []):
        for have in (correct(scores, lengths, [], steps) for steps in (0, 2)):
            assert have.found.shape == (0,) and have.z.shape == (0, time)
        exact = posterior(SMALL_ARITHMETIC, Arithmetic, scores, lengths, [])
        assert exact.log_z.shape == exact.found.shape == exact.exact.shape == (0,)
        assert exact.marginals.shape == scores.shape
        assert exact.best().symbols.shape == exact.sample(generator()).symbols.shape == (0, time)
        assert exact.topk(2).symbols.shape == (0, 2, time)


def test_beams_and_ranks_without_room() -> None:
    with pytest.raises(NGSError, match="beam is 0; it must be at least one value of each span"):
        posterior(SMALL_ARITHMETIC, Arithmetic, uniform(1), None, [1], budget=1, beam=0)
    with pytest.raises(NGSError, match="k is 0; ask for at least one sentence"):
        posterior(SMALL_ARITHMETIC, Arithmetic, uniform(1), None, [1]).topk(0)


def test_a_meaning_that_is_missing_is_named_before_the_search() -> None:
    grammar = Grammar.parse('s: x "+" x -> plus\nx: "0" | "1"')

    class Empty(Semantics):
        pass

    scores = torch.zeros(1, 3, 3).log_softmax(-1)
    for search in (
        lambda: one_step(grammar, Empty, scores[0], "0"),
        lambda: multi_step(grammar, Empty, scores[0], "0", generator=generator()),
        lambda: reasoner(grammar, Empty, Examples([3], ["0"])),
        lambda: posterior(grammar, Empty, scores, None, ["0"]),
        lambda: posterior(grammar, Empty, scores, None, ["0"], budget=1),
    ):
        with pytest.raises(SemanticsError, match="line 1: the grammar names `plus`, but Empty has no such"):
            search()


def test_a_semantics_that_cannot_be_cached() -> None:
    @dataclass(frozen=True)
    class Scaled(Arithmetic):
        factors: dict[str, int]

    examples = Examples(lengths=[1], answers=[1])
    with pytest.raises(SemanticsError, match="is not hashable, so its tables cannot be cached"):
        reasoner(SMALL_ARITHMETIC, Scaled({"one": 1}), examples)


def test_sentences_that_are_too_long_for_what_was_made() -> None:
    z = torch.tensor([SMALL_ARITHMETIC.encode("1+2+1")])
    short = reasoner(SMALL_ARITHMETIC, Arithmetic, Examples(lengths=[3], answers=[1]))
    message = "a sentence has 5 symbols, and this was made for up to 3; make it for the longest sentence"
    with pytest.raises(ShapeError, match=message):
        short.judge(torch.tensor([0]), z)
    with pytest.raises(ShapeError, match=message):
        short.edits.neighbours(z)
