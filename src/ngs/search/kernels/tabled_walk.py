"""Back-search by tables on a GPU, in Triton: a whole chain of `ngs.search.batched_walk` in a single launch.

One program follows one example. Its lanes are a sentence and all that differ from it in one symbol, which
`ngs.search.evaluator` would parse and execute as so many sentences; the sentence itself is lane 0, the edit
of lane k is number k - 1, and lanes behind the last edit repeat the sentence. The numbers of the cells'
values, [row, lane] for each program, go through global memory: they are few enough to stay in the caches.
Threads wait for each other wherever a number does, so that nothing depends on which of them holds it, and
no load comes before its turn (num_stages=1).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import torch
import triton
from torch import Tensor
from triton import language as tl

from ngs.parsing.decode import PAD
from ngs.search import evaluator, multi_step
from ngs.search.batched_walk import Choices, log_ways
from ngs.search.evaluator import Evaluator
from ngs.search.kernels.wandering import block
from ngs.search.multi_step import Draws, Walk

NUMBERS, WARPS = 512, 4
"""Numbers, of cells of one length in all lanes, that a program computes side by side, and the threads for it,
by 32: with twice or half as many numbers, or fewer threads, chains of formulas take longer on an H200."""

ALONE = 32
"""Numbers side by side where there is one lane: a warp's threads."""

NOTHING = tl.constexpr(PAD)
ABSENT = tl.constexpr(evaluator.ABSENT)
SMALLEST = tl.constexpr(multi_step.SMALLEST)


@dataclass(frozen=True)
class TabledWalks:
    """An evaluator as the kernels read it: all its layers in a row, in 32 bits."""

    word_places: Tensor
    """[word cell]: the place it reads"""
    readings: Tensor
    """[word cell, symbol]: the number of the value read"""
    levels: Tensor
    """[layer + 1]: its first row; behind the last layer, the number of rows"""
    first_edges: Tensor
    """[row + 1]: the first edge into its cell"""
    edges: Tensor
    """[edge, 4]: the rows of both parts, where the edge's table begins, and the length of that one's rows"""
    table: Tensor
    roots: Tensor
    """[length]: the row of the whole sentence"""
    edits: Tensor
    """[edit, 2]: place and symbol"""
    others: Tensor
    number: Tensor
    column: Tensor
    """[length, time] and twice [length, time, symbol]: `Choices` for each length"""
    log_ways: Tensor
    """[length, distance]: log (n choose d), for the n places that can change"""
    log_factorial: Tensor
    """[distance]"""

    @classmethod
    def of(cls, engine: Evaluator) -> TabledWalks:
        """On the engine's device. This copies, so that it has to be done before anything is recorded."""
        device, layers = engine.table.device, engine.layers
        no_edges = torch.zeros(0, 4, dtype=torch.long, device=device)
        parts = [
            torch.stack([each.left, each.right, each.offset[:, 0], each.stride[:, 0]], 1) for each in layers
        ]
        into = torch.cat([no_edges[:, 0], *(each.first + each.out for each in layers)])
        choices = Choices.of(engine.usable)
        distance = torch.arange(engine.time + 1, device=device, dtype=torch.float64)
        return cls(
            engine.words.position.int(),
            engine.words.value.int(),
            torch.tensor([*(each.first for each in layers), engine.rows], dtype=torch.int32, device=device),
            torch.searchsorted(into, torch.arange(engine.rows + 1, device=device)).int(),
            torch.cat([no_edges, *parts]).int(),
            engine.table,
            engine.root_row.int(),
            engine.edits.int().contiguous(),
            choices.others.int(),
            choices.number.int(),
            choices.column.int(),
            log_ways(choices.changeable.sum(1).double()[:, None], distance),
            torch.lgamma(distance + 1),
        )

    def answers(self, columns: Tensor, lengths: Tensor) -> Tensor:
        """`Evaluator.answers_of`."""
        batch, time = columns.shape
        answers = self.table.new_empty(batch)
        with torch.cuda.device_of(columns):
            _answer[batch,](
                columns.contiguous(),
                lengths.contiguous(),
                *self._engine(batch, lanes=1),
                answers,
                time,
                *self._sizes,
                C=ALONE,
                L=1,
                num_warps=1,
                num_stages=1,
            )
        return answers

    def correct(
        self, log_probs: Tensor, lengths: Tensor, targets: Tensor, columns: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """`ngs.search.batched.corrected`: columns, found, right, in_language."""
        batch, time = columns.shape
        fixed = torch.empty_like(columns, memory_format=torch.contiguous_format)
        found, right, in_language = columns.new_empty(3, batch, dtype=torch.bool)
        with torch.cuda.device_of(columns):
            _correct[batch,](
                log_probs.contiguous(),
                lengths.contiguous(),
                targets.contiguous(),
                columns.contiguous(),
                *self._engine(batch, self._lanes),
                self.edits,
                fixed,
                found,
                right,
                in_language,
                time,
                *self._sizes,
                len(self.edits),
                C=max(1, NUMBERS // self._lanes),
                L=self._lanes,
                T=block(time),
                num_warps=WARPS,
                num_stages=1,
            )
        return fixed, found, right, in_language

    def walk(
        self, log_probs: Tensor, lengths: Tensor, targets: Tensor, columns: Tensor, walk: Walk, draws: Draws
    ) -> tuple[Tensor, Tensor]:
        """`ngs.search.batched_walk.walk_batch`: the last state of each chain, and whether it is right."""
        batch, time = columns.shape
        last = torch.empty_like(columns, memory_format=torch.contiguous_format)
        right = columns.new_empty(batch, dtype=torch.bool)
        with torch.cuda.device_of(columns):
            _walk[batch,](
                log_probs.contiguous(),
                lengths.contiguous(),
                targets.contiguous(),
                columns.contiguous(),
                *(part.contiguous() for part in draws.parts),
                *self._engine(batch, self._lanes),
                self.edits,
                self.others,
                self.number,
                self.column,
                self.log_ways,
                self.log_factorial,
                last,
                right,
                batch,
                walk.steps,
                time,
                *self._sizes,
                len(self.edits),
                # Compiled in: as arguments they would be rounded to 32 bits.
                BACK_SEARCH=walk.back_search,
                DISTANCE=walk.distance,
                LOG_DISTANCE=log(walk.distance),
                LOG_RIGHT=log(1 + walk.epsilon),
                LOG_WRONG=log(walk.epsilon),
                C=max(1, NUMBERS // self._lanes),
                L=self._lanes,
                T=block(time),
                num_warps=WARPS,
                num_stages=1,
            )
        return last, right

    @property
    def _lanes(self) -> int:
        return int(triton.next_power_of_2(1 + len(self.edits)))

    @property
    def _sizes(self) -> tuple[int, int, int]:
        words, symbols = self.readings.shape
        return words, symbols, len(self.levels) - 1

    def _engine(self, batch: int, lanes: int) -> tuple[Tensor, ...]:
        """What the programs of a batch look up, and room for the numbers of their cells [row, lane]."""
        cells = self.table.new_empty(batch, len(self.first_edges) - 1, lanes)
        return (
            self.word_places,
            self.readings,
            self.levels,
            self.first_edges,
            self.edges,
            self.table,
            self.roots,
            cells,
        )


@triton.jit
def _read(sentence, edit_place, edit_symbol, word_places, readings, cells, words, symbols, C: tl.constexpr):
    """The cells of one symbol: the first rows of `Evaluator.values`, for the edit [L] of each lane."""
    L: tl.constexpr = edit_place.shape[0]
    lane = tl.arange(0, L)
    for first in range(0, words, C):
        row = first + tl.arange(0, C)
        inside = row < words
        place = tl.load(word_places + row, mask=inside, other=0)
        own = tl.load(sentence + place, mask=inside, other=0).to(tl.int32)
        symbol = tl.where(place[:, None] == edit_place[None, :], edit_symbol[None, :], own[:, None])
        entry = readings + row[:, None] * symbols + tl.maximum(symbol, 0)
        number = tl.load(entry, mask=inside[:, None], other=0)
        tl.store(cells + row[:, None] * L + lane[None, :], number, mask=inside[:, None])


@triton.jit
def _combine(levels, first_edges, edges, table, cells, layers, C: tl.constexpr, L: tl.constexpr):
    """The longer cells, layer by layer, each the sum over its edges of table[left, right].

    At most one edge of a cell is not ABSENT, which is zero.
    """
    lane = tl.arange(0, L)[None, :]
    for layer in range(layers):
        tl.debug_barrier()  # the layer before this one, or the words, are in memory
        end = tl.load(levels + layer + 1)
        for first in range(tl.load(levels + layer), end, C):
            row = first + tl.arange(0, C)
            inside = row < end
            edge = tl.load(first_edges + row, mask=inside, other=0)
            number = tl.load(first_edges + row + 1, mask=inside, other=0) - edge
            made = tl.zeros([C, L], tl.int32)
            for k in range(tl.max(number, 0)):
                here = k < number
                known = edges + 4 * (edge + k)
                left = tl.load(known, mask=here, other=0)
                right = tl.load(known + 1, mask=here, other=0)
                offset = tl.load(known + 2, mask=here, other=0)
                stride = tl.load(known + 3, mask=here, other=0)
                one = tl.load(cells + left[:, None] * L + lane, mask=here[:, None], other=0)
                other = tl.load(cells + right[:, None] * L + lane, mask=here[:, None], other=0)
                entry = offset[:, None] + one * stride[:, None] + other
                made += tl.load(table + entry, mask=here[:, None], other=0)
            tl.store(cells + row[:, None] * L + lane, made, mask=inside[:, None])
    tl.debug_barrier()


@triton.jit
def _answers(sentence, length, edit_place, edit_symbol, engine, C: tl.constexpr):
    """int32 [L]: the answer's number of a sentence in memory, with the edit [L] of each lane."""
    word_places, readings, levels, first_edges, edges, table, roots, cells, words, symbols, layers = engine
    L: tl.constexpr = edit_place.shape[0]
    _read(sentence, edit_place, edit_symbol, word_places, readings, cells, words, symbols, C)
    _combine(levels, first_edges, edges, table, cells, layers, C, L)
    answers = tl.load(cells + tl.load(roots + length) * L + tl.arange(0, L))
    tl.debug_barrier()  # the next sentence is written over this one
    return answers


@triton.jit
def _of_lane(numbers, chosen):
    """The one of `numbers` [L] that a lane has; 0 where there is no such lane."""
    return tl.sum(tl.where(tl.arange(0, numbers.shape[0]) == chosen, numbers, 0), 0)


@triton.jit
def _state(
    sentence,
    columns,
    length,
    target,
    log_probs,
    symbols,
    engine,
    edits,
    number_of_edits,
    C: tl.constexpr,
    L: tl.constexpr,
):
    """`corrected` of a sentence in memory, also given as `columns` [T]: fix [T], found, right, in_language.

    Of the edits (t, s) that give the target it is the one with the largest p(s at t) / p(z_t at t).
    """
    lane = tl.arange(0, L)
    is_edit = (lane > 0) & (lane <= number_of_edits)
    edit = edits + 2 * (lane - 1)
    edit_place = tl.load(edit, mask=is_edit, other=-1)
    edit_symbol = tl.load(edit + 1, mask=is_edit, other=0)
    answers = _answers(sentence, length, edit_place, edit_symbol, engine, C)
    answers = tl.where(tl.load(sentence) == NOTHING, ABSENT, answers)  # no sentence was possible at all
    own = _of_lane(answers, 0)
    is_edit = is_edit & (edit_place < length)
    replaced = tl.load(sentence + edit_place, mask=is_edit, other=0).to(tl.int32)
    scores = log_probs + edit_place * symbols
    score = tl.load(scores + edit_symbol, mask=is_edit, other=0).to(tl.float64)
    current = tl.load(scores + tl.maximum(replaced, 0), mask=is_edit, other=0).to(tl.float64)
    valid = is_edit & (answers == target) & (edit_symbol != replaced) & (score > -float("inf"))
    ratio = tl.where(valid, score - current, -float("inf"))
    # Edits are in the order of places and symbols, and ties go to the first.
    chosen = tl.min(tl.where(valid & (ratio == tl.max(ratio, 0)), lane, L), 0)
    right = own == target
    fixes = (chosen < L) & (own != target)
    fixed = fixes & (tl.arange(0, columns.shape[0]) == _of_lane(edit_place, chosen))
    fix = tl.where(fixed, _of_lane(edit_symbol, chosen), columns)
    return fix, fixes | right, right, own != ABSENT


@triton.jit
def _log_p(columns, log_probs, symbols):
    """`score_of`: the sum of the log-probabilities of a sentence [T], -inf where it is PAD throughout."""
    place = tl.arange(0, columns.shape[0])
    there = columns != NOTHING
    score = tl.load(log_probs + place * symbols + columns, mask=there, other=0).to(tl.float64)
    return tl.where(tl.max(there.to(tl.int32), 0) != 0, tl.sum(score, 0), -float("inf"))


@triton.jit
def _wandered(columns, inside, distance, order, symbol, others, number, column, symbols):
    """`RandomWalks.draw`: the sentence [T] with other symbols at as many places as `distance` says."""
    place = tl.arange(0, columns.shape[0])
    other = tl.load(others + place, mask=inside, other=0)
    changeable = other > 0
    rank_by = tl.where(changeable, tl.load(order + place, mask=inside, other=0), float("inf"))
    rank = tl.sum((rank_by[None, :] < rank_by[:, None]).to(tl.int32), 1)
    moves = tl.where(distance > tl.sum(changeable.to(tl.int32), 0), 0, distance)
    wanted = (tl.load(symbol + place, mask=inside, other=0) * other.to(tl.float64)).to(tl.int32)
    current = tl.load(number + place * symbols + tl.maximum(columns, 0), mask=inside, other=0)
    wanted = tl.minimum(wanted + (wanted >= current).to(tl.int32), symbols - 1)
    replacement = tl.load(column + place * symbols + wanted, mask=inside, other=0)
    return tl.where(changeable & (rank < moves), replacement, columns)


@triton.jit
def _walk_probability(
    a,
    b,
    inside,
    others,
    log_ways,
    log_factorial,
    DISTANCE: tl.constexpr,
    LOG_DISTANCE: tl.constexpr,
):
    """g(b|a) = g(a|b) = Poisson(d; beta) / (n choose d) * product over changed places of 1 / others."""
    changed = a != b
    d = tl.sum(changed.to(tl.int32), 0)
    log_poisson = d.to(tl.float64) * _exactly(LOG_DISTANCE) - _exactly(DISTANCE) - tl.load(log_factorial + d)
    other = tl.load(others + tl.arange(0, a.shape[0]), mask=inside, other=0)
    log_others = tl.log(tl.maximum(other, 1).to(tl.float64))
    return tl.exp(log_poisson - tl.load(log_ways + d) - tl.sum(tl.where(changed, log_others, 0.0), 0))


@triton.jit
def _log_proposal(found, leads, g, BACK_SEARCH: tl.constexpr):
    """log Q(b|a) = log(lambda [b = 1-BS(a)] + (1 - lambda) g(b|a)), with lambda = 0 where a has no 1-BS."""
    chance = tl.where(found, _exactly(BACK_SEARCH), 0.0)
    return tl.log(chance * leads.to(tl.float64) + (1 - chance) * g)


@triton.jit
def _log_weight(right, LOG_RIGHT: tl.constexpr, LOG_WRONG: tl.constexpr):
    """log [p(y|z) + epsilon]"""
    return tl.where(right, _exactly(LOG_RIGHT), _exactly(LOG_WRONG))


@triton.jit
def _alike(a, b):
    """Whether two sentences [T] are the same."""
    return tl.sum((a != b).to(tl.int32), 0) == 0


@triton.jit
def _exactly(NUMBER: tl.constexpr):
    """A number in 64 bits; by itself it would be taken for one of 32."""
    return tl.full([], NUMBER, tl.float64)


@triton.jit
def _answer(
    columns,
    lengths,
    word_places,
    readings,
    levels,
    first_edges,
    edges,
    table,
    roots,
    cells,
    answers,
    time,
    words,
    symbols,
    layers,
    C: tl.constexpr,
    L: tl.constexpr,
):
    """Each program: the number of one sentence's answer."""
    example = tl.program_id(0).to(tl.int64)
    cells += example * tl.load(levels + layers) * L
    engine = word_places, readings, levels, first_edges, edges, table, roots, cells, words, symbols, layers
    number = _answers(
        columns + example * time,
        tl.load(lengths + example),
        tl.full([L], -1, tl.int32),
        tl.zeros([L], tl.int32),
        engine,
        C,
    )
    tl.store(answers + example + tl.arange(0, L), number)


@triton.jit
def _correct(
    log_probs,
    lengths,
    targets,
    columns,
    word_places,
    readings,
    levels,
    first_edges,
    edges,
    table,
    roots,
    cells,
    edits,
    fixed,
    found,
    right,
    in_language,
    time,
    words,
    symbols,
    layers,
    number_of_edits,
    C: tl.constexpr,
    L: tl.constexpr,
    T: tl.constexpr,
):
    """Each program: 1-BS of one sentence."""
    example = tl.program_id(0).to(tl.int64)
    cells += example * tl.load(levels + layers) * L
    engine = word_places, readings, levels, first_edges, edges, table, roots, cells, words, symbols, layers
    place = tl.arange(0, T)
    inside = place < time
    fix, is_found, is_right, is_sentence = _state(
        columns + example * time,
        tl.load(columns + example * time + place, mask=inside, other=NOTHING).to(tl.int32),
        tl.load(lengths + example),
        tl.load(targets + example),
        log_probs + example * time * symbols,
        symbols,
        engine,
        edits,
        number_of_edits,
        C,
        L,
    )
    tl.store(fixed + example * time + place, fix.to(tl.int64), mask=inside)
    tl.store(found + example, is_found)
    tl.store(right + example, is_right)
    tl.store(in_language + example, is_sentence)


@triton.jit(do_not_specialize=["batch", "steps"])
def _walk(
    log_probs,
    lengths,
    targets,
    columns,
    kind,
    distance,
    order,
    symbol,
    accept,
    word_places,
    readings,
    levels,
    first_edges,
    edges,
    table,
    roots,
    cells,
    edits,
    others,
    number,
    column,
    log_ways,
    log_factorial,
    last,
    right,
    batch,
    steps,
    time,
    words,
    symbols,
    layers,
    number_of_edits,
    BACK_SEARCH: tl.constexpr,
    DISTANCE: tl.constexpr,
    LOG_DISTANCE: tl.constexpr,
    LOG_RIGHT: tl.constexpr,
    LOG_WRONG: tl.constexpr,
    C: tl.constexpr,
    L: tl.constexpr,
    T: tl.constexpr,
):
    """Each program: the chain of one example (Algorithm 2 of Li et al., 2020; `ngs.search.multi_step`).

    A proposal z' of z is accepted where log u <= log r, with u uniform and

        r = q(z') Q(z|z') / (q(z) Q(z'|z)),     q(z) = [p(y|z) + epsilon] p(z|x)

    `last` holds the sentence that is being judged, until the chain has ended.
    """
    example = tl.program_id(0).to(tl.int64)
    cells += example * tl.load(levels + layers) * L
    engine = word_places, readings, levels, first_edges, edges, table, roots, cells, words, symbols, layers
    place = tl.arange(0, T)
    inside = place < time
    length = tl.load(lengths + example)
    target = tl.load(targets + example)
    log_probs += example * time * symbols
    others += length * time
    number += length * time * symbols
    column += length * time * symbols
    log_ways += length * (time + 1)
    sentence = last + example * time
    state = tl.load(columns + example * time + place, mask=inside, other=NOTHING).to(tl.int32)
    fix, found, is_right, _ = _state(
        columns + example * time,
        state,
        length,
        target,
        log_probs,
        symbols,
        engine,
        edits,
        number_of_edits,
        C,
        L,
    )
    log_p = _log_p(state, log_probs, symbols)
    for step in range(steps):
        draw = step * batch + example
        wandered = _wandered(
            state,
            inside,
            tl.load(distance + draw),
            order + draw * time,
            symbol + draw * time,
            others,
            number,
            column,
            symbols,
        )
        corrects = found & (tl.load(kind + draw) < _exactly(BACK_SEARCH))
        other = tl.where(corrects, fix, wandered)
        tl.debug_barrier()  # nobody still reads the sentence before
        tl.store(sentence + place, other.to(tl.int64), mask=inside)
        tl.debug_barrier()
        other_fix, other_found, other_right, is_sentence = _state(
            sentence, other, length, target, log_probs, symbols, engine, edits, number_of_edits, C, L
        )
        other_log_p = _log_p(other, log_probs, symbols)
        g = _walk_probability(state, other, inside, others, log_ways, log_factorial, DISTANCE, LOG_DISTANCE)
        forwards = _log_proposal(found, _alike(fix, other), g, BACK_SEARCH)
        backwards = _log_proposal(other_found, _alike(other_fix, state), g, BACK_SEARCH)
        log_q = _log_weight(is_right, LOG_RIGHT, LOG_WRONG) + log_p
        other_log_q = _log_weight(other_right, LOG_RIGHT, LOG_WRONG) + other_log_p
        log_ratio = other_log_q - log_q + backwards - forwards
        log_accept = tl.log(tl.maximum(tl.load(accept + draw), _exactly(SMALLEST)))
        possible = is_sentence & (other_log_p > -float("inf"))
        accepted = possible & (log_accept <= log_ratio)
        state = tl.where(accepted, other, state)
        fix = tl.where(accepted, other_fix, fix)
        found = tl.where(accepted, other_found, found)
        is_right = tl.where(accepted, other_right, is_right)
        log_p = tl.where(accepted, other_log_p, log_p)
    tl.debug_barrier()
    tl.store(sentence + place, state.to(tl.int64), mask=inside)
    tl.store(right + example, is_right)
