"""What the parsers refuse to read, and what they say about it."""

from __future__ import annotations

import math

import pytest
import torch

from ngs.errors import ShapeError
from ngs.parsing.scores import check_lengths, check_normalised, check_scores
from tests.grammars import ARITHMETIC


def scores(*shape: int) -> torch.Tensor:
    return torch.zeros(*shape, dtype=torch.float64).log_softmax(-1)


def test_good_scores_pass() -> None:
    batch = scores(2, 3, 7)
    batch[0, 0, 0] = -math.inf
    check_scores(ARITHMETIC, batch)
    check_scores(ARITHMETIC, batch[0])
    check_scores(ARITHMETIC, batch.half())


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
