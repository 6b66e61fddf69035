"""A step of the pointer network's decoder on a GPU, in Triton, between the products of matrices.

`ngs.perception.pointer` has the formulas. Each is a handful of launches there; here it is one.
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor
from triton import language as tl

CHUNK = 64
"""Numbers of a hidden state that are looked at together."""


@triton.jit
def _recur(products, inputs, token, cell, state, hidden, input_stride, state_stride, B: tl.constexpr):
    """Each program: a part of one row's LSTM cell. `inputs` [token, 4 hidden] are added to `products`."""
    row = tl.program_id(0).to(tl.int64)
    unit = tl.program_id(1) * B + tl.arange(0, B)
    inside = unit < hidden
    products += row * 4 * hidden + unit
    inputs += tl.load(token + row) * input_stride + unit
    i = tl.load(products, mask=inside, other=0.0) + tl.load(inputs, mask=inside, other=0.0)
    f = tl.load(products + hidden, mask=inside, other=0.0) + tl.load(inputs + hidden, mask=inside, other=0.0)
    g = tl.load(products + 2 * hidden, mask=inside, other=0.0)
    g += tl.load(inputs + 2 * hidden, mask=inside, other=0.0)
    o = tl.load(products + 3 * hidden, mask=inside, other=0.0)
    o += tl.load(inputs + 3 * hidden, mask=inside, other=0.0)
    kept = tl.load(cell + row * hidden + unit, mask=inside, other=0.0)
    kept = tl.sigmoid(f) * kept + tl.sigmoid(i) * _tanh(g)
    tl.store(cell + row * hidden + unit, kept, mask=inside)
    tl.store(state + row * state_stride + unit, tl.sigmoid(o) * _tanh(kept), mask=inside)


@triton.jit
def _tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


def recur(products: Tensor, inputs: Tensor, token: Tensor, cell: Tensor, state: Tensor) -> None:
    """The LSTM cell: `cell` [row, hidden] and `state` [row, hidden] are written anew.

    Its gates are `products` [row, 4 hidden] and what `inputs` [token, 4 hidden] has for the `token` [row].
    """
    rows, hidden = cell.shape
    block = min(256, triton.next_power_of_2(hidden))
    with torch.cuda.device_of(cell):
        _recur[rows, triton.cdiv(hidden, block)](
            products,
            inputs,
            token,
            cell,
            state,
            hidden,
            inputs.stride(0),
            state.stride(0),
            B=block,
            num_warps=2,
        )


@triton.jit
def _attend(
    state,
    questions,
    keys,
    values,
    padding,
    context,
    attention,
    words,
    hidden,
    stride,
    W: tl.constexpr,
    C: tl.constexpr,
):
    """Each program: what one row's state sees in the words of its question."""
    row = tl.program_id(0).to(tl.int64)
    question = tl.load(questions + row)
    word = tl.arange(0, W)
    unpadded = tl.load(padding + question * words + word, mask=word < words, other=1) == 0
    memory = (question * words + word)[:, None] * hidden
    scores = tl.zeros([W], tl.float32)
    for start in range(0, hidden, C):
        unit = start + tl.arange(0, C)
        there = unpadded[:, None] & (unit < hidden)[None, :]
        own = tl.load(state + row * stride + unit, mask=unit < hidden, other=0.0)
        scores += tl.sum(tl.load(keys + memory + unit[None, :], mask=there, other=0.0) * own[None, :], 1)
    scores = tl.where(unpadded, scores, float("-inf"))
    weights = tl.exp(scores - tl.max(scores, 0))
    weights = weights / tl.sum(weights, 0)
    tl.store(attention + row * words + word, weights, mask=word < words)
    for start in range(0, hidden, C):
        unit = start + tl.arange(0, C)
        there = unpadded[:, None] & (unit < hidden)[None, :]
        seen = tl.load(values + memory + unit[None, :], mask=there, other=0.0) * weights[:, None]
        tl.store(context + row * stride + unit, tl.sum(seen, 0), mask=unit < hidden)


def attend(
    state: Tensor,
    questions: Tensor,
    keys: Tensor,
    values: Tensor,
    padding: Tensor,
    context: Tensor,
    attention: Tensor,
) -> None:
    """Writes the `context` [row, hidden] that each `state` [row, hidden] sees in the question of its row,
    and the `attention` [row, word] it pays; both have the same strides as `state` between rows."""
    rows, hidden = state.shape
    words = keys.shape[1]
    with torch.cuda.device_of(state):
        _attend[rows,](
            state,
            questions,
            keys,
            values,
            padding,
            context,
            attention,
            words,
            hidden,
            state.stride(0),
            W=triton.next_power_of_2(words),
            C=CHUNK,
            num_warps=4,
        )


@triton.jit
def drawn(log_p, guide, row, t, rows, time, symbol, symbols):
    """A module drawn from p: by exponential numbers `guide` [time, row, module]."""
    noise = tl.load(guide + (t * rows + row) * symbols + symbol, mask=symbol < symbols, other=1.0)
    return tl.argmax(tl.exp(log_p) / noise, 0)


@triton.jit
def likeliest(log_p, guide, row, t, rows, time, symbol, symbols):
    """The likeliest module."""
    return tl.argmax(log_p, 0)


@triton.jit
def given(log_p, guide, row, t, rows, time, symbol, symbols):
    """The module that `guide` [row, time] has there, PAD behind the end."""
    return tl.load(guide + row * time + t).to(tl.int32)


@triton.jit(do_not_specialize=["t"])
def _choose(
    combined,
    combine_bias,
    score_weight,
    score_bias,
    gain,
    attention,
    keywords,
    questions,
    facts,
    left,
    last,
    token,
    columns,
    total,
    guide,
    t,
    rows,
    time,
    words,
    symbols,
    hidden,
    S: tl.constexpr,
    W: tl.constexpr,
    C: tl.constexpr,
    COPIES: tl.constexpr,
    RULE: tl.constexpr,
    CHOICE: tl.constexpr,
    GIVEN: tl.constexpr,
):
    """Each program: the next module of one row, and all that is to be known of it afterwards."""
    row = tl.program_id(0).to(tl.int64)
    symbol = tl.arange(0, S)
    real = symbol < symbols
    scores = tl.load(score_bias + symbol, mask=real, other=0.0)
    for start in range(0, hidden, C):
        unit = start + tl.arange(0, C)
        inside = unit < hidden
        sums = tl.load(combined + row * hidden + unit, mask=inside, other=0.0)
        sums += tl.load(combine_bias + unit, mask=inside, other=0.0)
        weights = tl.load(
            score_weight + symbol[:, None] * hidden + unit[None, :],
            mask=real[:, None] & inside[None, :],
            other=0.0,
        )
        scores += tl.sum(weights * _tanh(sums)[None, :], 1)
    if COPIES:
        word = tl.arange(0, W)
        seen = tl.load(attention + row * words + word, mask=word < words, other=0.0)
        spoken = tl.load(
            keywords + (tl.load(questions + row) * words + word)[:, None] * symbols + symbol[None, :],
            mask=(word < words)[:, None] & real[None, :],
            other=0.0,
        )
        scores += tl.load(gain) * tl.sum(spoken * seen[:, None], 0)
    number_left = tl.load(left + row * symbols + symbol, mask=real, other=0)
    known = tl.load(facts + symbol, mask=real, other=0)
    legal = RULE(known, number_left, tl.load(last + row)) & real
    open_choices = tl.sum(legal.to(tl.int32), 0)
    scores = tl.where(legal, scores, float("-inf"))
    highest = tl.where(open_choices > 0, tl.max(scores, 0), 0.0)
    log_p = scores - highest - tl.log(tl.sum(tl.exp(scores - highest), 0))
    log_p = tl.where(legal, log_p, float("-inf"))
    column = CHOICE(log_p, guide, row, t, rows, time, symbol, symbols)
    if not GIVEN:
        # A network that has diverged may choose anything, but some module: its loss will tell.
        column = tl.where(open_choices > 0, tl.minimum(column, symbols - 1), -1)
    own = symbol == column
    gained = tl.max(tl.where(own, log_p, float("-inf")), 0)
    tl.store(total + row, tl.load(total + row) + tl.where(column >= 0, gained, 0.0))
    tl.store(left + row * symbols + symbol, number_left - own.to(tl.int32), mask=real)
    tl.store(last + row, tl.load(facts + column, mask=column >= 0, other=-1))
    tl.store(token + row, tl.where(column >= 0, column, symbols).to(tl.int64))
    tl.store(columns + row * time + t, column.to(tl.int64))
