"""Max-pooling of 2x2 pixels on a GPU, in Triton: each number is read once and written once.

PyTorch's own kernels for channels that lie side by side take several times as long, and fill the gradient
with zeros before they write into it.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd.function import once_differentiable
from triton import language as tl

BLOCK = 512
"""Numbers of a row of output that one program makes."""


@triton.jit
def _halve(pixels, largest, places, height, width, C: tl.constexpr, B: tl.constexpr):
    """Each program: a part of one row of outputs [width // 2, C]."""
    rows = height // 2
    image, row = tl.program_id(0) // rows, tl.program_id(0) % rows
    length = width // 2 * C
    at = tl.program_id(1) * B + tl.arange(0, B)
    inside = at < length
    # A pixel further in the output is two further in the input: at = pixel * C + channel.
    corner = pixels + (image * height + 2 * row).to(tl.int64) * width * C + at + at // C * C
    best = tl.load(corner, mask=inside)
    place = tl.zeros([B], tl.int8)
    for other in tl.static_range(1, 4):
        value = tl.load(corner + (other // 2 * width + other % 2) * C, mask=inside)
        better = (value > best) | (value != value)  # not a number stays, as in PyTorch
        best = tl.where(better, value, best)
        place = tl.where(better, other, place).to(tl.int8)
    start = tl.program_id(0).to(tl.int64) * length
    tl.store(largest + start + at, best, mask=inside)
    tl.store(places + start + at, place, mask=inside)


@triton.jit
def _spread(gradient, places, spread, height, width, C: tl.constexpr, B: tl.constexpr):
    """Each program: a part of two rows of inputs, also those that no output sees at an odd edge."""
    rows = (height + 1) // 2
    image, row = tl.program_id(0) // rows, tl.program_id(0) % rows
    length = width // 2 * C
    at = tl.program_id(1) * B + tl.arange(0, B)
    seen = at < tl.where(row < height // 2, length, 0)
    start = (image * (height // 2) + row).to(tl.int64) * length
    value = tl.load(gradient + start + at, mask=seen, other=0.0)
    place = tl.load(places + start + at, mask=seen, other=0)
    pixel = at // C
    corner = spread + (image * height + 2 * row).to(tl.int64) * width * C + at + pixel * C
    for other in tl.static_range(4):
        there = 2 * pixel + other % 2 < tl.where(2 * row + other // 2 < height, width, 0)
        own = tl.where(place == other, value, 0.0)
        tl.store(corner + (other // 2 * width + other % 2) * C, own, mask=there)


class Halved(torch.autograd.Function):
    """[image, channel, height // 2, width // 2], the channels side by side in memory."""

    @staticmethod
    def forward(ctx: Any, features: Tensor) -> Tensor:
        features = features.contiguous(memory_format=torch.channels_last)
        number, channels, height, width = ctx.shape = features.shape
        shape = number, channels, height // 2, width // 2
        largest = torch.empty(
            shape, dtype=features.dtype, device=features.device, memory_format=torch.channels_last
        )
        places = torch.empty_like(largest, dtype=torch.int8)
        if number:
            programs = number * (height // 2), triton.cdiv(width // 2 * channels, BLOCK)
            with torch.cuda.device_of(features):
                _halve[programs](features, largest, places, height, width, C=channels, B=BLOCK)
        ctx.save_for_backward(places)
        return largest

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (places,) = ctx.saved_tensors
        gradient = gradients[0].contiguous(memory_format=torch.channels_last)
        number, channels, height, width = ctx.shape
        spread = torch.empty(
            ctx.shape, dtype=gradient.dtype, device=gradient.device, memory_format=torch.channels_last
        )
        if number:
            programs = number * ((height + 1) // 2), triton.cdiv((width + 1) // 2 * channels, BLOCK)
            with torch.cuda.device_of(gradient):
                _spread[programs](gradient, places, spread, height, width, C=channels, B=BLOCK)
        return spread
