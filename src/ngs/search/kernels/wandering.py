"""Random switches of symbols on a GPU, in Triton: a whole walk of each sentence in one launch."""

from __future__ import annotations

import torch
import triton
from torch import Tensor
from triton import language as tl


@triton.jit
def _wander(columns, distance, draws, groups, result, rows, time, T: tl.constexpr):
    """Each program: one sentence [time], after as many switches as its distance says."""
    row = tl.program_id(0)
    place = tl.arange(0, T)
    inside = place < time
    symbol = tl.load(columns + row * time + place, mask=inside, other=-1).to(tl.int32)
    group = tl.load(groups + symbol, mask=symbol >= 0, other=-1).to(tl.int32)
    ordered = place[:, None] < place[None, :]
    for k in range(tl.load(distance + row).to(tl.int32)):
        different = symbol[:, None] != symbol[None, :]
        pairs = (ordered & different & (group[:, None] == group[None, :])).to(tl.int32)
        of_first = tl.sum(pairs, 1)  # [T]: switches of each place with one behind it
        number = tl.sum(of_first, 0)
        draw = tl.load(draws + k * rows + row)
        drawn = tl.minimum((draw * number.to(tl.float32)).to(tl.int32), number - 1)
        # The pairs are numbered by their first place, then by their second.
        through = tl.cumsum(of_first, 0)
        first = tl.sum((through <= drawn).to(tl.int32), 0)
        at_first = place == first
        drawn -= tl.sum(tl.where(place < first, of_first, 0), 0)
        one = tl.sum(tl.where(at_first, symbol, 0), 0)
        own = tl.sum(tl.where(at_first, group, 0), 0)
        partners = ((place > first) & (symbol != one) & (group == own)).to(tl.int32)
        second = tl.sum((tl.cumsum(partners, 0) <= drawn).to(tl.int32), 0)
        at_second = place == second
        other = tl.sum(tl.where(at_second, symbol, 0), 0)
        switched = tl.where(at_first, other, tl.where(at_second, one, symbol))
        # They are of one group, so that the groups stay where they are.
        symbol = tl.where(number > 0, switched, symbol)
    tl.store(result + row * time + place, symbol.to(tl.int64), mask=inside)


def wandered(columns: Tensor, distance: Tensor, draws: Tensor, groups: Tensor) -> Tensor:
    """`Switches.wander`: sentences [row, time] after `distance` [row] switches, by `draws` [edit, row]."""
    rows, time = columns.shape
    result = torch.empty_like(columns, memory_format=torch.contiguous_format)
    if rows and time:
        with torch.cuda.device_of(columns):
            _wander[rows,](
                columns.contiguous(),
                distance.contiguous(),
                draws.contiguous(),
                groups,
                result,
                rows,
                time,
                T=max(2, triton.next_power_of_2(time)),
                num_warps=1,
            )
    return result
