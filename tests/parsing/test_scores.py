"""What the parsers refuse to read, and what they say about it."""

from __future__ import annotations

import math
import re

import pytest
import torch

from ngs.errors import ShapeError
from ngs.parsing.scores import check_scores, check_lengths, check_normalised
from tests.grammars import ARITHMETIC


def scores(*shape: int) -> torch.Tensor:
    return torch.zeros(*shape, dtype=torch.float64).log_softmax(-1)


def test_good_lattices_pass() -> None:
    batch = scores(2, 3, 7)
    batch[0, 0, 0] = -math.inf
    check_scores(ARITHMETIC, batch)
    check_scores(ARITHMETIC, batch[0])
    check_scores(ARITHMETIC, batch.half())


def test_a_wrong_number_of_symbols_names_both() -> None:
    wanted = (
        "the network scores 6 symbols but the grammar has 7 terminals (+ - * / 0 1 2); "
        "give the network's last layer 7 outputs"
    )
    with pytest.raises(ShapeError, match=re.escape(wanted)):
        check_scores(ARITHMETIC, scores(2, 3, 6))


@pytest.mark.parametrize("value, shown", [(math.nan, "nan"), (math.inf, "inf")])
def test_what_is_no_log_probability_is_found(value: float, shown: str) -> None:
    batch = scores(2, 3, 7)
    batch[1, 2, 4] = value
    with pytest.raises(
        ShapeError, match=rf"{shown} at \[example, time, symbol\] = \[1, 2, 4\] \(symbol '0'\)"
    ):
        check_scores(ARITHMETIC, batch)
    with pytest.raises(ShapeError, match=rf"{shown} at \[time, symbol\] = \[2, 4\]"):
        check_scores(ARITHMETIC, batch[1])


def test_other_shapes_and_types_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"shape \[7\]; give \[time, symbol\]"):
        check_scores(ARITHMETIC, scores(7))
    with pytest.raises(ShapeError, match=r"torch\.int64, not floating point"):
        check_scores(ARITHMETIC, torch.zeros(3, 7, dtype=torch.int64))


def test_rows_must_sum_to_one() -> None:
    batch = scores(2, 3, 7)
    check_normalised(batch)
    check_normalised(batch.float())
    batch[1, 2] += math.log(3)
    with pytest.raises(ShapeError, match=r"time 2 of example 1 sum to 3, not to 1; .* log_softmax"):
        check_normalised(batch)
    with pytest.raises(ShapeError, match="time 2 sum to 3, not to 1"):
        check_normalised(batch[1])
    with pytest.raises(ShapeError, match="time 0 of example 0 sum to 0, not to 1"):
        check_normalised(torch.full((1, 1, 7), -math.inf))


def test_padding_need_not_be_normalised() -> None:
    batch = scores(2, 3, 7)
    batch[1, 2] = -5.0
    check_normalised(batch, torch.tensor([3, 2]))
    with pytest.raises(ShapeError, match="time 2 of example 1"):
        check_normalised(batch, torch.tensor([2, 3]))


def test_lengths_become_one_integer_tensor() -> None:
    batch = scores(2, 3, 7)
    for given, wanted in [(None, [3, 3]), ([1, 3], [1, 3]), (torch.tensor([2, 1], dtype=torch.int8), [2, 1])]:
        lengths = check_lengths(batch, given)
        assert lengths.dtype == torch.int64
        assert lengths.tolist() == wanted


@pytest.mark.parametrize(
    "lengths, message",
    [
        ([1, 4], "example 1 has length 4, but the scores allow 1 to 3"),
        ([0, 3], "example 0 has length 0, but the scores allow 1 to 3"),
        ([1], r"2 examples but the lengths have the shape \[1\]"),
        ([[1, 2]], r"2 examples but the lengths have the shape \[1, 2\]"),
        (torch.tensor([1.0, 2.0]), r"torch\.float32, not integers"),
        (torch.tensor([True, True]), r"torch\.bool, not integers"),
    ],
)
def test_lengths_outside_the_scores_are_refused(lengths: object, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        check_lengths(scores(2, 3, 7), lengths)  # type: ignore[arg-type]


def test_lengths_need_a_batch() -> None:
    with pytest.raises(ShapeError, match=r"shape \[3, 7\]; add a batch dimension"):
        check_lengths(scores(3, 7), [3])
