"""Back-search by switches on a GPU, in Triton: `ngs.search.arrangement` in a handful of launches a step.

How many switches a sentence has depends on its symbols alone, so it stays the same through a walk. One table
[sentence, time] therefore has room for the proposals of all rows, and behind them for what every switch makes
of these, row by row; it is laid out once. A step fills it, has all of it judged, asks for log p where that
decides anything, and settles which proposals are accepted. It never waits for the GPU: it asks about as many
sentences as there might be, and those that nobody wants to know of are empty. The kernels for log p pass over
these; where it has to come from elsewhere (with dropout, say), it is computed of them as well. Even the
layout waits for nothing where it is known how many switches a sentence has at the most.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log

import torch
import triton
from torch import Tensor
from triton import language as tl

from ngs.parsing.decode import PAD
from ngs.search.arrangement import Corrected, Drawn, Judge, LogProbs, Switches
from ngs.search.kernels.wandering import block, partners, switches_by_first, walked
from ngs.search.multi_step import Walk

CHUNK = 32
"""Candidates of a row that a kernel looks at side by side."""


def one_step(columns: Tensor, switches: Switches, log_probs: LogProbs, judge: Judge) -> Corrected:
    """`ngs.search.arrangement.one_step`."""
    chains = _Chains(columns, switches, log_probs, judge, Walk(steps=0))
    return Corrected(chains.fix, chains.found, chains.right)


def walk_along(
    columns: Tensor,
    switches: Switches,
    log_probs: LogProbs,
    judge: Judge,
    walk: Walk,
    draws: Iterable[Drawn],
) -> Corrected:
    """`ngs.search.arrangement.walk_along`."""
    chains = _Chains(columns, switches, log_probs, judge, walk)
    for drawn in draws:
        chains.step(drawn)
    return Corrected(chains.columns, chains.right, chains.right)


class _Chains:
    """Where the chains are, as `_State` of `ngs.search.arrangement`: each step writes over it."""

    def __init__(
        self, columns: Tensor, switches: Switches, log_probs: LogProbs, judge: Judge, walk: Walk
    ) -> None:
        self.columns = columns.to(torch.int64, copy=True, memory_format=torch.contiguous_format)
        self.groups, self.most = switches.groups.on(columns.device), switches.most
        self.log_probs, self.judge, self.walk = log_probs, judge, walk
        self.rows, self.time = columns.shape
        self.log_p = columns.new_zeros(self.rows, dtype=torch.float32)
        self.right = columns.new_empty(self.rows, dtype=torch.bool)
        self.fix = torch.empty_like(self.columns)
        self.found = columns.new_zeros(self.rows, dtype=torch.bool)
        self._lay_out()
        # No correction is known yet and no edit is made, so that these draws decide nothing.
        still = Drawn(self.log_p, self.log_p, torch.zeros_like(self.number), self.log_p[None])
        self.step(still, start=True)

    def _lay_out(self) -> None:
        new = self.columns.new_empty
        self.number = new(self.rows)
        """[row]: how many switches there are"""
        with torch.cuda.device_of(self.columns):
            _number[self.rows,](
                self.columns, self.groups, self.number, self.time, T=block(self.time), num_warps=1
            )
        self.ends = self.number.cumsum(0)
        """[row]: where what switches make of each ends, counted from the last proposal"""
        made = int(self.ends[-1]) if self.most is None else self.rows * self.most
        sentences = self.rows + made
        self.sentences = self.columns.new_full((sentences, self.time), PAD)
        self.of_row = self.columns.new_zeros(sentences)
        """[sentence, time]: the proposals, then what switches make of them, then empty ones; [sentence]: the
        row of each"""
        self.asked, self.asked_rows = new(sentences, self.time), torch.zeros_like(self.of_row)
        """the same for the sentences whose log p is asked for: the proposals, then switches that compete"""
        self.sources = torch.zeros_like(self.of_row)
        """[sentence]: which of the sentences each of these switches is"""
        self.several = new(self.rows, dtype=torch.int32)
        """[row]: among how many right switches log p decides; 0 where it does not"""
        self.chosen = new(self.rows)
        """[row]: which sentence is the correction, if it does not; -1 where there is none"""

    def step(self, drawn: Drawn, start: bool = False) -> None:
        """One step of the chains. At the start the proposals are the sentences, and taken as they are."""
        with torch.cuda.device_of(self.columns):
            self._propose(drawn)
            judged = self.judge(self.of_row, self.sentences).contiguous()
            self._compare(judged)
            self._gather(judged)
            log_p = self.log_probs(self.asked_rows, self.asked).contiguous()
            self._settle(drawn, judged, log_p, start)

    def _propose(self, drawn: Drawn) -> None:
        _propose[self.rows,](
            self.columns,
            self.fix,
            self.found,
            drawn.uniform,
            drawn.distance,
            drawn.edits,
            self.groups,
            self.number,
            self.ends,
            self.sentences,
            self.of_row,
            self.rows,
            self.time,
            self.walk.back_search,
            T=block(self.time),
            num_warps=4,
        )

    def _compare(self, judged: Tensor) -> None:
        _compare[self.rows,](
            judged, self.number, self.ends, self.several, self.chosen, self.rows, C=CHUNK, num_warps=1
        )

    def _gather(self, judged: Tensor) -> None:
        """Ask about the proposals, and about the right switches that log p decides among."""
        self.asked.fill_(PAD)
        _gather[self.rows,](
            judged,
            self.number,
            self.ends,
            self.several,
            self.sentences,
            self.asked_rows,
            self.asked,
            self.sources,
            self.rows,
            self.time,
            C=CHUNK,
            T=block(self.time),
            num_warps=4,
        )

    def _settle(self, drawn: Drawn, judged: Tensor, log_p: Tensor, start: bool) -> None:
        walk = self.walk
        _settle[self.rows,](
            self.columns,
            self.log_p,
            self.right,
            self.fix,
            self.found,
            drawn.uniform,
            drawn.accept,
            drawn.distance,
            self.groups,
            self.number,
            self.several,
            self.chosen,
            self.sentences,
            judged,
            log_p,
            self.sources,
            self.rows,
            self.time,
            walk.back_search,
            walk.distance * exp(-walk.distance),
            log(1 + walk.epsilon),
            log(walk.epsilon),
            torch.finfo(torch.float32).tiny,
            START=start,
            C=CHUNK,
            T=block(self.time),
            num_warps=1,
        )


@triton.jit
def _number(columns, groups, number, time, T: tl.constexpr):
    """Each program: how many switches one sentence has."""
    row = tl.program_id(0)
    place = tl.arange(0, T)
    symbol = tl.load(columns + row * time + place, mask=place < time, other=-1).to(tl.int32)
    group = tl.load(groups + symbol, mask=symbol >= 0, other=-1).to(tl.int32)
    tl.store(number + row, tl.sum(switches_by_first(symbol, group, place), 0).to(tl.int64))


@triton.jit
def _corrects(uniform, found, row, back_search):
    """Whether the correction is proposed, not a random walk."""
    return (tl.load(uniform + row) < back_search) & (tl.load(found + row) != 0)


@triton.jit(do_not_specialize=["rows"])
def _propose(
    columns,
    fix,
    found,
    uniform,
    distance,
    edits,
    groups,
    number,
    ends,
    sentences,
    of_row,
    rows,
    time,
    back_search,
    T: tl.constexpr,
):
    """Each program: the proposal of one row, and what every switch makes of it."""
    row = tl.program_id(0)
    place = tl.arange(0, T)
    inside = place < time
    symbol = tl.load(columns + row * time + place, mask=inside, other=-1).to(tl.int32)
    group = tl.load(groups + symbol, mask=symbol >= 0, other=-1).to(tl.int32)
    if _corrects(uniform, found, row, back_search):
        symbol = tl.load(fix + row * time + place, mask=inside, other=-1).to(tl.int32)
    else:
        symbol = walked(symbol, group, place, row, rows, distance, edits)
    # Either way every place keeps its group.
    tl.store(sentences + row * time + place, symbol.to(tl.int64), mask=inside)
    tl.store(of_row + row, row.to(tl.int64))
    sentence = rows + tl.load(ends + row) - tl.load(number + row)
    for first in range(time):
        one, others = partners(symbol, group, place, first)
        made = sentence + tl.cumsum(others.to(tl.int32), 0) - 1
        tl.store(of_row + made, tl.zeros([T], tl.int64) + row, mask=others)
        second = place[:, None]
        rest = tl.where(place[None, :] == second, one, symbol[None, :])
        switched = tl.where(place[None, :] == first, symbol[:, None], rest)
        cell = sentences + made[:, None] * time + place[None, :]
        tl.store(cell, switched.to(tl.int64), mask=others[:, None] & inside[None, :])
        sentence += tl.sum(others.to(tl.int32), 0)


@triton.jit(do_not_specialize=["rows"])
def _compare(judged, number, ends, several, chosen, rows, C: tl.constexpr):
    """Each program: how many switches of one row are right, and the first of them."""
    row = tl.program_id(0)
    lane = tl.arange(0, C)
    switches = tl.load(number + row).to(tl.int32)
    start = rows + tl.load(ends + row) - switches
    right = tl.zeros([C], tl.int32)
    first = tl.zeros([C], tl.int32) + switches
    for k in range(0, switches, C):
        here = k + lane
        is_right = tl.load(judged + start + here, mask=here < switches, other=0).to(tl.int32)
        right += is_right
        first = tl.minimum(first, tl.where(is_right != 0, here, switches))
    many = tl.sum(right, 0)
    own = tl.load(judged + row) != 0
    tl.store(several + row, tl.where(own | (many < 2), 0, many))
    correction = tl.where(many > 0, start + tl.min(first, 0), -1)
    tl.store(chosen + row, tl.where(own, row.to(tl.int64), correction))


@triton.jit
def _before(several, row, C: tl.constexpr):
    """How many sentences the rows before this one ask about."""
    lane = tl.arange(0, C)
    number = tl.zeros([C], tl.int32)
    for k in range(0, row, C):
        number += tl.load(several + k + lane, mask=k + lane < row, other=0)
    return tl.sum(number, 0)


@triton.jit(do_not_specialize=["rows"])
def _gather(
    judged,
    number,
    ends,
    several,
    sentences,
    asked_rows,
    asked,
    sources,
    rows,
    time,
    C: tl.constexpr,
    T: tl.constexpr,
):
    """Each program: the proposal of one row, and its right switches if log p decides among them."""
    row = tl.program_id(0)
    lane, place = tl.arange(0, C), tl.arange(0, T)
    inside = place < time
    proposal = tl.load(sentences + row * time + place, mask=inside, other=-1)
    tl.store(asked + row * time + place, proposal, mask=inside)
    tl.store(asked_rows + row, row.to(tl.int64))
    if tl.load(several + row) > 0:
        to = _before(several, row, C)
        switches = tl.load(number + row).to(tl.int32)
        start = rows + tl.load(ends + row) - switches
        for k in range(0, switches, C):
            here = k + lane
            is_right = tl.load(judged + start + here, mask=here < switches, other=0).to(tl.int32)
            at = to + tl.cumsum(is_right, 0) - 1
            taken = is_right != 0
            tl.store(sources + at, start + here, mask=taken)
            tl.store(asked_rows + rows + at, tl.zeros([C], tl.int64) + row, mask=taken)
            cells = taken[:, None] & inside[None, :]
            found = tl.load(sentences + (start + here)[:, None] * time + place[None, :], mask=cells, other=-1)
            tl.store(asked + (rows + at)[:, None] * time + place[None, :], found, mask=cells)
            to += tl.sum(is_right, 0)


@triton.jit
def _likeliest(log_p, number, C: tl.constexpr):
    """Which of the first `number` of `log_p` is the largest; the first one where none is a number."""
    lane = tl.arange(0, C)
    best, top = number * 0, -float("inf")
    for k in range(0, number, C):
        here = k + lane
        found = tl.load(log_p + here, mask=here < number, other=-float("inf")).to(tl.float32)
        highest = tl.max(found, 0)
        at = tl.min(tl.where(found == highest, here, number), 0)
        best = tl.where(highest > top, at, best)
        top = tl.where(highest > top, highest, top)
    return best


@triton.jit
def _alike(symbol, other):
    """Whether two sentences [T] are the same."""
    return tl.sum((symbol != other).to(tl.int32), 0) == 0


@triton.jit
def _is_switch(symbol, other, group):
    """`Switches.ways`: whether a switch makes one sentence [T] of the other."""
    differ = symbol != other
    MOST: tl.constexpr = 2147483647
    return (
        (tl.sum(differ.to(tl.int32), 0) == 2)
        & (tl.min(tl.where(differ, group, MOST), 0) == tl.max(tl.where(differ, group, -MOST), 0))
        & (tl.min(tl.where(differ, symbol, MOST), 0) == tl.min(tl.where(differ, other, MOST), 0))
        & (tl.max(tl.where(differ, symbol, -MOST), 0) == tl.max(tl.where(differ, other, -MOST), 0))
    )


@triton.jit
def _log_move(chance, corrects, once, single):
    """`_State.log_single` or `_State.log_wandering`, from a state that is corrected with a `chance`."""
    return tl.log(tl.where(single, chance * corrects.to(tl.float32) + (1 - chance) * once, 1 - chance))


@triton.jit(do_not_specialize=["rows"])
def _settle(
    columns,
    log_p,
    right,
    fix,
    found,
    uniform,
    accept,
    distance,
    groups,
    number,
    several,
    chosen,
    sentences,
    judged,
    asked_log_p,
    sources,
    rows,
    time,
    back_search,
    one_edit,
    log_right,
    log_wrong,
    smallest,
    START: tl.constexpr,
    C: tl.constexpr,
    T: tl.constexpr,
):
    """Each program: whether one row accepts its proposal, and all that is known of where it then is."""
    row = tl.program_id(0)
    place = tl.arange(0, T)
    inside = place < time
    own = row * time + place
    new = tl.load(sentences + own, mask=inside, other=-1).to(tl.int32)
    new_log_p = tl.load(asked_log_p + row).to(tl.float32)
    new_right = tl.load(judged + row) != 0
    correction = tl.load(chosen + row)
    among = tl.load(several + row)
    if among > 0:
        before = _before(several, row, C)
        correction = tl.load(sources + before + _likeliest(asked_log_p + rows + before, among, C))
    new_found = correction >= 0
    new_fix = tl.load(sentences + tl.maximum(correction, 0) * time + place, mask=inside, other=-1).to(
        tl.int32
    )
    new_fix = tl.where(new_found, new_fix, -1)
    accepted = row >= 0
    if not START:
        old = tl.load(columns + own, mask=inside, other=-1).to(tl.int32)
        group = tl.load(groups + old, mask=old >= 0, other=-1).to(tl.int32)
        old_fix = tl.load(fix + own, mask=inside, other=-1).to(tl.int32)
        old_found = tl.load(found + row) != 0
        old_right = tl.load(right + row) != 0
        old_log_q = tl.where(old_right, log_right, log_wrong) + tl.load(log_p + row)
        new_log_q = tl.where(new_right, log_right, log_wrong) + new_log_p
        ways = _is_switch(old, new, group).to(tl.float32)
        once = one_edit * (ways / tl.maximum(tl.load(number + row), 1).to(tl.float32))
        single = _corrects(uniform, found, row, back_search) | (tl.load(distance + row) == 1)
        backwards = _log_move(
            back_search * new_found.to(tl.float32), new_found & _alike(new_fix, old), once, single
        )
        forwards = _log_move(
            back_search * old_found.to(tl.float32), old_found & _alike(old_fix, new), once, single
        )
        log_ratio = new_log_q - old_log_q + backwards - forwards
        accepted = tl.log(tl.maximum(tl.load(accept + row), smallest)) <= log_ratio
    if accepted:
        tl.store(columns + own, new.to(tl.int64), mask=inside)
        tl.store(fix + own, new_fix.to(tl.int64), mask=inside)
        tl.store(log_p + row, new_log_p)
        tl.store(right + row, new_right)
        tl.store(found + row, new_found)
