"""A layer of an LSTM on a GPU, in Triton: all of its time is one kernel forwards and one backwards.

The kernels of a single step are too small to keep a GPU busy. Here each program takes some rows through time
(Appleyard et al. 2016 call this persistent),

    gates  a_t = W_ih x_t + b_ih + b_hh + W_hh h_{t-1}        as i, f, g, o one after another
    cell   c_t = sigmoid(f) c_{t-1} + sigmoid(i) tanh(g)
    state  h_t = sigmoid(o) tanh(c_t)

The products with the inputs x are one call for all times. Reading the weights W_hh at every step takes most
of the time. Where products may be rounded to ten bits (TF32), they are kept in half precision, which has as
many and is half as much to read. States are between -1 and 1, where its range is enough; slopes are divided
by the largest of their row. Time comes first in memory, so that the states before and after all steps are two
views of one tensor.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from triton import language as tl

from ngs.kernels.tiles import PLACES, added, fits, tanh

UNITS_OF_A_WARP = 32  # as many warps as keep a thread's share of the gates at 64 numbers


@triton.jit(do_not_specialize=["rows", "time"])
def _advance(
    gates,
    weight,
    counts,
    first_state,
    first_cell,
    states,
    cells,
    last_state,
    last_cell,
    handed,
    summed,
    rows,
    time,
    H: tl.constexpr,
    R: tl.constexpr,
    K: tl.constexpr,
):
    """Each program: R rows. `gates` [time, row, 4H] hold the products with the inputs, then what became of
    them; `weight` is W_hh transposed [H, 4H]. Behind the end of a row its state stays and its outputs are 0.

    Threads exchange the state by `handed` [program, 2, R, H], one half of which is read while the other is
    written. The first barrier of a step separates the writing of a state from its reading, and the reading of
    gates from what is written over them. Sums are exchanged by `summed` [program, R, 4H], with a barrier of
    their own.
    """
    own = tl.arange(0, R)
    row = tl.program_id(0) * R + own
    unit = tl.arange(0, H)
    real = (row < rows)[:, None]
    at = row[:, None] * H + unit[None, :]
    gate = row[:, None] * (4 * H) + unit[None, :]
    hand = handed + tl.program_id(0).to(tl.int64) * (2 * R * H)
    mine = summed + tl.program_id(0).to(tl.int64) * (R * 4 * H) + own[:, None] * (4 * H) + unit[None, :]
    state = tl.load(first_state + at, mask=real, other=0.0)
    cell = tl.load(first_cell + at, mask=real, other=0.0)
    tl.store(states + at, state, mask=real)
    tl.store(cells + at, cell, mask=real)
    tl.store(hand + own[:, None] * H + unit[None, :], state.to(handed.dtype.element_ty))
    count = tl.load(counts + row, mask=row < rows, other=0).to(tl.int32)[:, None]
    end = tl.max(count)
    for t in range(end):
        here = gates + tl.cast(t, tl.int64) * rows * (4 * H) + gate
        into = tl.load(here, mask=real, other=0.0)
        forget = tl.load(here + H, mask=real, other=0.0)
        new = tl.load(here + 2 * H, mask=real, other=0.0)
        out = tl.load(here + 3 * H, mask=real, other=0.0)
        tl.debug_barrier()
        zeros = tl.zeros([R, H], tl.float32)
        before = hand + (t % 2) * (R * H) + own[:, None] * H
        into_sum, forget_sum, new_sum, out_sum = added(zeros, zeros, zeros, zeros, before, weight, H, K)
        tl.store(mine, into_sum)
        tl.store(mine + H, forget_sum)
        tl.store(mine + 2 * H, new_sum)
        tl.store(mine + 3 * H, out_sum)
        tl.debug_barrier()
        into = tl.sigmoid(into + tl.load(mine))
        forget = tl.sigmoid(forget + tl.load(mine + H))
        new = tanh(new + tl.load(mine + 2 * H))
        out = tl.sigmoid(out + tl.load(mine + 3 * H))
        tl.store(here, into, mask=real)
        tl.store(here + H, forget, mask=real)
        tl.store(here + 2 * H, new, mask=real)
        tl.store(here + 3 * H, out, mask=real)
        next_cell = forget * cell + into * new
        output = out * tanh(next_cell)
        going = t < count
        cell = tl.where(going, next_cell, cell)
        state = tl.where(going, output, state)
        output = tl.where(going, output, 0.0)
        step = tl.cast(t + 1, tl.int64) * rows * H
        tl.store(states + step + at, output, mask=real)
        tl.store(cells + step + at, cell, mask=real)
        now = hand + ((t + 1) % 2) * (R * H) + own[:, None] * H + unit[None, :]
        tl.store(now, state.to(handed.dtype.element_ty))
    for t in range(end, time):
        step = tl.cast(t + 1, tl.int64) * rows * H
        tl.store(states + step + at, tl.zeros([R, H], tl.float32), mask=real)
    tl.store(last_state + at, state, mask=real)
    tl.store(last_cell + at, cell, mask=real)


@triton.jit(do_not_specialize=["rows", "time"])
def _go_back(
    gates,
    weight,
    counts,
    cells,
    d_outputs,
    d_last_state,
    d_last_cell,
    d_gates,
    d_first_state,
    d_first_cell,
    handed,
    summed,
    rows,
    time,
    time_stride,
    row_stride,
    H: tl.constexpr,
    R: tl.constexpr,
    K: tl.constexpr,
):
    """Each program: the slopes of R rows, from their ends to their beginnings. `weight` is as before.

    Threads exchange the slopes of the gates by `handed` [program, 2, R, 4H]: the half that a step writes was
    read two steps before, and the barriers of the step between ended that reading. Sums are exchanged by
    `summed` [program, R, H].
    """
    own = tl.arange(0, R)
    row = tl.program_id(0) * R + own
    unit, some = tl.arange(0, H), tl.arange(0, K)
    real = (row < rows)[:, None]
    at = row[:, None] * H + unit[None, :]
    gate = row[:, None] * (4 * H) + unit[None, :]
    hand = handed + tl.program_id(0).to(tl.int64) * (2 * R * 4 * H)
    mine = summed + tl.program_id(0).to(tl.int64) * (R * H) + own[:, None] * H + unit[None, :]
    kind: tl.constexpr = handed.dtype.element_ty
    d_state = tl.load(d_last_state + at, mask=real, other=0.0)
    d_cell = tl.load(d_last_cell + at, mask=real, other=0.0)
    count = tl.load(counts + row, mask=row < rows, other=0).to(tl.int32)[:, None]
    end = tl.max(count)
    for t in range(end, time):
        after = d_gates + tl.cast(t, tl.int64) * rows * (4 * H) + gate
        for each in tl.static_range(4):
            tl.store(after + each * H, tl.zeros([R, H], tl.float32), mask=real)
    cell = tl.load(cells + tl.cast(end, tl.int64) * rows * H + at, mask=real, other=0.0)
    for back in range(end):
        t = end - 1 - back
        step = tl.cast(t, tl.int64)
        here = gates + step * rows * (4 * H) + gate
        into = tl.load(here, mask=real, other=0.0)
        forget = tl.load(here + H, mask=real, other=0.0)
        new = tl.load(here + 2 * H, mask=real, other=0.0)
        out = tl.load(here + 3 * H, mask=real, other=0.0)
        cell_before = tl.load(cells + step * rows * H + at, mask=real, other=0.0)
        slope = d_outputs + step * time_stride + row.to(tl.int64)[:, None] * row_stride + unit[None, :]
        d_output = d_state + tl.load(slope, mask=real, other=0.0)
        seen = tanh(cell)
        d_here = d_cell + d_output * out * (1 - seen * seen)
        d_into = d_here * new * into * (1 - into)
        d_forget = d_here * cell_before * forget * (1 - forget)
        d_new = d_here * into * (1 - new * new)
        d_out = d_output * seen * out * (1 - out)
        going = t < count
        d_into = tl.where(going, d_into, 0.0)
        d_forget = tl.where(going, d_forget, 0.0)
        d_new = tl.where(going, d_new, 0.0)
        d_out = tl.where(going, d_out, 0.0)
        d_cell = tl.where(going, d_here * forget, d_cell)
        there = d_gates + step * rows * (4 * H) + gate
        tl.store(there, d_into, mask=real)
        tl.store(there + H, d_forget, mask=real)
        tl.store(there + 2 * H, d_new, mask=real)
        tl.store(there + 3 * H, d_out, mask=real)
        widest = tl.maximum(
            tl.maximum(tl.abs(d_into), tl.abs(d_forget)), tl.maximum(tl.abs(d_new), tl.abs(d_out))
        )
        largest = tl.max(widest, 1)[:, None]
        largest = tl.where(largest > 0, largest, 1.0)
        half = hand + (back % 2) * (R * 4 * H)
        now = half + own[:, None] * (4 * H) + unit[None, :]
        tl.store(now, (d_into / largest).to(kind))
        tl.store(now + H, (d_forget / largest).to(kind))
        tl.store(now + 2 * H, (d_new / largest).to(kind))
        tl.store(now + 3 * H, (d_out / largest).to(kind))
        tl.debug_barrier()
        total = tl.zeros([R, H], tl.float32)
        for k in range(0, 4 * H, K):
            part = tl.load(half + own[:, None] * (4 * H) + (k + some)[None, :])
            lines = tl.load(weight + unit[None, :] * (4 * H) + (k + some)[:, None])
            total = tl.dot(part, lines, total, input_precision="ieee")
        tl.store(mine, total)
        tl.debug_barrier()
        total = tl.load(mine) * largest
        d_state = tl.where(going, total, d_state)
        cell = cell_before
    tl.store(d_first_state + at, d_state, mask=real)
    tl.store(d_first_cell + at, d_cell, mask=real)


class Layer(torch.autograd.Function):
    """A layer's outputs [time, row, hidden], and its state and cell [row, hidden] at the end of each row.

    `inputs` are [time, row, number], `state` and `cell` those before the first time [row, hidden], and
    `counts` (int64 [row]) how long each row is. With `rounded` products, states are multiplied in half
    precision.
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        state: Tensor,
        cell: Tensor,
        input_weight: Tensor,
        weight: Tensor,
        input_bias: Tensor,
        bias: Tensor,
        counts: Tensor,
        rounded: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        time, rows, number = inputs.shape
        hidden = weight.shape[1]
        flat = inputs.reshape(-1, number)
        gates = torch.addmm(input_bias + bias, flat, input_weight.T)
        kind = torch.half if rounded else weight.dtype
        turned = torch.empty_like(weight.T, dtype=kind, memory_format=torch.contiguous_format)
        turned.copy_(weight.T)
        states = gates.new_empty(time + 1, rows, hidden)
        cells = torch.empty_like(states)
        last_state, last_cell = torch.empty_like(states[0]), torch.empty_like(cells[0])
        programs = triton.cdiv(rows, PLACES)
        if rows:
            with torch.cuda.device_of(gates):
                _advance[programs,](
                    gates,
                    turned,
                    counts,
                    state.contiguous(),
                    cell.contiguous(),
                    states,
                    cells,
                    last_state,
                    last_cell,
                    turned.new_empty(programs, 2, PLACES, hidden),
                    gates.new_empty(programs, PLACES, 4 * hidden),
                    rows,
                    time,
                    H=hidden,
                    R=PLACES,
                    K=_chunk(turned, 32),
                    num_warps=max(1, hidden // UNITS_OF_A_WARP),
                    num_stages=3,
                )
        ctx.save_for_backward(flat, input_weight, turned, gates, states, cells, counts)
        return states[1:], last_state, last_cell

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, d_outputs: Tensor, d_last_state: Tensor, d_last_cell: Tensor
    ) -> tuple[Tensor | None, ...]:
        flat, input_weight, turned, gates, states, cells, counts = ctx.saved_tensors
        time, (rows, hidden) = len(states) - 1, states.shape[1:]
        if d_outputs.stride(2) != 1:
            d_outputs = d_outputs.contiguous()
        d_gates = torch.empty_like(gates)
        d_state, d_cell = torch.empty_like(states[0]), torch.empty_like(cells[0])
        programs = triton.cdiv(rows, PLACES)
        if rows:
            with torch.cuda.device_of(gates):
                _go_back[programs,](
                    gates,
                    turned,
                    counts,
                    cells,
                    d_outputs,
                    d_last_state.contiguous(),
                    d_last_cell.contiguous(),
                    d_gates,
                    d_state,
                    d_cell,
                    turned.new_empty(programs, 2, PLACES, 4 * hidden),
                    gates.new_empty(programs, PLACES, hidden),
                    rows,
                    time,
                    d_outputs.stride(0),
                    d_outputs.stride(1),
                    H=hidden,
                    R=PLACES,
                    K=_chunk(turned, 64),
                    num_warps=max(1, hidden // UNITS_OF_A_WARP),
                    num_stages=4,
                )
        d_inputs = None
        if ctx.needs_input_grad[0]:
            d_inputs = (d_gates @ input_weight).view(time, rows, flat.shape[1])
        d_bias = d_gates.sum(0)
        d_weight = d_gates.T @ states[:-1].view(-1, hidden)
        return d_inputs, d_state, d_cell, d_gates.T @ flat, d_weight, d_bias, d_bias, None, None


def takes(lstm: nn.LSTM) -> bool:
    """Whether its layers are such as the kernels know."""
    weight = lstm.all_weights[0][1]
    plain = lstm.bias and lstm.batch_first and not lstm.bidirectional and not lstm.proj_size
    return plain and weight.dtype == torch.float32 and fits(lstm.hidden_size, weight.device)


def _chunk(weight: Tensor, halves: int) -> int:
    """Of the numbers that a product adds up, how many are read at once: as many bytes of either kind."""
    return max(16, min(weight.shape[0], halves * 2 // weight.element_size()))
