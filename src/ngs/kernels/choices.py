"""How a decoder on a GPU chooses the next symbol: among what is legal, by chance or the likeliest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton
from torch import Tensor
from triton import language as tl


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


@dataclass(frozen=True)
class Choice:
    """How the next module is chosen."""

    function: Any
    """`drawn` or `likeliest`"""
    guide: Tensor
    """what the function looks at"""


def sampling(rows: Tensor, time: int, symbols: int, generator: torch.Generator) -> Choice:
    """From p(z|x)."""
    noise = torch.empty((time, len(rows), symbols), device=rows.device)
    return Choice(drawn, noise.exponential_(generator=generator))


def greedy(rows: Tensor) -> Choice:
    """The most likely module at each step."""
    return Choice(likeliest, rows)
