"""log p of given sentences under a pointer network on a GPU, in Triton, by two kernels.

Where the modules are known beforehand (`score` of `ngs.parsing.autoregressive`), only the LSTMs must go from
one to the next. So the first kernel takes some rows through time, layer by layer, and keeps the states; what
a layer adds to the gates of the next is multiplied for several steps at once. The second takes row by row and
does all the rest for its steps side by side: attention, scores, what the language allows, log p. Products are
rounded as in `decoder`, whose weights these are. Nothing of it has a gradient.
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor
from triton import language as tl

from ngs.kernels.decoder import Decoder, log_softmax
from ngs.kernels.tiles import PLACES, added, shared_memory, tanh

STEPS = 4
"""Of a layer, whose states are multiplied at once for the layer above: 64 rows of a matrix."""
CHUNK = 32
"""Numbers of a state that a product reads at once."""
TIMES = 32
"""Steps that the second kernel looks at side by side."""
UNITS = 32
"""Of what attention and state are combined to, as many at once."""
PROGRAMS = 128
"""Of a launch at the most: nearly as many as a large GPU has processors, each of which holds one."""
AT_ONCE = 1 << 15
"""Rows of a launch: each takes 12 kB of memory with 256 units and 24 modules."""


@triton.jit
def _end(guide, row, inside, time, TIME: tl.constexpr):
    """Where the longest of some rows [R] ends."""
    step = tl.arange(0, TIME)[None, :]
    named = tl.load(guide + row[:, None] * time + step, mask=inside[:, None] & (step < time), other=-1)
    return tl.max(tl.max(tl.where(named >= 0, step + 1, 0), 1), 0)


@triton.jit
def _from_below(
    states, weights, gates, R: tl.constexpr, H: tl.constexpr, K: tl.constexpr, STEPS: tl.constexpr
):
    """What STEPS states [STEPS, R, H] of the layer below add to the `gates` [STEPS, R, 4H]."""
    each, unit, some = tl.arange(0, STEPS * R), tl.arange(0, H), tl.arange(0, K)
    for gate in range(4):
        total = tl.zeros([STEPS * R, H], tl.float32)
        for c in range(0, H, K):
            part = tl.load(states + each[:, None] * H + (c + some)[None, :])
            lines = tl.load(weights + (c + some)[:, None] * (4 * H) + gate * H + unit[None, :])
            total = tl.dot(part, lines, total, input_precision="ieee")
        tl.store(gates + each[:, None] * (4 * H) + gate * H + unit[None, :], total)


@triton.jit(do_not_specialize=["number", "time", "kept_steps"])
def _states(
    questions,
    first_states,
    first_cells,
    inputs,
    of_below,
    of_own,
    biases,
    guide,
    filled,
    states,
    lower,
    handed,
    summed,
    gates,
    number,
    time,
    kept_steps,
    beginning,
    H: tl.constexpr,
    LAYERS: tl.constexpr,
    TIME: tl.constexpr,
    R: tl.constexpr,
    K: tl.constexpr,
    STEPS: tl.constexpr,
):
    """Each program: some blocks of R rows, one after the other; the `states` [block, kept_steps, R, H] of the
    last layer after each step.

    Those of the others are kept in `lower` [program, layer, kept_steps, R, H]. Threads hand each other states
    by `handed` [program, 2, R, H], sums by `summed` [program, R, 4H] and what comes from below by `gates`
    [program, STEPS, R, 4H]. The barrier that a step begins with stands between the reading of the step before
    and all writing of this one, the second between writing and reading.
    """
    rows = tl.load(filled)
    for block in range(tl.program_id(0), tl.cdiv(rows, R), tl.num_programs(0)):
        own, unit = tl.arange(0, R), tl.arange(0, H)
        row = block * R + own
        inside = row < rows
        question = tl.load(questions + row, mask=inside, other=0)
        end = _end(guide, row, inside, time, TIME)
        program = tl.program_id(0).to(tl.int64)
        hand = handed + program * (2 * R * H)
        mine = summed + program * (R * 4 * H) + own[:, None] * (4 * H) + unit[None, :]
        below = gates + program * (STEPS * R * 4 * H)
        for k in tl.static_range(LAYERS):
            under = lower + (program * (LAYERS - 1) + k - 1) * kept_steps * R * H
            if k < LAYERS - 1:
                kept = lower + (program * (LAYERS - 1) + k) * kept_steps * R * H
            else:
                kept = states + tl.cast(block, tl.int64) * kept_steps * R * H
            first = (k * number + question)[:, None] * H + unit[None, :]
            cell = tl.load(first_cells + first)
            tl.debug_barrier()  # what was handed last may still be read
            tl.store(
                hand + own[:, None] * H + unit[None, :],
                tl.load(first_states + first).to(handed.dtype.element_ty),
            )
            for t in range(end):
                tl.debug_barrier()
                if k > 0:  # noqa: SIM102 - this one is known when it is compiled
                    if t % STEPS == 0:
                        weights = of_below + (k - 1) * 4 * H * H
                        _from_below(under + t * R * H, weights, below, R, H, K, STEPS)
                zeros = tl.zeros([R, H], tl.float32)
                before = hand + (t % 2) * (R * H) + own[:, None] * H
                into, forget, fresh, out = added(
                    zeros, zeros, zeros, zeros, before, of_own + k * 4 * H * H, H, K
                )
                # By memory, so that what follows need not stay with the threads that added up.
                tl.store(mine, into)
                tl.store(mine + H, forget)
                tl.store(mine + 2 * H, fresh)
                tl.store(mine + 3 * H, out)
                tl.debug_barrier()
                into, forget = tl.load(mine), tl.load(mine + H)
                fresh, out = tl.load(mine + 2 * H), tl.load(mine + 3 * H)
                if k > 0:
                    more = below + ((t % STEPS) * R + own)[:, None] * (4 * H) + unit[None, :]
                    bias = biases + (k - 1) * 4 * H + unit[None, :]
                    into += tl.load(bias)
                    forget += tl.load(bias + H)
                    fresh += tl.load(bias + 2 * H)
                    out += tl.load(bias + 3 * H)
                else:
                    last = tl.load(guide + row * time + t - 1, mask=inside & (t > 0), other=-1)
                    token = tl.where(last >= 0, last, beginning)
                    more = inputs + token[:, None] * (4 * H) + unit[None, :]
                into = tl.sigmoid(into + tl.load(more))
                forget = tl.sigmoid(forget + tl.load(more + H))
                fresh = tanh(fresh + tl.load(more + 2 * H))
                out = tl.sigmoid(out + tl.load(more + 3 * H))
                cell = forget * cell + into * fresh
                state = (out * tanh(cell)).to(handed.dtype.element_ty)
                tl.store(hand + ((t + 1) % 2) * (R * H) + own[:, None] * H + unit[None, :], state)
                tl.store(kept + (t * R + own)[:, None] * H + unit[None, :], state)


@triton.jit(do_not_specialize=["time", "kept_steps"])
def _log_p(
    questions,
    keys,
    values,
    padding,
    keywords,
    modules,
    combine,
    combine_bias,
    score,
    score_bias,
    gain,
    facts,
    guide,
    filled,
    states,
    total_log_p,
    time,
    kept_steps,
    words,
    symbols,
    H: tl.constexpr,
    S: tl.constexpr,
    W: tl.constexpr,
    TIME: tl.constexpr,
    T: tl.constexpr,
    R: tl.constexpr,
    N: tl.constexpr,
    COPIES: tl.constexpr,
    RULE: tl.constexpr,
):
    """Each program: the log p of some of the rows, whose `states` [block, kept_steps, R, H] are known, one
    after the other, by T steps at a time. As in `ngs.networks.pointer`; `modules` [question, symbols] are
    those of the multiset."""
    kind: tl.constexpr = states.dtype.element_ty
    for row in range(tl.program_id(0), tl.load(filled), tl.num_programs(0)):
        unit, symbol, word, some = tl.arange(0, H), tl.arange(0, S), tl.arange(0, W), tl.arange(0, N)
        real, there = symbol < symbols, word < words
        question = tl.load(questions + row)
        known = tl.load(facts + symbol, mask=real, other=0)[None, :]
        left = tl.load(modules + question * symbols + symbol, mask=real, other=0).to(tl.int32)
        unpadded = tl.load(padding + question * words + word, mask=there, other=1) == 0
        own = states + tl.cast(row // R, tl.int64) * kept_steps * R * H + (row % R) * H
        log_p_so_far = 0.0
        for begin in range(0, _end(guide, row + tl.arange(0, 1), tl.arange(0, 1) == 0, time, TIME), T):
            step = begin + tl.arange(0, T)
            column = tl.load(guide + row * time + step, mask=step < time, other=-1).to(tl.int32)
            there_yet = (column >= 0)[:, None]
            state = tl.load(own + step[:, None] * (R * H) + unit[None, :], mask=there_yet, other=0.0)
            key = keys + (question * words + word)[None, :] * H + unit[:, None]
            paid = tl.dot(state, tl.load(key, mask=there[None, :], other=0.0), input_precision="ieee")
            paid = tl.where(unpadded[None, :], paid, float("-inf"))
            paid = tl.exp(paid - tl.max(paid, 1)[:, None])
            paid = paid / tl.sum(paid, 1)[:, None]
            value = values + (question * words + word)[:, None] * H + unit[None, :]
            context = tl.dot(
                paid.to(kind), tl.load(value, mask=there[:, None], other=0.0), input_precision="ieee"
            ).to(kind)
            scores = tl.zeros([T, S], tl.float32)
            for n in range(0, H, N):
                of_state = tl.load(combine + unit[:, None] * H + (n + some)[None, :])
                of_context = tl.load(combine + (H + unit)[:, None] * H + (n + some)[None, :])
                part = tl.dot(state, of_state, input_precision="ieee")
                part = tl.dot(context, of_context, part, input_precision="ieee")
                part = tanh(part + tl.load(combine_bias + n + some)[None, :]).to(kind)
                to_scores = score + symbol[None, :] * H + (n + some)[:, None]
                weights = tl.load(to_scores, mask=real[None, :], other=0.0)
                scores = tl.dot(part, weights, scores, input_precision="ieee")
            scores += tl.load(score_bias + symbol, mask=real, other=0.0)[None, :]
            if COPIES:
                spoken = keywords + (question * words + word)[:, None] * symbols + symbol[None, :]
                speaks = tl.load(spoken, mask=there[:, None] & real[None, :], other=0.0)
                scores += tl.load(gain) * tl.dot(paid, speaks, input_precision="ieee")
            chosen = symbol[None, :] == column[:, None]
            placed = tl.cumsum(chosen.to(tl.int32), 0)
            before = tl.load(guide + row * time + step - 1, mask=(step > 0) & (step <= time), other=-1)
            last = tl.load(facts + before, mask=before >= 0, other=-1)[:, None]
            legal = RULE(known, left[None, :] - placed + chosen.to(tl.int32), last) & real[None, :]
            log_p, _ = log_softmax(scores, legal)
            log_p_so_far += tl.sum(tl.sum(tl.where(chosen, log_p, 0.0), 1), 0)
            left -= tl.sum(chosen.to(tl.int32), 0)
        tl.store(total_log_p + row, log_p_so_far)


def fits(decoder: Decoder) -> bool:
    """Whether the shared memory of a GPU is enough for the second kernel: for the keys, values and keywords
    of a question, and what they are combined with.

    The bytes are a little more than compiled kernels share: 155,648 for 137,344 with 256 units, 64 words and
    64 modules; 90,112 for 80,000 with 128 units.
    """
    _, words, hidden = decoder.keys.shape
    needed = 4 * _tile(words) * (hidden + _tile(decoder.modules.shape[1])) + 256 * hidden + 8192
    return needed <= shared_memory(decoder.keys.device)


def _tile(number: int) -> int:
    return int(triton.next_power_of_2(max(16, number)))


def sequence_log_probs(decoder: Decoder, rows: Tensor, columns: Tensor) -> Tensor:
    """log p [row] of sentences [row, time] of the questions `rows` [row]; that of an empty one is 0."""
    log_p = decoder.inputs.new_zeros(len(rows))
    if columns.numel():
        with torch.cuda.device_of(rows):
            for first in range(0, len(rows), AT_ONCE):
                some = slice(first, first + AT_ONCE)
                _launch(decoder, rows[some].contiguous(), columns[some].contiguous(), log_p[some])
    return log_p


def _launch(decoder: Decoder, rows: Tensor, columns: Tensor, log_p: Tensor) -> None:
    new = decoder.keys.new_empty
    number, words, hidden = decoder.keys.shape
    layers, symbols, time = len(decoder.of_own), decoder.modules.shape[1], columns.shape[1]
    blocks, kept = triton.cdiv(len(rows), PLACES), triton.cdiv(time, STEPS) * STEPS
    programs, longest = min(blocks, PROGRAMS), int(triton.next_power_of_2(max(2, time)))
    # Nobody looks at the rows after the last that is not empty: a search leaves kept for many.
    filled = ((columns >= 0).any(1) * torch.arange(1, len(rows) + 1, device=rows.device)).amax()
    states = new((blocks, kept, PLACES, hidden))
    _states[programs,](
        rows,
        *decoder.state,
        decoder.inputs,
        decoder.of_below,
        decoder.of_own,
        decoder.biases,
        columns,
        filled,
        states,
        new((programs, layers - 1, kept, PLACES, hidden)),
        new((programs, 2, PLACES, hidden)),
        log_p.new_empty((programs, PLACES, 4 * hidden)),
        log_p.new_empty((programs, STEPS, PLACES, 4 * hidden)),
        number,
        time,
        kept,
        decoder.beginning,
        H=hidden,
        LAYERS=layers,
        TIME=longest,
        R=PLACES,
        K=min(CHUNK, hidden),
        STEPS=STEPS,
        num_warps=8,
        num_stages=3,
    )
    _log_p[min(len(rows), PROGRAMS),](
        rows,
        decoder.keys,
        decoder.values,
        decoder.padding,
        decoder.keywords,
        decoder.modules,
        decoder.combine,
        decoder.combine_bias,
        decoder.score,
        decoder.score_bias,
        decoder.score_bias if decoder.copy_gain is None else decoder.copy_gain,
        decoder.facts,
        columns,
        filled,
        states,
        log_p,
        time,
        kept,
        words,
        symbols,
        H=hidden,
        S=_tile(symbols),
        W=_tile(words),
        TIME=longest,
        T=max(16, min(TIMES, longest)),
        R=PLACES,
        N=min(UNITS, hidden),
        COPIES=decoder.copy_gain is not None,
        RULE=decoder.rule,
        num_warps=8,
        num_stages=2,
    )
