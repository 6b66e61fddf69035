"""Which module of a CLEVR program may come next, as rules for kernels: `ngs.tasks.clevr.language` says why.

A rule is given what is known of each module (`facts` [1, module], as bits of a number), how many of each are
left [row, module], and what is known of the last module [row, 1], -1 at the beginning. The bits, from the
lowest: the type that a module makes (3), the first type it needs (3), the rank of a filter + 1 (3), whether
it is `scene`, and whether it branches.
"""

from __future__ import annotations

import triton
from triton import language as tl

# The numbers of the types, as in `ngs.tasks.clevr.language`; a test holds the two together.
NOTHING = tl.constexpr(0)
OBJECTS = tl.constexpr(1)
OBJECT = tl.constexpr(2)
INTEGER = tl.constexpr(3)
CONCEPT = tl.constexpr(4)
TRUTH = tl.constexpr(5)

RANKS = tl.constexpr(4)
NEED_AT = tl.constexpr(3)
RANK_AT = tl.constexpr(6)
SCENE_AT = tl.constexpr(9)
BRANCHES_AT = tl.constexpr(10)


@triton.jit
def _total(left, which):
    return tl.sum(tl.where(which, left, 0), 1)[:, None]


@triton.jit
def _rank(facts):
    return ((facts >> RANK_AT) & 7) - 1


@triton.jit
def programs(facts, left, last):
    """Filters in any order: `Programs.legal`."""
    makes = facts & 7
    is_scene = ((facts >> SCENE_AT) & 1) == 1
    counts, queries = _total(left, makes == INTEGER), _total(left, makes == CONCEPT)
    truths = _total(left, makes == TRUTH)
    height = _total(left, is_scene) - _total(left, ((facts >> BRANCHES_AT) & 1) == 1)
    below = tl.where(height > counts + queries, OBJECTS, tl.where(counts > 0, INTEGER, CONCEPT))
    needed = (last >> NEED_AT) & 7
    wanted = tl.where(needed == NOTHING, tl.where(height > 0, below, NOTHING), needed)
    begins = (makes != OBJECTS) & (makes != OBJECT) & ((makes == TRUTH) | (truths == 0))
    fits = ((last < 0) & begins) | ((last >= 0) & (makes == wanted))
    dead_end = (height == 1) & (tl.sum(left, 1)[:, None] > 1)
    return fits & (left > 0) & ((dead_end & is_scene) == 0)


@triton.jit
def tidy_programs(facts, left, last):
    """Filters in one order, at most one of each attribute: `TidyPrograms.legal`."""
    makes, rank = facts & 7, _rank(facts)
    own = tl.where(last < 0, -1, _rank(last))
    to_come = _total(left, (makes == OBJECTS) & (rank < 0)) - 1
    passed, needed_before = tl.zeros_like(left), tl.zeros_like(last)
    for other in tl.static_range(RANKS):
        crowded = (_total(left, rank == other) > to_come).to(tl.int32)
        passed += tl.where((rank < 0) | (rank > other), crowded, 0)
        needed_before += tl.where(other <= own, crowded, 0)
    goes_on = ((rank < 0) | (rank > own)) & (passed <= needed_before)
    return programs(facts, left, last) & ((makes != OBJECTS) | goes_on)
