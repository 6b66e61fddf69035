"""A network that has forgotten half of what it knew: noise on its weights.

What a run's first validation leaves may be weak or not: after 50 steps, one method gives 45% of the right
answers and another 94%. An untrained network comes to an answer by wrong formulas. One that was good a moment
ago misreads much, and a few steps bring it back.
"""

from __future__ import annotations

from copy import deepcopy
from itertools import count

import torch
from torch import Tensor, nn

from ngs.apps.serve.learning import familiar
from ngs.tasks.hwf.dataset import GRAMMAR

HALF = 0.55
"""The share of made-up symbols that a weak network reads, at most."""
LEAST_NOISE, MORE_NOISE = 0.5, 0.1
"""In standard deviations of the weights of a layer."""


@torch.no_grad()
def weakened(network: nn.Module) -> nn.Module:
    """A copy with just enough noise that it reads about half of the symbols; always the same."""
    copies = (_with_noise(network, LEAST_NOISE + MORE_NOISE * step) for step in count())
    return next(copy for copy in copies if symbols_read(copy) <= HALF)


@torch.no_grad()
def symbols_read(network: nn.Module) -> float:
    """The share of some made-up symbols that a network reads rightly."""
    count = len(GRAMMAR.symbols)
    read: Tensor = network(familiar()).argmax(-1)
    right = read == torch.arange(count).repeat(len(read) // count)
    return int(right.sum()) / len(right)


def _with_noise(network: nn.Module, deviations: float) -> nn.Module:
    copy, generator = deepcopy(network), torch.Generator().manual_seed(0)
    for weights in copy.parameters():
        if weights.dim() > 1:  # not of norms and biases: these are few, and hard to learn back
            noise = torch.randn(weights.shape, generator=generator)
            weights.add_(deviations * weights.std() * noise)
    return copy
