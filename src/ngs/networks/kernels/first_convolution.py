"""The first convolution on a GPU, in Triton: each pixel of ink becomes a row of channels in one pass.

Libraries make convolutions for many channels; with one channel of input and nine weights for each of the
output there is next to nothing to multiply, and all that counts is that the output is written once.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd.function import once_differentiable
from triton import language as tl

TILE = 2048
"""Numbers of output that a program makes at once, channels that are not there included."""
SUMMED = 512
"""The same where ten sums are kept for each of them."""
PARTS = 4
"""Programs that share an image's gradient."""


@triton.jit
def _pixel(ink, pixels, row, column, height, width, inside, kind: tl.constexpr):
    """The ink of pixels a step away; none beyond the edge."""
    y, x = pixels // width + row, pixels % width + column
    there = inside & (y >= 0) & (y < height) & (x >= 0) & (x < width)
    return tl.load(ink + y * width + x, mask=there, other=0.0).to(kind)


@triton.jit
def _convolve(
    ink,
    weight,
    bias,
    outputs,
    height,
    width,
    channels: tl.constexpr,
    C: tl.constexpr,
    P: tl.constexpr,
    BIASED: tl.constexpr,
    kind: tl.constexpr,
):
    """Each program: P pixels of an image, all channels."""
    image = tl.program_id(0).to(tl.int64)
    size = height * width
    pixels = tl.program_id(1) * P + tl.arange(0, P)
    channel = tl.arange(0, C)
    inside, real = pixels < size, channel < channels
    result = tl.zeros([P, C], kind)
    if BIASED:
        result += tl.load(bias + channel, mask=real, other=0.0).to(kind)[None, :]
    for k in tl.static_range(9):
        values = _pixel(ink + image * size, pixels, k // 3 - 1, k % 3 - 1, height, width, inside, kind)
        weights = tl.load(weight + channel * 9 + k, mask=real, other=0.0).to(kind)
        result += values[:, None] * weights[None, :]
    start = outputs + image * size * channels
    tl.store(
        start + pixels[:, None] * channels + channel[None, :], result, mask=inside[:, None] & real[None, :]
    )


@triton.jit
def _slopes(
    ink,
    gradient,
    sums,
    height,
    width,
    channels: tl.constexpr,
    C: tl.constexpr,
    P: tl.constexpr,
    PARTS: tl.constexpr,
    kind: tl.constexpr,
):
    """Each program: a part of an image's share in the gradient of the nine weights and the bias [10, C].

    The sums stay apart for each of P pixels until the end: adding them up at every turn would cost more than
    all the rest. They have names, since Triton keeps no lists of tensors in a loop.
    """
    image = tl.program_id(0).to(tl.int64)
    size = height * width
    channel = tl.arange(0, C)
    real = channel < channels
    zero = tl.zeros([P, C], kind)
    northwest, north, northeast = zero, zero, zero
    west, here, east = zero, zero, zero
    southwest, south, southeast = zero, zero, zero
    total = zero
    for start in range(tl.program_id(1) * P, size, PARTS * P):
        pixels = start + tl.arange(0, P)
        inside = pixels < size
        at = gradient + image * size * channels + pixels[:, None] * channels + channel[None, :]
        slope = tl.load(at, mask=inside[:, None] & real[None, :], other=0.0).to(kind)
        own = ink + image * size
        northwest += slope * _pixel(own, pixels, -1, -1, height, width, inside, kind)[:, None]
        north += slope * _pixel(own, pixels, -1, 0, height, width, inside, kind)[:, None]
        northeast += slope * _pixel(own, pixels, -1, 1, height, width, inside, kind)[:, None]
        west += slope * _pixel(own, pixels, 0, -1, height, width, inside, kind)[:, None]
        here += slope * _pixel(own, pixels, 0, 0, height, width, inside, kind)[:, None]
        east += slope * _pixel(own, pixels, 0, 1, height, width, inside, kind)[:, None]
        southwest += slope * _pixel(own, pixels, 1, -1, height, width, inside, kind)[:, None]
        south += slope * _pixel(own, pixels, 1, 0, height, width, inside, kind)[:, None]
        southeast += slope * _pixel(own, pixels, 1, 1, height, width, inside, kind)[:, None]
        total += slope
    row = sums + (image * PARTS + tl.program_id(1)) * 10 * C + channel
    tl.store(row + 0 * C, tl.sum(northwest, 0))
    tl.store(row + 1 * C, tl.sum(north, 0))
    tl.store(row + 2 * C, tl.sum(northeast, 0))
    tl.store(row + 3 * C, tl.sum(west, 0))
    tl.store(row + 4 * C, tl.sum(here, 0))
    tl.store(row + 5 * C, tl.sum(east, 0))
    tl.store(row + 6 * C, tl.sum(southwest, 0))
    tl.store(row + 7 * C, tl.sum(south, 0))
    tl.store(row + 8 * C, tl.sum(southeast, 0))
    tl.store(row + 9 * C, tl.sum(total, 0))


class Convolved(torch.autograd.Function):
    """`F.conv2d(ink, weight, bias, padding=1)` for weights [output, 1, 3, 3], as numbers of `dtype`, the
    channels side by side in memory. The ink itself gets no gradient."""

    @staticmethod
    def forward(ctx: Any, ink: Tensor, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> Tensor:
        number, _, height, width = ink.shape
        ink, weight = ink.contiguous(), weight.contiguous()
        channels = len(weight)
        shape = number, channels, height, width
        outputs = torch.empty(shape, dtype=dtype, device=ink.device, memory_format=torch.channels_last)
        padded = triton.next_power_of_2(channels)
        pixels = max(1, TILE // padded)
        if number:
            with torch.cuda.device_of(ink):
                _convolve[number, triton.cdiv(height * width, pixels)](
                    ink,
                    weight,
                    weight if bias is None else bias,
                    outputs,
                    height,
                    width,
                    channels=channels,
                    C=padded,
                    P=pixels,
                    BIASED=bias is not None,
                    kind=_kind(ink),
                )
        ctx.save_for_backward(ink)
        ctx.weight, ctx.biased = (weight.shape, weight.dtype), bias is not None
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor, Tensor | None, None]:
        (ink,) = ctx.saved_tensors
        number, _, height, width = ink.shape
        shape, dtype = ctx.weight
        gradient = gradients[0].contiguous(memory_format=torch.channels_last)
        padded = triton.next_power_of_2(shape[0])
        exact = torch.float64 if ink.dtype == torch.float64 else torch.float32
        sums = ink.new_empty(number, PARTS, 10, padded, dtype=exact)
        if number:
            with torch.cuda.device_of(ink):
                _slopes[number, PARTS](
                    ink,
                    gradient,
                    sums,
                    height,
                    width,
                    channels=shape[0],
                    C=padded,
                    P=max(1, SUMMED // padded),
                    PARTS=PARTS,
                    kind=_kind(ink),
                )
        slopes = sums.sum((0, 1))[:, : shape[0]].to(dtype)
        return None, slopes[:9].T.reshape(shape), slopes[9] if ctx.biased else None, None


def _kind(ink: Tensor) -> Any:
    """What is added up in."""
    return tl.float64 if ink.dtype == torch.float64 else tl.float32
