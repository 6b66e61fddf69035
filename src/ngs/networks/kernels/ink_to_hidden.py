"""The paper's network on a GPU, from ink to its hidden layer, in Triton.

    features = relu(ink * first + b)
    halved = dropout(max over 2x2 of (features * second) + c)
    hidden = halved third + d

What a library would write between these layers, and read again to differentiate them, is several times
what goes in and comes out. Here features are kept in half precision, with a frame of zeros; what the second
convolution gives is halved and dropped out where it is made; and its gradient, which has one number for each
four pixels, stays like that: each product finds out for itself which of the four it belongs to.

Two pixels side by side see three columns each of the same four. Four pixels are one piece of memory, so both
are worked out of all four, by *windows*: weights with zeros for the column that a pixel does not see.

Products are of half precision, which has as many digits as TF32 in half the bytes, and are added up in
float32. Gradients are too small for its range, so a power of two brings the largest of them into it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd.function import once_differentiable
from triton import language as tl

from ngs.gpu import room

BYTE = 256
"""Numbers that chance has for each halved pixel, of which a share is dropped."""
LARGEST = 2.0**8
"""What the largest number of a gradient is brought near to. Weighted sums of such numbers must be less than
65,504, so the third weights of a halved pixel may add up to 256; beyond that they are infinite, and the loss
tells."""
LARGEST_EXPONENT = 100
"""Of the power of two that does this; networks that have stopped learning have gradients of 1e-40."""
PARTS = 132
"""Programs that share the gradient of the second weights of left or right pixels."""
ROOM = 163_840
"""Bytes of shared memory that all kernels have enough of."""
DROPPED = tl.constexpr(4)
"""Behind the four pixels that a halved one may come from: none of them."""


@dataclass(frozen=True)
class Tile:
    """How much of a kernel's work one program does."""

    pixels: int
    warps: int
    stages: int
    """of a loop that are under way at once"""
    registers: int | None = None
    """that a thread has at most: with fewer, more programs run at a time"""

    @property
    def options(self) -> dict[str, int | None]:
        return {
            "M": self.pixels,
            "num_warps": self.warps,
            "num_stages": self.stages,
            "maxnreg": self.registers,
        }


# Of the kernels below, in their order: the fastest of some on an H200.
FRAMED = Tile(128, 4, 1)
HALVED = Tile(64, 4, 1)
BIASED = Tile(128, 4, 1)
SUMMED = Tile(32, 4, 2)
TURNED = Tile(64, 4, 1, registers=168)


@triton.jit
def _frame(ink, weight, bias, features, side, C: tl.constexpr, M: tl.constexpr):
    """Each program: the features of M pixels of an image, its frame included."""
    framed = side + 2
    image = tl.program_id(0).to(tl.int64)
    ink += image * side * side
    features += image * framed * framed * C
    at = tl.program_id(1) * M + tl.arange(0, M)
    y, x = at // framed - 1, at % framed - 1
    channel, tap = tl.arange(0, C), tl.arange(0, 16)
    v, u = y[:, None] + tap[None, :] // 3 - 1, x[:, None] + tap[None, :] % 3 - 1
    near = (tap < 9)[None, :] & (v >= 0) & (v < side) & (u >= 0) & (u < side)
    patch = tl.load(ink + v * side + u, mask=near, other=0.0)
    weights = tl.load(weight + channel[None, :] * 9 + tap[:, None], mask=(tap < 9)[:, None], other=0.0)
    total = tl.dot(patch.to(tl.float16), weights.to(tl.float16)) + tl.load(bias + channel)[None, :]
    inside = (y >= 0) & (y < side) & (x >= 0) & (x < side)
    # Not a number stays: a maximum would hide it.
    total = tl.where(inside[:, None] & ~(total <= 0), total, 0.0)
    to = features + at[:, None] * C + channel[None, :]
    tl.store(to, total.to(tl.float16), mask=(at < framed * framed)[:, None])


@triton.jit
def _products(seen, windows, tap, left, right, C: tl.constexpr, D: tl.constexpr):
    """Adds to both pixels of a row [M, D] what a row `tap` of weights makes of four features [M, 4C]."""
    span, out = tl.arange(0, 4 * C), tl.arange(0, D)
    at = windows + tap * 8 * C * D + span[:, None] * D + out[None, :]
    return tl.dot(seen, tl.load(at), left), tl.dot(seen, tl.load(at + 4 * C * D), right)


@triton.jit
def _better(value, corner, best, place):
    """The larger of two, and where it is from; the first of equals, and what is no number, as in PyTorch."""
    better = (value > best) | (value != value)
    return tl.where(better, value, best), tl.where(better, corner, place)


@triton.jit
def _halve(
    features,
    windows,
    bias,
    chance,
    halved,
    places,
    side,
    dropped,
    factor,
    C: tl.constexpr,
    D: tl.constexpr,
    M: tl.constexpr,
    DROPS: tl.constexpr,
):
    """Each program: M halved pixels of an image, each of 4x4 features.

    One is dropped where its byte of `chance` is less than `dropped`; the others are multiplied by `factor`.
    """
    half, framed = side // 2, side + 2
    image = tl.program_id(0).to(tl.int64)
    features += image * framed * framed * C
    at = tl.program_id(1) * M + tl.arange(0, M)
    inside = (at < half * half)[:, None]
    span, out = tl.arange(0, 4 * C), tl.arange(0, D)
    corner = (2 * (at // half) * framed + 2 * (at % half)) * C
    zeros = tl.zeros([M, D], tl.float32)
    upper_left, upper_right, lower_left, lower_right = zeros, zeros, zeros, zeros
    for row in tl.static_range(4):
        line = features + row * framed * C
        seen = tl.load(line + corner[:, None] + span[None, :], mask=inside, other=0.0)
        if row < 3:
            upper_left, upper_right = _products(seen, windows, row, upper_left, upper_right, C, D)
        if row > 0:
            lower_left, lower_right = _products(seen, windows, row - 1, lower_left, lower_right, C, D)
    best, place = _better(upper_right, 1, upper_left, tl.zeros([M, D], tl.int8))
    best, place = _better(lower_left, 2, best, place)
    best, place = _better(lower_right, 3, best, place)
    best += tl.load(bias + out)[None, :]
    to = image * half * half * D + at[:, None] * D + out[None, :]
    if DROPS:
        gone = tl.load(chance + to, mask=inside, other=0).to(tl.int32) < dropped
        best, place = tl.where(gone, 0.0, best * factor), tl.where(gone, DROPPED, place)
    tl.store(halved + to, best.to(tl.float16), mask=inside)
    tl.store(places + to, place.to(tl.int8), mask=inside)


@triton.jit
def _sum_bias(gradient, places, sums, number, D: tl.constexpr, M: tl.constexpr):
    """Each program: the gradients of M halved pixels that were not dropped, added up [D]."""
    at = tl.program_id(0).to(tl.int64) * M + tl.arange(0, M)
    out = tl.arange(0, D)
    own = at[:, None] * D + out[None, :]
    inside = (at < number)[:, None]
    place = tl.load(places + own, mask=inside, other=DROPPED)
    slope = tl.load(gradient + own, mask=inside, other=0.0).to(tl.float32)
    tl.store(sums + tl.program_id(0) * D + out, tl.sum(tl.where(place < DROPPED, slope, 0.0), 0))


@triton.jit
def _sum_second(
    features, gradient, places, sums, number, side, C: tl.constexpr, D: tl.constexpr, M: tl.constexpr
):
    """Each program: a part of the gradient of the second weights, as windows [3, 4C, D] for the left or the
    right pixels. In each row of weights an upper pixel sees one row of features, a lower one the next."""
    half, framed = side // 2, side + 2
    right = tl.program_id(1)
    span, out = tl.arange(0, 4 * C), tl.arange(0, D)
    tiles = tl.cdiv(half * half, M)
    zeros = tl.zeros([4 * C, D], tl.float32)
    top, middle, bottom = zeros, zeros, zeros
    for tile in range(tl.program_id(0), number * tiles, tl.num_programs(0)):
        image = (tile // tiles).to(tl.int64)
        at = tile % tiles * M + tl.arange(0, M)
        inside = (at < half * half)[:, None]
        own = image * half * half * D + at[:, None] * D + out[None, :]
        slope = tl.load(gradient + own, mask=inside, other=0.0)
        place = tl.load(places + own, mask=inside, other=DROPPED)
        upper, lower = tl.where(place == right, slope, 0.0), tl.where(place == 2 + right, slope, 0.0)
        corner = (2 * (at // half) * framed + 2 * (at % half)) * C
        line = features + image * framed * framed * C + corner[:, None] + span[None, :]
        first = tl.trans(tl.load(line, mask=inside, other=0.0))
        second = tl.trans(tl.load(line + framed * C, mask=inside, other=0.0))
        third = tl.trans(tl.load(line + 2 * framed * C, mask=inside, other=0.0))
        fourth = tl.trans(tl.load(line + 3 * framed * C, mask=inside, other=0.0))
        top = tl.dot(second, lower, tl.dot(first, upper, top))
        middle = tl.dot(third, lower, tl.dot(second, upper, middle))
        bottom = tl.dot(fourth, lower, tl.dot(third, upper, bottom))
    to = sums + (tl.program_id(0) * 6 + right) * 4 * C * D + span[:, None] * D + out[None, :]
    tl.store(to, top)
    tl.store(to + 8 * C * D, middle)
    tl.store(to + 16 * C * D, bottom)


@triton.jit
def _turned(slope, turns, tap, column, total, C: tl.constexpr, D: tl.constexpr):
    """Adds to gradients of features of two pixels [M, 2C] what a row `tap` of the weights makes of that of a
    pixel [M, D] that they led to, in one of four columns."""
    pair, out = tl.arange(0, 2 * C), tl.arange(0, D)
    weight = tl.load(turns + (tap * 4 + column) * D * 2 * C + out[:, None] * 2 * C + pair[None, :])
    return tl.dot(slope, weight, total)


@triton.jit
def _sum_first(ink, features, total, sums, y, x, inside, side, C: tl.constexpr):
    """Adds to the gradient of the first weights, as windows [3 rows, 4 columns], and of the bias, what
    gradients `total` [M, 2C] of features at (y, x) and (y, x + 1) make of it: [16, 2C], three rows unused."""
    pair, tap = tl.arange(0, 2 * C), tl.arange(0, 16)
    framed = side + 2
    own = features + ((y + 1) * framed + x + 1)[:, None] * C + pair[None, :]
    alive = tl.load(own, mask=inside[:, None], other=0.0) > 0  # nothing is, in the frame
    v, u = y[None, :] + tap[:, None] // 4 - 1, x[None, :] + tap[:, None] % 4 - 1
    near = inside[None, :] & (tap < 12)[:, None] & (v >= 0) & (v < side) & (u >= 0) & (u < side)
    patch = tl.load(ink + v * side + u, mask=near, other=0.0)
    patch = tl.where((tap == 12)[:, None], 1.0, patch)
    return tl.dot(patch, tl.where(alive, total, 0.0), sums, input_precision="tf32")


@triton.jit
def _turn(
    ink, features, turns, gradient, places, sums, side, C: tl.constexpr, D: tl.constexpr, M: tl.constexpr
):
    """Each program: the gradients of the features of 2x2 pixels at each of M places, and what these make of
    the gradient of the first weights.

    The four pixels of a place led to 4x4, and these were halved to 3x3.
    """
    half, framed, blocks = side // 2, side + 2, (side + 1) // 2
    image = tl.program_id(0).to(tl.int64)
    ink += image * side * side
    features += image * framed * framed * C
    gradient += image * half * half * D
    places += image * half * half * D
    at = tl.program_id(1) * M + tl.arange(0, M)
    a, b = at // blocks, at % blocks
    inside = at < blocks * blocks
    out = tl.arange(0, D)
    upper, lower = tl.zeros([M, 2 * C], tl.float32), tl.zeros([M, 2 * C], tl.float32)
    for down in tl.static_range(-1, 2):
        for along in tl.static_range(-1, 2):
            v, u = a + down, b + along
            there = (inside & (v >= 0) & (v < half) & (u >= 0) & (u < half))[:, None]
            own = (v * half + u)[:, None] * D + out[None, :]
            slopes = tl.load(gradient + own, mask=there, other=0.0)
            place = tl.load(places + own, mask=there, other=DROPPED)
            for corner in tl.static_range(4):
                # Which of the 4x4 pixels this is.
                row = 2 * down + corner // 2 + 1
                column = 2 * along + corner % 2 + 1
                if row >= 0 and row < 4 and column >= 0 and column < 4:
                    slope = tl.where(place == corner, slopes, 0.0)
                    if row < 3:
                        upper = _turned(slope, turns, 2 - row, column, upper, C, D)
                    if row > 0:
                        lower = _turned(slope, turns, 3 - row, column, lower, C, D)
    first = tl.zeros([16, 2 * C], tl.float32)
    first = _sum_first(ink, features, upper, first, 2 * a, 2 * b, inside, side, C)
    first = _sum_first(ink, features, lower, first, 2 * a + 1, 2 * b, inside, side, C)
    program = (tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)).to(tl.int64)
    tap, pair = tl.arange(0, 16), tl.arange(0, 2 * C)
    tl.store(sums + program * 32 * C + tap[:, None] * 2 * C + pair[None, :], first)


class InkToHidden(torch.autograd.Function):
    """`linear(dropout(max_pool2d(conv2d(relu(conv2d(ink, first, b)), second), 2) + c), third, d)`, of square
    images and 3x3 weights with padding; `third` reads the channels of a pixel side by side.

    A share of `dropped` in 256 is dropped out. The numbers of channels are powers of two from 16 on. The ink
    itself gets no gradient.
    """

    @staticmethod
    def forward(
        ctx: Any,
        ink: Tensor,
        first: Tensor,
        b: Tensor,
        second: Tensor,
        c: Tensor,
        third: Tensor,
        d: Tensor,
        dropped: int,
    ) -> Tensor:
        ink, third = ink.contiguous(), third.half()
        number, side = len(ink), ink.shape[-1]
        outputs, channels = second.shape[:2]
        half, framed = side // 2, side + 2
        features = ink.new_empty((number, framed, framed, channels), dtype=torch.float16)
        halved = ink.new_empty((number, half * half * outputs), dtype=torch.float16)
        places = torch.empty_like(halved, dtype=torch.int8)
        chance = _bytes(halved) if dropped else places
        keeping = 1 - dropped / BYTE
        if number:
            with torch.cuda.device_of(ink):
                _frame[number, triton.cdiv(framed**2, FRAMED.pixels)](
                    ink, first.contiguous(), b, features, side, C=channels, **FRAMED.options
                )
                _halve[number, triton.cdiv(half**2, HALVED.pixels)](
                    features,
                    _windows(second),
                    c,
                    chance,
                    halved,
                    places,
                    side,
                    dropped,
                    1 / keeping,
                    C=channels,
                    D=outputs,
                    DROPS=dropped > 0,
                    **HALVED.options,
                )
        ctx.save_for_backward(ink, features, second, halved, places, third)
        ctx.keeping = keeping
        return _product(halved, third.T) + d

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """With G the gradient of `hidden`, and H = G third where it was not dropped, at the largest of each
        four pixels and zero at the others:

            third: G' halved,   c: sum of H,   second: features' * H,   first: ink' * F,   b: sum of F,

        F = H * second turned round, where features are positive.
        """
        ink, features, second, halved, places, third = ctx.saved_tensors
        number, side = len(ink), ink.shape[-1]
        outputs, channels = second.shape[:2]
        blocks = ((side + 1) // 2) ** 2
        scale = _scale(gradients[0])
        scaled = (gradients[0] * scale).half()
        gradient = scaled @ third  # of what is halved, and multiplied by `scale` like all that follows
        rows = halved.numel() // outputs
        of_bias = ink.new_empty((triton.cdiv(rows, BIASED.pixels), outputs))
        of_first = ink.new_empty((number * triton.cdiv(blocks, TURNED.pixels), 16, 2 * channels))
        of_second = ink.new_empty((PARTS if number else 0, 3, 2, 4, channels, outputs))
        if number:
            shape: dict[str, Any] = {"C": channels, "D": outputs}
            with torch.cuda.device_of(ink):
                _sum_bias[len(of_bias),](gradient, places, of_bias, rows, D=outputs, **BIASED.options)
                _sum_second[PARTS, 2](
                    features, gradient, places, of_second, number, side, **shape, **SUMMED.options
                )
                _turn[number, triton.cdiv(blocks, TURNED.pixels)](
                    ink, features, _turns(second), gradient, places, of_first, side, **shape, **TURNED.options
                )
        unscale = 1 / (scale * ctx.keeping)
        first = of_first.sum(0) * unscale
        return (
            None,
            _unwound(first[:12].view(3, 4, 2, 1, channels).transpose(1, 2)),
            first[12].view(2, channels).sum(0),
            _unwound(of_second.sum(0) * unscale),
            of_bias.sum(0) * unscale,
            _product(scaled.T, halved).div_(scale),
            gradients[0].sum(0),
            None,
        )


def _bytes(like: Tensor) -> Tensor:
    """Bytes by chance, as many as `like` has numbers: a fraction of the work of as many floats."""
    words = torch.empty(-(-like.numel() // 4), dtype=torch.int32, device=like.device)
    return words.random_(-(2**31), 2**31).view(torch.uint8)


def _product(a: Tensor, b: Tensor) -> Tensor:
    """a b in float32, of numbers in half precision."""
    return torch.mm(a, b, out_dtype=torch.float32) if a.is_cuda else a.float() @ b.float()


def _scale(gradient: Tensor) -> Tensor:
    """The power of two that brings the largest number to half of `LARGEST` or more; where all are next to
    nothing, one that can be divided by."""
    largest = torch.linalg.vector_norm(gradient, torch.inf) if len(gradient) else gradient.new_zeros(())
    return torch.exp2((log2(LARGEST) - largest.log2()).floor().clamp(max=LARGEST_EXPONENT))


def _windows(second: Tensor) -> Tensor:
    """The second weights [output, channel, 3, 3] as windows [row, left or right, 4 columns, channel, output]:
    the left pixel sees the first three columns, the right one the last."""
    outputs, channels = second.shape[:2]
    taps = second.permute(2, 3, 1, 0)
    windows = torch.zeros((3, 2, 4, channels, outputs), dtype=torch.float16, device=second.device)
    windows[:, 0, :3] = taps
    windows[:, 1, 1:] = taps
    return windows


def _unwound(windows: Tensor) -> Tensor:
    """The gradient of weights [output, channel, 3, 3] from that of their windows."""
    return (windows[:, 0, :3] + windows[:, 1, 1:]).permute(3, 2, 0, 1)


def _turns(second: Tensor) -> Tensor:
    """The same from behind, [row, 4 columns, output, left or right, channel]: which weights led from the left
    and the right one of two pixels to a pixel in one of four columns."""
    outputs, channels = second.shape[:2]
    taps = second.flip(3).permute(2, 3, 0, 1)
    turns = torch.zeros((3, 4, outputs, 2, channels), dtype=torch.float16, device=second.device)
    turns[:, :3, :, 0] = taps
    turns[:, 1:, :, 1] = taps
    return turns


def takes(ink: Tensor, share: float) -> bool:
    """Whether the GPU that ink is on has room for the kernels, and bytes can tell a share that is dropped."""
    return room(ink.device) >= ROOM and share < 1 and (share * BYTE).is_integer()
