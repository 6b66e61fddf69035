"""What cannot be decoded is refused with the reason and the remedy, by every function alike."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from ngs.errors import NGSError, ParseError, ShapeError
from ngs.parsing.decode import Sentences, best, k_best, log_partition, marginals, sample
from tests.grammars import ARITHMETIC, CATALAN, DANGLING_ELSE, NULLABLE_LIST

Decoder = Callable[..., Any]

DECODERS: dict[str, Decoder] = {
    "best": best,
    "k_best": partial(k_best, k=3),
    "sample": sample,
    "log_partition": log_partition,
    "marginals": marginals,
}

every_decoder = pytest.mark.parametrize("decoder", DECODERS.values(), ids=DECODERS)


def scores(*shape: int) -> Tensor:
    return torch.zeros(*shape).log_softmax(-1)


def refused(error: type[NGSError], text: str) -> Any:
    return pytest.raises(error, match=re.escape(text))


@every_decoder
@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("lengths", [None, [3, 3]])
def test_what_is_no_log_probability_is_found(
    decoder: Decoder, value: float, lengths: list[int] | None
) -> None:
    batch = scores(2, 3, 7)
    batch[1, 2, 4] = value
    with refused(
        ShapeError,
        f"the scores hold {value} at [example, time, symbol] = [1, 2, 4] (symbol '0'); "
        "log-probabilities are below +inf, with -inf for probability zero: "
        "look for a division by zero or a diverged network before the log_softmax",
    ):
        decoder(ARITHMETIC, batch, lengths)


@every_decoder
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e30])
def test_what_stands_behind_the_end_does_not_matter(decoder: Decoder, value: float) -> None:
    torch.manual_seed(0)
    batch = torch.randn(2, 5, 7).log_softmax(-1)
    spoilt = batch.clone()
    spoilt[0, 3:] = value
    for have, wanted in zip(
        *(tensors(seeded(decoder)(ARITHMETIC, x, [3, 5])) for x in (spoilt, batch)), strict=True
    ):
        assert have.equal(wanted)


def seeded(decoder: Decoder) -> Decoder:
    return partial(sample, generator=torch.Generator().manual_seed(0)) if decoder is sample else decoder


def tensors(result: Tensor | Sentences) -> tuple[Tensor, ...]:
    return (result,) if isinstance(result, Tensor) else (result.columns, result.log_probs)


@every_decoder
def test_a_wrong_number_of_symbols_names_both(decoder: Decoder) -> None:
    with refused(
        ShapeError,
        "the network scores 6 symbols but the grammar has 7 terminals (+ - * / 0 1 2); "
        "give the network's last layer 7 outputs",
    ):
        decoder(ARITHMETIC, scores(2, 3, 6))
    with refused(ShapeError, "the network scores 0 symbols but the grammar has 1 terminal (a)"):
        decoder(CATALAN, torch.zeros(2, 3, 0))


@every_decoder
@pytest.mark.parametrize("length", [0, -1, 4])
def test_a_length_out_of_range_names_its_example(decoder: Decoder, length: int) -> None:
    with refused(
        ShapeError,
        f"example 1 has length {length}, but the scores allow 1 to 3; "
        "leave out empty examples, or pad the scores to the longest one",
    ):
        decoder(ARITHMETIC, scores(2, 3, 7), [3, length])


@every_decoder
def test_lengths_of_another_batch_are_refused(decoder: Decoder) -> None:
    with refused(ShapeError, "the batch has 2 examples but the lengths have the shape [3]"):
        decoder(ARITHMETIC, scores(2, 3, 7), [3, 3, 3])
    with refused(ShapeError, "the lengths are torch.float32, not integers"):
        decoder(ARITHMETIC, scores(2, 3, 7), torch.tensor([3.0, 3.0]))


@every_decoder
def test_a_length_without_sentences_names_those_there_are(decoder: Decoder) -> None:
    with refused(
        ParseError,
        "the grammar has no sentence of length 4; the lengths up to 5 it has are 1 3 5",
    ):
        decoder(ARITHMETIC, scores(2, 5, 7), [5, 4])
    with refused(
        ParseError, "the grammar has no sentence of length 1; the lengths up to 1 it has are (none)"
    ):
        decoder(NULLABLE_LIST, scores(1, 1, 5))
    with refused(
        ParseError, "the grammar has no sentence of length 2; the lengths up to 7 it has are 1 3 5 7"
    ):
        decoder(DANGLING_ELSE, scores(1, 7, 4), [2])  # ambiguous at 7 symbols


@every_decoder
def test_one_example_without_a_batch_says_how_to_add_one(decoder: Decoder) -> None:
    with refused(
        ShapeError,
        "lengths belong to a batch [batch, time, symbol], but the scores have the shape [3, 7]; "
        "add a batch dimension with log_probs[None]",
    ):
        decoder(ARITHMETIC, scores(3, 7))


@every_decoder
def test_symbols_are_not_scores(decoder: Decoder) -> None:
    with refused(ShapeError, "the scores are torch.int64, not floating point; give log-probabilities"):
        decoder(ARITHMETIC, torch.zeros(1, 3, 7, dtype=torch.int64))


@every_decoder
def test_no_time_is_no_length(decoder: Decoder) -> None:
    with refused(ShapeError, "example 0 has length 0, but the scores allow 1 to 0"):
        decoder(ARITHMETIC, torch.zeros(2, 0, 7))


@pytest.mark.parametrize("time", [0, 2, 3])
@pytest.mark.parametrize("lengths", [None, [], torch.empty(0, dtype=torch.int64)])
def test_an_empty_batch_has_an_empty_result(time: int, lengths: list[int] | Tensor | None) -> None:
    none = torch.zeros(0, time, 7, dtype=torch.float64)
    for decoder in (best, sample):
        found = decoder(ARITHMETIC, none, lengths)
        assert (found.columns.shape, found.log_probs.shape) == ((0, time), (0,))
        assert (found.columns.dtype, found.log_probs.dtype) == (torch.int64, torch.float64)
    found = k_best(ARITHMETIC, none, lengths, k=3)
    assert (found.columns.shape, found.log_probs.shape) == ((0, 3, time), (0, 3))
    assert log_partition(ARITHMETIC, none, lengths).shape == (0,)
    assert marginals(ARITHMETIC, none, lengths).shape == (0, time, 7)


def test_an_empty_batch_can_be_trained_on() -> None:
    none = torch.zeros(0, 3, 7, requires_grad=True)
    log_partition(ARITHMETIC, none).sum().backward()
    assert none.grad is not None
    assert none.grad.shape == (0, 3, 7)
