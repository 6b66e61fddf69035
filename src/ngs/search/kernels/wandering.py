"""Switches of two symbols inside a kernel, in Triton: those that there are, and random ones in a row."""

from __future__ import annotations

import triton
from triton import language as tl


@triton.jit
def switches_by_first(symbol, group, place):
    """int32 [T]: how many switches each place has with one behind it."""
    ordered = place[:, None] < place[None, :]
    different = symbol[:, None] != symbol[None, :]
    return tl.sum((ordered & different & (group[:, None] == group[None, :])).to(tl.int32), 1)


@triton.jit
def partners(symbol, group, place, first):
    """The symbol at the place `first`, and bool [T]: the places behind it that it can be switched with."""
    at_first = place == first
    one = tl.sum(tl.where(at_first, symbol, 0), 0)
    own = tl.sum(tl.where(at_first, group, 0), 0)
    return one, (place > first) & (symbol != one) & (group == own)


@triton.jit
def walked(symbol, group, place, row, rows, distance, draws):
    """The sentence `symbol` [T] after as many switches as the distance of its row says."""
    for k in range(tl.load(distance + row).to(tl.int32)):
        of_first = switches_by_first(symbol, group, place)
        number = tl.sum(of_first, 0)
        draw = tl.load(draws + k * rows + row)
        drawn = tl.minimum((draw * number.to(tl.float32)).to(tl.int32), number - 1)
        # The switches are numbered by their first place, then by their second.
        first = tl.sum((tl.cumsum(of_first, 0) <= drawn).to(tl.int32), 0)
        drawn -= tl.sum(tl.where(place < first, of_first, 0), 0)
        one, others = partners(symbol, group, place, first)
        second = tl.sum((tl.cumsum(others.to(tl.int32), 0) <= drawn).to(tl.int32), 0)
        at_second = place == second
        other = tl.sum(tl.where(at_second, symbol, 0), 0)
        switched = tl.where(place == first, other, tl.where(at_second, one, symbol))
        # They are of one group, so that the groups stay where they are.
        symbol = tl.where(number > 0, switched, symbol)
    return symbol


def block(time: int) -> int:
    """Places that a kernel has for a sentence."""
    return max(2, int(triton.next_power_of_2(time)))
