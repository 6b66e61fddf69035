"""One pass up and one pass down a small circuit on a GPU, in Triton: one launch for a whole batch.

Level by level, as in `ngs.parsing.chart`, the passes are a hundred launches of next to nothing. Here each
lane goes through the whole chart for one example, segment by segment. It reads what it has written itself and
nothing of the other lanes; barriers stand between writing and reading all the same, so that it does not
matter which thread has which lane. What rivals do to each other is a rule (`best`, `summed`, `drawn`), the
counterpart of a semiring, that takes in one edge of a segment after the other:

    peak, total: the segment's score so far is peak + log max(total, 1)
    key, choice: the edge that wins so far, and what it won with
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton
from torch import Tensor
from triton import language as tl

LANES = 32
"""Examples of a program: one for each thread of a warp. With fewer, several threads would have the same one,
and each of them would add to its flow."""

EDGES_AT_ONCE = tl.constexpr(4)
"""Edges of a segment that are loaded together: waiting for one takes as long."""

LEAVES_AT_ONCE = tl.constexpr(16)
"""Scores of an example that are loaded together."""


# Rules


@triton.jit
def best(score, edge, held, noise, noise_at, peak, total, key, choice):
    """The score of a segment is its best edge's; the first that has it wins. NaN beats all, and stays."""
    wins = (score > peak) | (score != score)
    return tl.where(wins, score, peak), total, key, tl.where(wins, edge, choice)


@triton.jit
def summed(score, edge, held, noise, noise_at, peak, total, key, choice):
    """The score of a segment is log sum exp of its edges'; none wins."""
    ahead = score - peak
    smaller = tl.exp(-tl.abs(ahead))
    total = tl.where(ahead > 0, total * smaller + 1, total + smaller)
    return tl.where(ahead > 0, score, peak), total, key, choice


@triton.jit
def drawn(score, edge, held, noise, noise_at, peak, total, key, choice):
    """As `summed`; the first edge with the largest score - log(noise) wins, as in `semiring.drawn_share`."""
    peak, total, key, choice = summed(score, edge, held, noise, noise_at, peak, total, key, choice)
    noisy = score - tl.log(tl.load(noise + noise_at, mask=held, other=1.0))
    wins = noisy > key
    return peak, total, tl.where(wins, noisy, key), tl.where(wins, edge, choice)


# Parts of the passes. `there` says which lanes have an example; tables of rows are [row, batch].


@triton.jit
def _enter(
    scores, rows, flow, lane, there, batch, leaves,
    ONE: tl.constexpr, NOTHING: tl.constexpr, FIRST_LEAF: tl.constexpr, IMPOSSIBLE: tl.constexpr,
):  # fmt: skip
    """The rows that have no edges: the constants, and the scores [batch, leaf]. Nothing flows to them yet."""
    tl.store(rows + ONE * batch + lane, tl.zeros_like(lane), mask=there)
    nothing = tl.full(lane.shape, IMPOSSIBLE, rows.dtype.element_ty)
    tl.store(rows + NOTHING * batch + lane, nothing, mask=there)
    for first in range(0, leaves, LEAVES_AT_ONCE):
        leaf = (first + tl.arange(0, LEAVES_AT_ONCE))[:, None]
        held = (leaf < leaves) & there[None, :]
        score = tl.load(scores + lane[None, :] * leaves + leaf, mask=held, other=0.0)
        at = (FIRST_LEAF + leaf) * batch + lane[None, :]
        tl.store(rows + at, tl.where(score < IMPOSSIBLE, IMPOSSIBLE, score), mask=held)
        if flow is not None:
            tl.store(flow + at, tl.zeros_like(score), mask=held)
    tl.debug_barrier()


@triton.jit
def _ends(lefts, rights, edge, real, rows, lane, there, batch, NOTHING: tl.constexpr):
    """The rows that an edge joins, and rows[left] + rows[right]; NOTHING where it is not `real`.

    The edge is one for all lanes, or one for each.
    """
    left = tl.load(lefts + edge, mask=real, other=NOTHING).to(tl.int64)
    right = tl.load(rights + edge, mask=real, other=NOTHING).to(tl.int64)
    score = tl.load(rows + left * batch + lane, mask=there, other=0.0)
    return left, right, score + tl.load(rows + right * batch + lane, mask=there, other=0.0)


@triton.jit
def _reduced(
    lefts, rights, first, last, most, rows, noise, start, step, lane, there, batch,
    RULE: tl.constexpr, NOTHING: tl.constexpr, IMPOSSIBLE: tl.constexpr,
):  # fmt: skip
    """(score, winner) of the edges from `first` to `last`, at `most` so many in each lane.

    The noise of an edge is at `start` + edge * `step`.
    """
    peak = tl.full(lane.shape, IMPOSSIBLE, rows.dtype.element_ty)
    total, key, choice = tl.zeros_like(peak), peak, tl.zeros_like(lane).to(tl.int32)
    for begin in range(0, most, EDGES_AT_ONCE):
        for k in tl.static_range(EDGES_AT_ONCE):
            edge = first + begin + k
            real = edge < last
            _, _, score = _ends(lefts, rights, edge, real, rows, lane, there, batch, NOTHING)
            held, at = tl.where(real, there, False), start + edge * step
            peak, total, key, choice = RULE(score, edge, held, noise, at, peak, total, key, choice)
    return peak + tl.log(tl.where(total < 1, 1.0, total)), choice


@triton.jit
def _climb(
    levels, rows, flow, choices, noise, lane, there, batch, leaves, segments, edges,
    RULE: tl.constexpr, NOTHING: tl.constexpr, FIRST_LEAF: tl.constexpr, IMPOSSIBLE: tl.constexpr,
):  # fmt: skip
    """rows[out] = the rule over edges (left, right) -> out of rows[left] + rows[right], and the winners."""
    lefts = levels + segments
    rights = lefts + edges
    first = 0
    for segment in range(segments):
        last = tl.load(levels + segment)
        score, choice = _reduced(
            lefts, rights, first, last, last - first, rows, noise, lane, batch, lane, there, batch,
            RULE, NOTHING, IMPOSSIBLE,
        )  # fmt: skip
        at = (FIRST_LEAF + leaves + segment) * batch + lane
        tl.store(rows + at, score, mask=there)
        if flow is not None:
            tl.store(flow + at, tl.zeros_like(lane), mask=there)
        if choices is not None:
            tl.store(choices + at, choice, mask=there)
        tl.debug_barrier()
        first = last


@triton.jit
def _own(outs, count, stride, example):
    """Where the edges of each lane's example begin and end among `count` that are sorted by example.

    By halving strides; the first one is the largest power of two that is not above the count.
    """
    first, last = tl.zeros_like(example), tl.zeros_like(example)
    while stride > 0:  # that many edges more are still of earlier examples, or at most of this one, or not
        first_out = tl.load(outs + first + stride - 1, mask=first + stride <= count, other=example + 1)
        last_out = tl.load(outs + last + stride - 1, mask=last + stride <= count, other=example + 1)
        first = tl.where(first_out < example, first + stride, first)
        last = tl.where(last_out <= example, last + stride, last)
        stride = stride // 2
    return first.to(tl.int32), last.to(tl.int32)


@triton.jit
def _follow(row, chosen, flow, lane, batch, time, symbols, FIRST_LEAF: tl.constexpr):
    """Reach a row in each lane: a leaf is the symbol of its position, others are asked for winners later."""
    leaf = row - FIRST_LEAF
    inner = leaf >= time * symbols
    tl.store(chosen + lane * time + leaf // symbols, leaf % symbols, mask=(leaf >= 0) & (inner == 0))
    tl.store(flow + row * batch + lane, tl.full(row.shape, 1, tl.int8), mask=inner)


@triton.jit
def _add(flow, row, carried, lane, there, batch, FIRST_LEAF: tl.constexpr):
    """flow[row] += carried. The constants have no flow: they are in most edges, and nobody asks for it."""
    at = flow + row * batch + lane
    counts = tl.where(row >= FIRST_LEAF, there, False)
    tl.store(at, tl.load(at, mask=counts, other=0.0) + carried, mask=counts)


@triton.jit
def _spread(
    lefts, rights, first, last, most, rows, flow, total, flowing, lane, there, batch,
    NOTHING: tl.constexpr, FIRST_LEAF: tl.constexpr,
):  # fmt: skip
    """flow[left], flow[right] += flowing * exp(score - total) for the edges of one segment."""
    there = there & (flowing != 0)
    for k in range(most):
        edge = first + k
        real = edge < last
        left, right, score = _ends(lefts, rights, edge, real, rows, lane, there, batch, NOTHING)
        carried = flowing * tl.exp(score - total)
        _add(flow, left, carried, lane, there, batch, FIRST_LEAF)
        _add(flow, right, carried, lane, there, batch, FIRST_LEAF)
        tl.debug_barrier()  # the next edge may share a row with this one


# Kernels: one program for LANES examples. The edges of the roots are sorted by example.

_UNSPECIALIZED = [
    *("scores", "levels", "root_lefts", "root_rights", "root_outs", "noise"),
    *("batch", "time", "symbols", "segments", "edges", "root_edges", "root_stride"),
]
"""Batches and circuits of all sizes share what is compiled."""


@triton.jit(do_not_specialize=_UNSPECIALIZED)
def _choose(
    scores, levels, root_lefts, root_rights, root_outs, noise, rows, flow, choices, chosen,
    batch, time, symbols, segments, edges, root_edges, root_stride,
    RULE: tl.constexpr, L: tl.constexpr,
    ONE: tl.constexpr, NOTHING: tl.constexpr, FIRST_LEAF: tl.constexpr, IMPOSSIBLE: tl.constexpr,
):  # fmt: skip
    """chosen [batch, time]: the winner of each example's root, and of each segment it leads to."""
    lane = tl.program_id(0).to(tl.int64) * L + tl.arange(0, L)
    there, leaves, batch = lane < batch, time * symbols, batch.to(tl.int64)
    for t in range(time):
        tl.store(chosen + lane * time + t, tl.full(lane.shape, -1, tl.int64), mask=there)
    _enter(scores, rows, None, lane, there, batch, leaves, ONE, NOTHING, FIRST_LEAF, IMPOSSIBLE)
    _climb(
        levels, rows, flow, choices, noise, lane, there, batch, leaves, segments, edges,
        RULE, NOTHING, FIRST_LEAF, IMPOSSIBLE,
    )  # fmt: skip
    first, last = _own(root_outs, root_edges, root_stride, lane)
    total, edge = _reduced(
        root_lefts, root_rights, first, last, tl.max(last - first), rows,
        noise, edges * batch, 1, lane, there, batch, RULE, NOTHING, IMPOSSIBLE,
    )  # fmt: skip
    reached = there & (total > IMPOSSIBLE / 2)
    root_left = tl.load(root_lefts + edge, mask=reached, other=ONE)
    root_right = tl.load(root_rights + edge, mask=reached, other=ONE)
    _follow(root_left, chosen, flow, lane, batch, time, symbols, FIRST_LEAF)
    _follow(root_right, chosen, flow, lane, batch, time, symbols, FIRST_LEAF)
    tl.debug_barrier()
    lefts = levels + segments
    rights = lefts + edges
    for below in range(segments):
        at = (FIRST_LEAF + leaves + segments - 1 - below) * batch + lane
        reached = tl.load(flow + at, mask=there, other=0) != 0
        edge = tl.load(choices + at, mask=there, other=0)  # of all lanes, so as not to wait for `reached`
        left = tl.load(lefts + edge, mask=reached, other=ONE).to(tl.int64)
        right = tl.load(rights + edge, mask=reached, other=ONE).to(tl.int64)
        _follow(left, chosen, flow, lane, batch, time, symbols, FIRST_LEAF)
        _follow(right, chosen, flow, lane, batch, time, symbols, FIRST_LEAF)
        tl.debug_barrier()


@triton.jit(do_not_specialize=_UNSPECIALIZED)
def _sum(
    scores, levels, root_lefts, root_rights, root_outs, rows, flow, totals,
    batch, time, symbols, segments, edges, root_edges, root_stride,
    L: tl.constexpr,
    ONE: tl.constexpr, NOTHING: tl.constexpr, FIRST_LEAF: tl.constexpr, IMPOSSIBLE: tl.constexpr,
):  # fmt: skip
    """totals [batch], -inf where nothing is possible; and the flow to all rows, unless it is None."""
    lane = tl.program_id(0).to(tl.int64) * L + tl.arange(0, L)
    there, leaves, batch = lane < batch, time * symbols, batch.to(tl.int64)
    _enter(scores, rows, flow, lane, there, batch, leaves, ONE, NOTHING, FIRST_LEAF, IMPOSSIBLE)
    _climb(
        levels, rows, flow, None, None, lane, there, batch, leaves, segments, edges,
        summed, NOTHING, FIRST_LEAF, IMPOSSIBLE,
    )  # fmt: skip
    first, last = _own(root_outs, root_edges, root_stride, lane)
    most = tl.max(last - first)
    total, _ = _reduced(
        root_lefts, root_rights, first, last, most, rows, None, 0, 0, lane, there, batch,
        summed, NOTHING, IMPOSSIBLE,
    )  # fmt: skip
    possible = total > IMPOSSIBLE / 2
    tl.store(totals + lane, tl.where(possible, total, float("-inf")), mask=there)
    if flow is not None:
        # NaN flows on: a network that has diverged must not be mistaken for an impossible example.
        flowing = tl.where(total == total, possible.to(total.dtype), total)
        _spread(
            root_lefts, root_rights, first, last, most, rows, flow, total, flowing, lane, there, batch,
            NOTHING, FIRST_LEAF,
        )  # fmt: skip
        lefts = levels + segments
        rights = lefts + edges
        last_edge = edges
        for below in range(segments):
            segment = segments - 1 - below
            first_edge = tl.load(levels + segment - 1, mask=segment > 0, other=0)
            at = (FIRST_LEAF + leaves + segment) * batch + lane
            total = tl.load(rows + at, mask=there, other=0.0)
            flowing = tl.load(flow + at, mask=there, other=0.0)
            _spread(
                lefts, rights, first_edge, last_edge, last_edge - first_edge, rows, flow,
                total, flowing, lane, there, batch, NOTHING, FIRST_LEAF,
            )  # fmt: skip
            last_edge = first_edge


@dataclass(frozen=True)
class ChartLayout:
    """A compiled chart in plain numbers. Its rows: two constants, the leaves, and one for each segment."""

    levels: Tensor
    """int32: where the edges of each segment end, then the left row of every edge, then its right row"""
    time: int
    symbols: int
    segments: int
    edges: int
    """of all segments"""
    one: int
    nothing: int
    """the rows of the two constants"""
    first_leaf: int
    impossible: float
    """the score of `nothing`: what has no more is impossible"""

    @property
    def rows(self) -> int:
        return self.first_leaf + self.time * self.symbols + self.segments

    @property
    def constants(self) -> dict[str, int | float]:
        return {
            "ONE": self.one,
            "NOTHING": self.nothing,
            "FIRST_LEAF": self.first_leaf,
            "IMPOSSIBLE": self.impossible,
        }


Roots = tuple[Tensor, Tensor, Tensor]
"""The edges under the roots [edge], sorted by example: their left and right rows, and whose they are."""


def best_derivation(layout: ChartLayout, scores: Tensor, roots: Roots) -> Tensor:
    """The best sentence [batch, time] under `scores` [batch, time, symbol]; -1 where there is none."""
    return _chosen(layout, scores, roots, None, best)


def sampled_derivation(layout: ChartLayout, scores: Tensor, roots: Roots, noise: Tensor) -> Tensor:
    """A sentence [batch, time] drawn by standard exponential numbers `noise`.

    There are as many as edges [edge, batch], and after them one for each edge under the roots.
    """
    return _chosen(layout, scores, roots, noise, drawn)


def _chosen(layout: ChartLayout, scores: Tensor, roots: Roots, noise: Tensor | None, rule: Any) -> Tensor:
    batch = len(scores)
    chosen = torch.empty((batch, layout.time), dtype=torch.int64, device=scores.device)
    choices = chosen.new_empty((layout.rows, batch), dtype=torch.int32)
    flow = chosen.new_empty((layout.rows, batch), dtype=torch.int8)
    if batch:
        with torch.cuda.device_of(scores):
            _choose[triton.cdiv(batch, LANES),](
                scores.contiguous(),
                layout.levels,
                *roots,
                noise,
                scores.new_empty(layout.rows, batch),
                flow,
                choices,
                chosen,
                *_sizes(layout, batch, roots),
                RULE=rule,
                L=LANES,
                **layout.constants,
                **_OPTIONS,
            )
    return chosen


def log_totals(layout: ChartLayout, scores: Tensor, roots: Roots, *, wanted: bool) -> tuple[Tensor, ...]:
    """The log total of each example [batch], and if `wanted` its marginals [batch, time, symbol]."""
    batch = len(scores)
    totals, rows = scores.new_empty(batch), scores.new_empty(layout.rows, batch)
    flow = torch.empty_like(rows) if wanted else None
    if batch:
        with torch.cuda.device_of(scores):
            _sum[triton.cdiv(batch, LANES),](
                scores.contiguous(),
                layout.levels,
                *roots,
                rows,
                flow,
                totals,
                *_sizes(layout, batch, roots),
                L=LANES,
                **layout.constants,
                **_OPTIONS,
            )
    if flow is None:
        return (totals,)
    leaves = flow[layout.first_leaf : layout.first_leaf + layout.time * layout.symbols]
    return totals, leaves.view(layout.time, layout.symbols, batch).permute(2, 0, 1)


_OPTIONS = {"num_warps": 1, "num_stages": 1}
"""A warp of LANES, and no load before its turn: what it reads may have been written just before."""


def _sizes(layout: ChartLayout, batch: int, roots: Roots) -> tuple[int, ...]:
    count = len(roots[2])
    stride = 1 << count.bit_length() >> 1
    return batch, layout.time, layout.symbols, layout.segments, layout.edges, count, stride
