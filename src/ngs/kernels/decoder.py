"""Sentences written on a GPU, in Triton: all steps of a pointer network's decoder in one launch.

`ngs.networks.pointer` has the formulas and `ngs.parsing.autoregressive` the steps. There they are some
seventy launches for each module that is placed. Here each program goes with a few rows from the first module
to the last: what the rows know stays where it is, and the weights come by in pieces. Nothing of it has a
gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import triton
from torch import Tensor
from triton import language as tl

from ngs.kernels.choices import Choice, log_softmax
from ngs.kernels.tiles import PLACES, added, tanh

ROWS = 8
"""Of a program, in twice as many places: with more, their attention would take longer than all the rest."""
MOST_ROWS = 1 << 19
"""Of a launch: places are counted in 32 bits."""
CHUNK = 32
"""Numbers of a state that a product reads at once."""


@triton.jit
def _recurred(mine, more, cells, new, H: tl.constexpr, KIND: tl.constexpr):
    """Makes the next cells and states [R, H] of the gates at `mine` and `more`, one after another."""
    cell = tl.sigmoid(tl.load(mine + H) + tl.load(more + H)) * tl.load(cells)
    cell += tl.sigmoid(tl.load(mine) + tl.load(more)) * tanh(tl.load(mine + 2 * H) + tl.load(more + 2 * H))
    tl.store(cells, cell)
    made = tl.sigmoid(tl.load(mine + 3 * H) + tl.load(more + 3 * H)) * tanh(cell)
    tl.store(new, made.to(KIND))


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
    paid,
    questions,
    first,
    rows,
    values,
    words,
    REAL: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    KIND: tl.constexpr,
):
    """What each row sees for the attention it pays [R, H], in the same way."""
    local, unit, word = tl.arange(0, paid.shape[0]), tl.arange(0, H), tl.arange(0, W)
    context = tl.zeros([paid.shape[0], H], tl.float32)
    for other in range(REAL):
        asked = tl.load(questions + tl.minimum(first + other, rows - 1))
        value = values + (asked * words + word)[:, None] * H + unit[None, :]
        own = tl.where((local == other)[:, None], paid, 0.0).to(KIND)
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
    KIND: tl.constexpr,
):
    """Each program: REAL of the `rows`, which are about some of `number` questions, in R places.

    Threads hand each other states, contexts and sums by memory that belongs to the program, with a barrier
    between writing and reading; states have two places in turn, since the old ones are still being read.
    """
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
        tl.store(states + own, tl.load(first_states + first).to(KIND))
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
            _recurred(mine, more, cells + at, new + at, H, KIND)
            tl.debug_barrier()
        above = new + ((LAYERS - 1) * places + place) * H
        state = tl.load(above + unit[None, :])
        paid = _attention(state, questions, begin, rows, keys, unpadded, words, REAL, H, W)
        context = _context(paid, questions, begin, rows, values, words, REAL, H, W, KIND)
        tl.store(contexts + place * H + unit[None, :], context.to(KIND))
        tl.debug_barrier()
        combined = tl.zeros([R, H], tl.float32)
        for c in range(0, H, K):
            weights = combine + (c + some)[:, None] * H + unit[None, :]
            part = tl.load(above + (c + some)[None, :])
            combined = tl.dot(part, tl.load(weights), combined, input_precision="ieee")
            part = tl.load(contexts + place * H + (c + some)[None, :])
            combined = tl.dot(part, tl.load(weights + H * H), combined, input_precision="ieee")
        combined = tanh(combined + tl.load(combine_bias + unit)[None, :]).to(KIND)
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


@dataclass(frozen=True)
class Decoder:
    """The weights of a pointer network, as they are read here, and the questions that it has read."""

    keys: Tensor
    values: Tensor
    """[question, word, hidden]"""
    padding: Tensor
    """bool [question, word]"""
    keywords: Tensor
    """[question, word, module]"""
    modules: Tensor
    """[question, module]: how many of each the sentence has"""
    state: tuple[Tensor, Tensor]
    """float32 [layer, question, hidden] twice: those that the decoder begins with"""
    inputs: Tensor
    """float32 [token, 4 hidden]: what a module adds to the gates of the first layer; the last token stands
    before the first module"""
    of_below: Tensor
    """[layer from the second on, hidden, 4 hidden]"""
    of_own: Tensor
    """[layer, hidden, 4 hidden]"""
    biases: Tensor
    """float32 [layer from the second on, 4 hidden]"""
    combine: Tensor
    """[2 hidden, hidden]"""
    combine_bias: Tensor
    score: Tensor
    """[module, hidden]"""
    score_bias: Tensor
    copy_gain: Tensor | None
    """what attention to a keyword adds to the score of its module; None where the network does not copy"""
    rule: Any
    """a Triton function that says what may come next, such as those of `program_rules`"""
    facts: Tensor
    """int32 [module]: what the rule knows of each"""

    @classmethod
    def of(
        cls,
        questions: tuple[Tensor, Tensor, Tensor, Tensor, Tensor],
        state: tuple[Tensor, Tensor],
        lstm: Sequence[Sequence[Tensor]],
        embedding: Tensor,
        combine: tuple[Tensor, Tensor],
        score: tuple[Tensor, Tensor],
        copy_gain: Tensor | None,
        rule: Any,
        facts: Tensor,
        dtype: torch.dtype = torch.float16,
    ) -> Decoder:
        """`questions` are keys, values, padding, keywords and modules; `lstm` are the weights of each layer
        as in `nn.LSTM.all_weights`; `combine` and `score` are weight and bias.

        Products are made of numbers of this `dtype`; half precision has as many digits as TF32, in half the
        bytes.
        """
        keys, values, padding, keywords, modules = questions
        of_input, of_own, bias_input, bias_own = (list(each) for each in zip(*lstm, strict=True))
        biases = torch.stack(bias_input) + torch.stack(bias_own)
        return cls(
            keys.to(dtype).contiguous(),
            values.to(dtype).contiguous(),
            padding.contiguous(),
            keywords if copy_gain is None else keywords.contiguous(),
            modules.contiguous(),
            (state[0].contiguous(), state[1].contiguous()),
            torch.addmm(biases[0], embedding, of_input[0].T),
            _turned(of_input[1:] or of_own[:1], dtype),  # a single layer has none below it
            _turned(of_own, dtype),
            biases[1:],
            _turned([combine[0]], dtype)[0],
            combine[1],
            score[0].to(dtype),
            score[1],
            copy_gain,
            rule,
            facts,
        )

    @property
    def beginning(self) -> int:
        """The token before the first module."""
        return len(self.inputs) - 1

    def decode(self, rows: Tensor, time: int, choice: Choice) -> tuple[Tensor, Tensor]:
        """A sentence for each of the questions `rows` [row, time], and its log p [row]."""
        if len(rows) > MOST_ROWS:
            raise ValueError(f"{len(rows):,} rows to decode at once; give at most {MOST_ROWS:,}")
        number, words, hidden = self.keys.shape
        layers, symbols = len(self.of_own), self.modules.shape[1]
        columns = rows.new_full((len(rows), time), -1)
        log_p = self.inputs.new_zeros(len(rows))
        if not columns.numel():
            return columns, log_p
        programs = triton.cdiv(len(rows), ROWS)
        places = programs * PLACES
        with torch.cuda.device_of(rows):
            _decode[programs,](
                rows.contiguous(),
                *self.state,
                self.keys,
                self.values,
                self.padding,
                self.keywords,
                self.modules,
                self.inputs,
                self.of_below,
                self.of_own,
                self.biases,
                self.combine,
                self.combine_bias,
                self.score,
                self.score_bias,
                self.score_bias if self.copy_gain is None else self.copy_gain,
                self.facts,
                choice.guide,
                self.keys.new_empty((2, layers, places, hidden)),
                log_p.new_empty((layers, places, hidden)),
                log_p.new_empty((places, 4 * hidden)),
                self.keys.new_empty((places, hidden)),
                columns,
                log_p,
                len(rows),
                number,
                time,
                words,
                symbols,
                self.beginning,
                H=hidden,
                LAYERS=layers,
                S=triton.next_power_of_2(max(16, symbols)),
                W=triton.next_power_of_2(max(16, words)),
                REAL=ROWS,
                R=PLACES,
                K=min(CHUNK, hidden),
                COPIES=self.copy_gain is not None,
                RULE=self.rule,
                CHOICE=choice.function,
                KIND=tl.float16 if self.keys.dtype == torch.float16 else tl.float32,
                num_warps=8,
                num_stages=3,
            )
        return columns, log_p


def _turned(weights: list[Tensor], dtype: torch.dtype) -> Tensor:
    """[weight, input, output], of weights [output, input]: what is added up lies side by side."""
    number, (outputs, inputs) = len(weights), weights[0].shape
    turned = torch.empty((number, inputs, outputs), dtype=dtype, device=weights[0].device)
    for k, weight in enumerate(weights):
        turned[k].copy_(weight.T)
    return turned
