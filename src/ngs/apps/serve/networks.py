"""The networks that all visitors share: what a run learned, and a weak one for those who want to teach it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from ngs.apps.serve.weakening import symbols_read, weakened
from ngs.experiments.config import read_facts
from ngs.experiments.folder import RESULT
from ngs.experiments.hwf import load_network

TRAINED, WEAK = "trained", "weak"
"""The names that a request chooses a network by."""


@dataclass(frozen=True, eq=False)
class Shared:
    """A network in eval mode that many threads read at once. It is never changed: who learns has a copy."""

    network: nn.Module
    symbols: float
    """the share of made-up handwritten symbols that it reads rightly"""
    accuracy: float | None = None
    """the share of formulas it gave the right answer for, where the run measured it"""


class Networks(Mapping[str, nn.Module | None]):
    """Networks by name, None while there is none."""

    def __init__(self) -> None:
        self._shared: Mapping[str, Shared | None] = {TRAINED: None, WEAK: None}

    def __getitem__(self, name: str) -> nn.Module | None:
        shared = self.shared(name)
        return None if shared is None else shared.network

    def __iter__(self) -> Iterator[str]:
        return iter(self._shared)

    def __len__(self) -> int:
        return len(self._shared)

    def shared(self, name: str) -> Shared | None:
        """A network with how good it is."""
        return self._shared[name]

    def load(self, run: Path) -> None:
        """Take the network of a run of `ngs train hwf`."""
        trained = load_network(run)
        weak = weakened(trained)
        self._shared = {  # at once: other threads see all of a run, or nothing
            TRAINED: Shared(trained, symbols_read(trained), _tested(run)),
            WEAK: Shared(weak, symbols_read(weak)),
        }


def _tested(run: Path) -> float | None:
    if not (run / RESULT).exists():
        return None
    return float(read_facts(run / RESULT)["test"]["calculation"])
