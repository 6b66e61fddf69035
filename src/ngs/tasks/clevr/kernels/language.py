"""Which module may come next, as rules for kernels in Triton: `ngs.tasks.clevr.language` says why.

A rule is given what is known of each module (`facts` [1, module], as bits of a number), how many of each are
left [row, module], and what is known of the last module [row, 1], -1 at the beginning.
"""

from __future__ import annotations

import triton
from triton import language as tl

from ngs.tasks.clevr import language

NOTHING = tl.constexpr(language.NOTHING)
TRUTH = tl.constexpr(language.TRUTH)
INTEGER = tl.constexpr(language.INTEGER)
CONCEPT = tl.constexpr(language.CONCEPT)
OBJECT = tl.constexpr(language.OBJECT)
OBJECTS = tl.constexpr(language.OBJECTS)
RANKS = tl.constexpr(len(language.ORDER))
NEED_AT = tl.constexpr(language.NEED_AT)
RANK_AT = tl.constexpr(language.RANK_AT)
SCENE_AT = tl.constexpr(language.SCENE_AT)
BRANCHES_AT = tl.constexpr(language.BRANCHES_AT)


@triton.jit
def _total(left, which):
    return tl.sum(tl.where(which, left, 0), 1)[:, None]


@triton.jit
def _rank(facts):
    return ((facts >> RANK_AT) & 7) - 1


@triton.jit
def programs(facts, left, last):
    """`Programs.legal`."""
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
    """`TidyPrograms.legal`."""
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
