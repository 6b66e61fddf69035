"""What may come next at each step of a sentence, on a GPU, in Triton: one launch for whole sentences."""

from __future__ import annotations

from typing import Any

import torch
import triton
from torch import Tensor
from triton import language as tl

ROWS = 4
"""Sentences of a program."""


@triton.jit
def any_order(facts, left, last):
    """The rule of a language without grammar: whatever is left may come next."""
    return left > 0


@triton.jit(do_not_specialize=["rows"])
def _legal_along(
    columns, counts, facts, legal, rows, time, symbols, R: tl.constexpr, S: tl.constexpr, RULE: tl.constexpr
):
    """Each program: R sentences [time]; `facts` are known of each symbol."""
    row, symbol = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, S)
    inside, real = row < rows, symbol < symbols
    there = inside[:, None] & real[None, :]
    known = tl.load(facts + symbol, mask=real, other=0)[None, :]
    left = tl.load(counts + row[:, None] * symbols + symbol[None, :], mask=there, other=0).to(tl.int32)
    last = tl.full([R, 1], -1, tl.int32)
    for t in range(time):
        may = RULE(known, left, last)
        at = (row.to(tl.int64) * time + t)[:, None] * symbols + symbol[None, :]
        tl.store(legal + at, may, mask=there)
        column = tl.load(columns + row * time + t, mask=inside, other=-1).to(tl.int32)
        left -= (symbol[None, :] == column[:, None]).to(tl.int32)
        following = tl.load(facts + column, mask=column >= 0, other=-1)[:, None]
        last = tl.where(column[:, None] >= 0, following, last)  # padding changes nothing


def legal_along(rule: Any, facts: Tensor, counts: Tensor, columns: Tensor) -> Tensor:
    """bool [row, time, symbol]: what might have come at each step of the sentences `columns` [row, time].

    `counts` [row, symbol] says how many of each symbol a sentence has; `rule` is a function of `facts`
    [symbol], such as `any_order`.
    """
    rows, time = columns.shape
    symbols = counts.shape[1]
    legal = torch.empty((rows, time, symbols), dtype=torch.bool, device=counts.device)
    if legal.numel():
        with torch.cuda.device_of(counts):
            _legal_along[triton.cdiv(rows, ROWS),](
                columns.contiguous(),
                counts.contiguous(),
                facts,
                legal,
                rows,
                time,
                symbols,
                R=ROWS,
                S=triton.next_power_of_2(symbols),
                RULE=rule,
                num_warps=2,
            )
    return legal
