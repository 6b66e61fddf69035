"""What cannot be read is refused with the reason and the remedy, before anything is computed."""

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from ngs.errors import NGSError, ParseError, ShapeError
from ngs.grammar.grammar import Grammar
from ngs.parsing.independent import Independent, independent, normalised
from tests.grammars import ARITHMETIC, DANGLING_ELSE, NULLABLE_LIST

METHODS: dict[str, Callable[[Independent], Any]] = {
    "best": Independent.best,
    "topk": lambda p: p.topk(3),
    "sample": lambda p: p.sample(torch.Generator().manual_seed(0)),
    "log_z": lambda p: p.log_z,
    "marginals": lambda p: p.marginals,
    "entropy": lambda p: p.entropy,
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
both = pytest.mark.parametrize("make", [independent, normalised])


def scores(*shape: int) -> Tensor:
    return torch.zeros(*shape).log_softmax(-1)


def refused(error: type[NGSError], text: str) -> Any:
    return pytest.raises(error, match=re.escape(text))


def spoilt(value: float) -> Tensor:
    return scores(2, 3, 7).index_put(tuple(map(torch.tensor, ([1], [2], [4]))), torch.tensor(value))


NO_NUMBER = (
    "the scores hold {} at [example, time, symbol] = [1, 2, 4] (symbol '0'); "
    "log-probabilities are below +inf, with -inf for probability zero: "
    "look for a division by zero or a diverged network before the log_softmax"
)
NO_LENGTH = (
    "example 1 has length {}, but the scores allow 1 to 3; "
    "leave out empty examples, or pad the scores to the longest one"
)


@both
@pytest.mark.parametrize(
    "batch, lengths, message",
    [
        *((spoilt(x), n, NO_NUMBER.format(x)) for x in (math.nan, math.inf) for n in (None, [3, 3])),
        (
            scores(2, 3, 6),
            None,
            "the network scores 6 symbols but the grammar has 7 terminals (+ - * / 0 1 2); "
            "give the network's last layer 7 outputs",
        ),
        (torch.zeros(2, 3, 0), None, "the network scores 0 symbols but the grammar has 7 terminals"),
        *((scores(2, 3, 7), [3, length], NO_LENGTH.format(length)) for length in (0, -1, 4)),
        (scores(2, 3, 7), [3] * 3, "the batch has 2 examples but the lengths have the shape [3]"),
        (scores(2, 3, 7), [[1, 2]], "the batch has 2 examples but the lengths have the shape [1, 2]"),
        (scores(2, 3, 7), torch.ones(2), "the lengths are torch.float32, not integers"),
        (scores(2, 3, 7), torch.ones(2).bool(), "the lengths are torch.bool, not integers"),
        (
            scores(3, 7),
            None,
            "lengths belong to a batch [batch, time, symbol], but the scores have the shape [3, 7]; "
            "add a batch dimension with log_probs[None]",
        ),
        (
            torch.zeros(1, 3, 7, dtype=torch.int64),
            None,
            "the scores are torch.int64, not floating point; give log-probabilities",
        ),
        (torch.zeros(2, 0, 7), None, "example 0 has length 0, but the scores allow 1 to 0"),
    ],
)
def test_what_cannot_be_read_is_refused(
    make: Callable[..., Independent], batch: Tensor, lengths: Any, message: str
) -> None:
    with refused(ShapeError, message):
        make(ARITHMETIC, batch, lengths)


@both
@every_method
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e30])
def test_what_stands_behind_the_end_does_not_matter(
    make: Callable[..., Independent], method: Callable[[Independent], Any], value: float
) -> None:
    batch = torch.randn(2, 5, 7).log_softmax(-1)
    spoilt = batch.clone()
    spoilt[0, 3:] = value
    have, wanted = (method(make(ARITHMETIC, scores, [3, 5])) for scores in (spoilt, batch))
    if isinstance(have, Tensor):
        assert have.equal(wanted)
    else:
        assert have.symbols.equal(wanted.symbols) and have.log_probs.equal(wanted.log_probs)


@every_method
@pytest.mark.parametrize(
    "grammar, time, lengths, message",
    [
        (ARITHMETIC, 5, [5, 4], "length 4; the lengths up to 5 it has are 1 3 5"),
        (NULLABLE_LIST, 1, None, "length 1; the lengths up to 1 it has are (none)"),
        (DANGLING_ELSE, 7, [2], "length 2; the lengths up to 7 it has are 1 3 5 7"),  # ambiguous at 7 symbols
    ],
)
def test_a_length_without_sentences_names_those_there_are(
    method: Callable[[Independent], Any], grammar: Grammar, time: int, lengths: list[int] | None, message: str
) -> None:
    batch = scores(1 if lengths is None else len(lengths), time, len(grammar.symbols))
    with refused(ParseError, f"the grammar has no sentence of {message}"):
        method(independent(grammar, batch, lengths))


@pytest.mark.parametrize("time", [0, 2, 3])
@pytest.mark.parametrize("lengths", [None, [], torch.empty(0, dtype=torch.int64)])
def test_an_empty_batch_has_an_empty_result(time: int, lengths: list[int] | Tensor | None) -> None:
    p = independent(ARITHMETIC, torch.zeros(0, time, 7, dtype=torch.float64), lengths)
    for found, ranks in ((p.best(), ()), (p.sample(), ()), (p.topk(3), (3,))):
        assert (found.symbols.shape, found.log_probs.shape) == ((0, *ranks, time), (0, *ranks))
        assert (found.symbols.dtype, found.log_probs.dtype) == (torch.int64, torch.float64)
    assert len(p) == 0 and p.log_z.shape == p.entropy.shape == p.found.shape == (0,)
    assert p.marginals.shape == (0, time, 7)


def test_an_empty_batch_can_be_trained_on() -> None:
    none = torch.zeros(0, 3, 7, requires_grad=True)
    independent(ARITHMETIC, none).log_z.sum().backward()
    assert none.grad is not None
    assert none.grad.shape == (0, 3, 7)


def test_only_normalised_scores_are_log_probabilities() -> None:
    assert independent(ARITHMETIC, torch.zeros(1, 3, 7)).log_z.exp().item() == pytest.approx(36)
    with refused(ShapeError, "the probabilities of time 0 of example 0 sum to 7, not to 1; pass the network"):
        normalised(ARITHMETIC, torch.zeros(1, 3, 7))
    with refused(ShapeError, "time 0 of example 0 sum to 0, not to 1"):
        normalised(ARITHMETIC, torch.full((1, 1, 7), -math.inf))
    batch = scores(2, 5, 7)
    batch[1, 2] += math.log(3)
    with refused(ShapeError, "time 2 of example 1 sum to 3, not to 1"):
        normalised(ARITHMETIC, batch)
    assert normalised(ARITHMETIC, batch, [5, 1]).lengths.tolist() == [5, 1]  # behind the end it is no matter
