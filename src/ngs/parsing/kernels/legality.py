"""What may come next at each step of a sentence, on a GPU, in Triton: one launch for whole sentences."""

from __future__ import annotations

from typing import Any

import torch
import triton
from torch import Tensor
from triton import language as tl


@triton.jit
def any_order(facts, left, last):
    """`AnyOrder.legal`, as a rule for kernels."""
    return left > 0


@triton.jit
def _legal_along(columns, counts, facts, legal, time, symbols, S: tl.constexpr, RULE: tl.constexpr):
    """Each program: one sentence [time]; `facts` are known of each symbol."""
    row = tl.program_id(0)
    symbol = tl.arange(0, S)
    real = symbol < symbols
    known = tl.load(facts + symbol, mask=real, other=0)
    left = tl.load(counts + row * symbols + symbol, mask=real, other=0).to(tl.int32)
    last = -1
    for t in range(time):
        may = RULE(known, left, last)
        tl.store(legal + (row.to(tl.int64) * time + t) * symbols + symbol, may, mask=real)
        column = tl.load(columns + row * time + t).to(tl.int32)
        left -= (symbol == column).to(tl.int32)
        last = tl.load(facts + column, mask=column >= 0, other=-1)


def legal_along(rule: Any, facts: Tensor, counts: Tensor, columns: Tensor) -> Tensor:
    """bool [row, time, symbol]: what `ngs.parsing.arrangement.legal_along` gives."""
    rows, time = columns.shape
    symbols = counts.shape[1]
    legal = torch.empty((rows, time, symbols), dtype=torch.bool, device=counts.device)
    if legal.numel():
        with torch.cuda.device_of(counts):
            _legal_along[rows,](
                columns.contiguous(),
                counts.contiguous(),
                facts,
                legal,
                time,
                symbols,
                S=triton.next_power_of_2(symbols),
                RULE=rule,
                num_warps=1,
            )
    return legal
