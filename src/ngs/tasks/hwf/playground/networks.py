"""The networks that all visitors share: what a run learned, and a weak one for those who want to teach it.

The weak one is the trained one with noise on its weights: it misreads much, and a few steps bring it back. An
untrained network would get answers by wrong formulas, and an early one of the run may be good already: after
50 steps, one method gives 45% of the right answers and another 94%.
"""

from copy import deepcopy
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import torch
from torch import Tensor, nn

from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.playground.learning import familiar
from ngs.tasks.hwf.preparation import load_network
from ngs.tasks.run_folder import RESULT, read_facts

TRAINED, WEAK = "trained", "weak"
HALF = 0.55  # the share of made-up symbols that a weak network reads, at most
LEAST_NOISE, MORE_NOISE = 0.5, 0.1  # in standard deviations of the weights of a layer


@dataclass(frozen=True, eq=False)
class Shared:
    """A network in eval mode that many threads read at once. It is never changed: who learns has a copy."""

    network: nn.Module
    symbols: float  # the share of made-up handwritten symbols that it reads correctly
    accuracy: float | None = None
    """the share of formulas it gave the right answer for, where the run measured it"""


class Networks(dict[str, Shared | None]):
    """Networks by name, None while there is none."""

    def __init__(self) -> None:
        super().__init__({TRAINED: None, WEAK: None})

    def load(self, run: Path) -> None:
        trained = load_network(run)
        weak = weakened(trained)
        tested = read_facts(run / RESULT)["test"] if (run / RESULT).exists() else {}
        found = {
            TRAINED: Shared(trained, symbols_read(trained), tested.get("calculation")),
            WEAK: Shared(weak, symbols_read(weak)),
        }
        self.update(found)  # at once: other threads see all of a run, or nothing


@torch.no_grad()
def weakened(network: nn.Module) -> nn.Module:
    """A copy with just enough noise that it reads about half of the symbols; always the same."""
    copies = (_with_noise(network, LEAST_NOISE + MORE_NOISE * step) for step in count())
    return next(copy for copy in copies if symbols_read(copy) <= HALF)


@torch.no_grad()
def symbols_read(network: nn.Module) -> float:
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
