"""Sentences written on a GPU, in Triton: all steps of a pointer network's decoder in one launch.

`ngs.networks.pointer` has the formulas and `ngs.parsing.autoregressive` the steps: some seventy launches for
each module. Here each program takes a few rows from the first module to the last, without gradients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import triton
from torch import Tensor
from triton import language as tl

from ngs.kernels.tiles import PLACES, added, tanh

ROWS = 8
"""Of a program, in twice as many places: with more, their attention would take longer than all the rest."""
MOST_ROWS = 1 << 19  # of a launch: places are counted in 32 bits
CHUNK = 32  # numbers of a state that a product reads at once


@triton.jit
def _recurred(mine, more, cells, new, H: tl.constexpr):
    """Makes the next cells and states [R, H] of the gates at `mine` and `more`, one after another."""
    cell = tl.sigmoid(tl.load(mine + H) + tl.load(more + H)) * tl.load(cells)
    cell += tl.sigmoid(tl.load(mine) + tl.load(more)) * tanh(tl.load(mine + 2 * H) + tl.load(more + 2 * H))
    tl.store(cells, cell)
    made = tl.sigmoid(tl.load(mine + 3 * H) + tl.load(more + 3 * H)) * tanh(cell)
    tl.store(new, made.to(new.dtype.element_ty))


@triton.jit
def _attention(
    state, questions, first, rows, keys, unpadded, words, REAL: tl.constexpr, H: tl.constexpr, W: tl.constexpr
):
    """What each of the REAL rows from `first` on pays to the words of its question [R, W], by states [R, H].

    All rows at one question at a time are REAL times as many products as are needed, but of matrices.
    """
    local, unit, word = tl.arange(0, state.shape[0]), tl.arange(0, H), tl.arange(0, W)
    paid = tl.zeros([state.shape[0], W], tl.float32)
    for other in range(REAL):
        asked = tl.load(questions + tl.minimum(first + other, rows - 1))
        key = keys + (asked * words + word)[None, :] * H + unit[:, None]
        looked = tl.dot(state, tl.load(key, mask=(word < words)[None, :], other=0.0), input_precision="ieee")
        paid = tl.where((local == other)[:, None], looked, paid)
    paid = tl.where(unpadded, paid, float("-inf"))
    paid = tl.exp(paid - tl.max(paid, 1)[:, None])
    return paid / tl.sum(paid, 1)[:, None]


@triton.jit
def _context(
    paid, questions, first, rows, values, words, REAL: tl.constexpr, H: tl.constexpr, W: tl.constexpr
):
    """What each row sees for the attention it pays [R, H], in the same way."""
    local, unit, word = tl.arange(0, paid.shape[0]), tl.arange(0, H), tl.arange(0, W)
    context = tl.zeros([paid.shape[0], H], tl.float32)
    for other in range(REAL):
        asked = tl.load(questions + tl.minimum(first + other, rows - 1))
        value = values + (asked * words + word)[:, None] * H + unit[None, :]
        own = tl.where((local == other)[:, None], paid, 0.0).to(values.dtype.element_ty)
        told = tl.load(value, mask=(word < words)[:, None], other=0.0)
        context = tl.dot(own, told, context, input_precision="ieee")
    return context


@triton.jit
def _copied(paid, keywords, question, words, symbols, W: tl.constexpr, S: tl.constexpr):
    """The attention that speaks of each module [R, S]."""
    word, symbol = tl.arange(0, W), tl.arange(0, S)
    spoken = tl.zeros([paid.shape[0], S], tl.float32)
    for one in range(words):
        keyword = keywords + (question * words + one)[:, None] * symbols + symbol[None, :]
        share = tl.sum(tl.where((word == one)[None, :], paid, 0.0), 1)
        spoken += share[:, None] * tl.load(keyword, mask=(symbol < symbols)[None, :], other=0.0)
    return spoken


@triton.jit
def log_softmax(scores, legal):
    """log p [R, S] among what is legal, and how many modules that are [R]."""
    choices = tl.sum(legal.to(tl.int32), 1)
    scores = tl.where(legal, scores, float("-inf"))
    highest = tl.where(choices > 0, tl.max(scores, 1), 0.0)
    rest = tl.log(tl.sum(tl.exp(scores - highest[:, None]), 1))
    return tl.where(legal, scores - (highest + rest)[:, None], float("-inf")), choices


@triton.jit
def drawn(log_p, guide, row, inside, t, rows, time, symbol, symbols):
    """Modules drawn from p, by exponential numbers `guide` [time, row, module]."""
    at = guide + (t * rows + row)[:, None] * symbols + symbol[None, :]
    noise = tl.load(at, mask=inside[:, None] & (symbol < symbols)[None, :], other=1.0)
    return tl.argmax(tl.exp(log_p) / noise, 1)


@triton.jit
def likeliest(log_p, guide, row, inside, t, rows, time, symbol, symbols):
    """The most likely modules."""
    return tl.argmax(log_p, 1)


@triton.jit
def any_order(facts, left, last):
    """The rule of a language without grammar: whatever is left may come next."""
    return left > 0


@triton.jit(do_not_specialize=["rows", "number"])
def _decode(
    questions,
    first_states,
    first_cells,
    keys,
    values,
    padding,
    keywords,
    modules,
    inputs,
    of_below,
    of_own,
    biases,
    combine,
    combine_bias,
    score,
    score_bias,
    gain,
    facts,
    guide,
    states,
    cells,
    sums,
    contexts,
    columns,
    total_log_p,
    rows,
    number,
    time,
    words,
    symbols,
    beginning,
    H: tl.constexpr,
    LAYERS: tl.constexpr,
    S: tl.constexpr,
    W: tl.constexpr,
    REAL: tl.constexpr,
    R: tl.constexpr,
    K: tl.constexpr,
    COPIES: tl.constexpr,
    RULE: tl.constexpr,
    CHOICE: tl.constexpr,
):
    """Each program: REAL of the `rows`, which are about some of `number` questions, in R places.

    Threads exchange states, contexts and sums by the program's own memory, with a barrier between writing and
    reading; states have two places in turn, since the old ones are still being read.
    """
    kind: tl.constexpr = states.dtype.element_ty
    local, unit, some = tl.arange(0, R), tl.arange(0, H), tl.arange(0, K)
    symbol, word = tl.arange(0, S), tl.arange(0, W)
    begin = tl.program_id(0) * REAL
    row = begin + local
    inside, real, there = (local < REAL) & (row < rows), symbol < symbols, word < words
    question = tl.load(questions + row, mask=inside, other=0)
    places = tl.num_programs(0) * R
    place = (tl.program_id(0) * R + local)[:, None]
    for k in tl.static_range(LAYERS):
        first = (k * number + question)[:, None] * H + unit[None, :]
        own = (k * places + place) * H + unit[None, :]
        tl.store(states + own, tl.load(first_states + first).to(kind))
        tl.store(cells + own, tl.load(first_cells + first))
    unpadded = tl.load(padding + question[:, None] * words + word[None, :], mask=there[None, :], other=1) == 0
    known = tl.load(facts + symbol, mask=real, other=0)[None, :]
    left = tl.load(modules + question[:, None] * symbols + symbol[None, :], mask=real[None, :], other=0)
    left = left.to(tl.int32)
    token = tl.zeros([R], tl.int32) + beginning
    last = tl.full([R, 1], -1, tl.int32)
    log_p_so_far = tl.zeros([R], tl.float32)
    mine = sums + place * (4 * H) + unit[None, :]
    # Nobody goes on after the longest row of the program.
    for t in range(tl.minimum(tl.max(tl.sum(tl.where(inside[:, None], left, 0), 1), 0), time)):
        old = states + (t % 2) * LAYERS * places * H
        new = states + ((t + 1) % 2) * LAYERS * places * H
        tl.debug_barrier()
        for k in tl.static_range(LAYERS):
            zeros = tl.zeros([R, H], tl.float32)
            into, forget, fresh, out = added(
                zeros, zeros, zeros, zeros, old + (k * places + place) * H, of_own + k * 4 * H * H, H, K
            )
            if k > 0:
                under = new + ((k - 1) * places + place) * H
                into, forget, fresh, out = added(
                    into, forget, fresh, out, under, of_below + (k - 1) * 4 * H * H, H, K
                )
            # By memory, so that what follows need not stay with the threads that added up.
            tl.store(mine, into)
            tl.store(mine + H, forget)
            tl.store(mine + 2 * H, fresh)
            tl.store(mine + 3 * H, out)
            tl.debug_barrier()
            if k > 0:
                more = biases + (k - 1) * 4 * H + 0 * place + unit[None, :]
            else:
                more = inputs + token[:, None] * (4 * H) + unit[None, :]
            at = (k * places + place) * H + unit[None, :]
            _recurred(mine, more, cells + at, new + at, H)
            tl.debug_barrier()
        above = new + ((LAYERS - 1) * places + place) * H
        state = tl.load(above + unit[None, :])
        paid = _attention(state, questions, begin, rows, keys, unpadded, words, REAL, H, W)
        context = _context(paid, questions, begin, rows, values, words, REAL, H, W)
        tl.store(contexts + place * H + unit[None, :], context.to(kind))
        tl.debug_barrier()
        combined = tl.zeros([R, H], tl.float32)
        for c in range(0, H, K):
            weights = combine + (c + some)[:, None] * H + unit[None, :]
            part = tl.load(above + (c + some)[None, :])
            combined = tl.dot(part, tl.load(weights), combined, input_precision="ieee")
            part = tl.load(contexts + place * H + (c + some)[None, :])
            combined = tl.dot(part, tl.load(weights + H * H), combined, input_precision="ieee")
        combined = tanh(combined + tl.load(combine_bias + unit)[None, :]).to(kind)
        to_scores = tl.load(score + symbol[None, :] * H + unit[:, None], mask=real[None, :], other=0.0)
        scores = tl.dot(combined, to_scores, input_precision="ieee")
        scores += tl.load(score_bias + symbol, mask=real, other=0.0)[None, :]
        if COPIES:
            scores += tl.load(gain) * _copied(paid, keywords, question, words, symbols, W, S)
        log_p, choices = log_softmax(scores, RULE(known, left, last) & real[None, :])
        column = CHOICE(log_p, guide, row, inside, t, rows, time, symbol, symbols)
        # A network that has diverged may choose anything, but some module: its loss will tell.
        column = tl.where(choices > 0, tl.minimum(column, symbols - 1), -1)
        chosen = symbol[None, :] == column[:, None]
        log_p_so_far += tl.sum(tl.where(chosen, log_p, 0.0), 1)
        left -= chosen.to(tl.int32)
        last = tl.load(facts + column, mask=column >= 0, other=-1)[:, None]
        token = tl.where(column >= 0, column, beginning)
        tl.store(columns + row * time + t, column.to(tl.int64), mask=inside)
    tl.store(total_log_p + row, log_p_so_far, mask=inside)


class Read(NamedTuple):
    """The weights of a pointer network and the questions that it has read, in the order of `_decode`."""

    first_states: Tensor
    first_cells: Tensor  # float32 [layer, question, hidden]: those that the decoder begins with
    keys: Tensor
    values: Tensor  # [question, word, hidden]
    padding: Tensor  # bool [question, word]
    keywords: Tensor  # [question, word, module]
    modules: Tensor  # [question, module]: how many of each the sentence has
    inputs: Tensor
    """float32 [token, 4 hidden]: what a module adds to the gates of the first layer; the last token stands
    before the first module"""
    of_below: Tensor  # [layer from the second on, hidden, 4 hidden]
    of_own: Tensor  # [layer, hidden, 4 hidden]
    biases: Tensor  # float32 [layer from the second on, 4 hidden]
    combine: Tensor  # [2 hidden, hidden]
    combine_bias: Tensor
    score: Tensor  # [module, hidden]
    score_bias: Tensor
    gain: Tensor
    """what attention to a keyword adds to the score of its module; only read where the network copies"""
    facts: Tensor  # int32 [module]: what the rule knows of each


@dataclass(frozen=True)
class Decoder:
    """Writes a sentence for each of some questions that a network has read."""

    read: Read
    rows: Tensor
    """[row]: which questions"""
    rule: Any
    """a Triton function that says what may come next, such as those of `program_rules`"""
    copies: bool
    """whether attention to keywords counts"""

    def sample(self, time: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Sentences of up to `time` symbols drawn from p [row, time], and their log p."""
        noise = torch.empty((time, len(self.rows), self.read.modules.shape[1]), device=self.rows.device)
        return self._written(time, drawn, noise.exponential_(generator=generator))

    def best(self, time: int) -> tuple[Tensor, Tensor]:
        """The most likely symbol at each step [row, time], and log p of the sentences."""
        return self._written(time, likeliest, self.rows)

    def _written(self, time: int, choice: Any, guide: Tensor) -> tuple[Tensor, Tensor]:
        """`choice` is a Triton function, `drawn` or `likeliest`, and `guide` is what it looks at."""
        read, rows = self.read, self.rows
        if len(rows) > MOST_ROWS:
            raise ValueError(f"{len(rows):,} rows to decode at once; give at most {MOST_ROWS:,}")
        number, words, hidden = read.keys.shape
        layers, symbols = len(read.of_own), read.modules.shape[1]
        columns = rows.new_full((len(rows), time), -1)
        log_p = read.inputs.new_zeros(len(rows))
        if not columns.numel():
            return columns, log_p
        programs = triton.cdiv(len(rows), ROWS)
        places = programs * PLACES
        with torch.cuda.device_of(rows):
            _decode[programs,](
                rows.contiguous(),
                *read,
                guide,
                read.keys.new_empty((2, layers, places, hidden)),
                log_p.new_empty((layers, places, hidden)),
                log_p.new_empty((places, 4 * hidden)),
                read.keys.new_empty((places, hidden)),
                columns,
                log_p,
                len(rows),
                number,
                time,
                words,
                symbols,
                len(read.inputs) - 1,
                H=hidden,
                LAYERS=layers,
                S=triton.next_power_of_2(max(16, symbols)),
                W=triton.next_power_of_2(max(16, words)),
                REAL=ROWS,
                R=PLACES,
                K=min(CHUNK, hidden),
                COPIES=self.copies,
                RULE=self.rule,
                CHOICE=choice,
                num_warps=8,
                num_stages=3,
            )
        return columns, log_p
