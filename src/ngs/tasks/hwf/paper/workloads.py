"""Training steps on formulas that grow: longer ones, more of them, or more steps of back-search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch

from ngs.learning.loop import Settings
from ngs.learning.methods import METHODS, MakeMethod, multi_step
from ngs.networks.lenet import NETWORKS
from ngs.search.back_search import ChainSettings
from ngs.tasks.costs.step_cost import StepCost
from ngs.tasks.costs.timed_steps import training_steps
from ngs.tasks.costs.workloads import BATCHES, STILL, Work, Workload
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.preparation import reasoner_of

LEARNING = ("supervised", "m-bs", "posterior")
WALKING = ("supervised", "m-bs")


class OnFormulas(Workload):
    """Training steps on formulas that all have one length."""

    def at(self, value: int, methods: Sequence[str], steps: int, device: torch.device) -> Work:
        given = self.settings(value)
        batch_size = given["batch_size"]
        data = embedded(train=BATCHES * batch_size, test=1, lengths={given["length"]: 1})
        reasoner = reasoner_of(data.examples(data.train).to(device))
        make = partial(NETWORKS[given["network"]], len(GRAMMAR.symbols))
        settings = Settings(batch_size, learning_rate=STILL)
        makers = {name: self.method(name, value) for name in methods}
        return value, training_steps(makers, reasoner, make, settings, steps)

    def method(self, name: str, value: int) -> MakeMethod:
        return METHODS[name]


@dataclass(frozen=True)
class FormulaLength(OnFormulas):
    """Longer formulas."""

    unit: ClassVar[str] = "symbols of a formula"
    grows: ClassVar[str] = "length"

    batch_size: int = 64
    network: str = "small"


@dataclass(frozen=True)
class BatchSize(OnFormulas):
    """More formulas."""

    unit: ClassVar[str] = "formulas in a step"
    grows: ClassVar[str] = "batch_size"

    length: int = 7
    network: str = "small"


@dataclass(frozen=True)
class WalkSteps(OnFormulas):
    """More steps of back-search, by m-BS."""

    unit: ClassVar[str] = "steps of back-search"
    grows: ClassVar[str] = "walk_steps"
    known_methods: ClassVar[Sequence[str]] = ("m-bs",)

    batch_size: int = 64
    length: int = 7
    network: str = "small"

    def method(self, name: str, value: int) -> MakeMethod:
        return multi_step(ChainSettings(steps=value))


FULL = {
    "formula length, by tables": StepCost(FormulaLength(), (1, 3, 5, 7), LEARNING),
    "formula length, beyond tables": StepCost(FormulaLength(), (11, 15, 19, 23, 27, 31), WALKING),
    "batch size": StepCost(BatchSize(), (16, 32, 64, 128, 256, 512), LEARNING),
}
QUICK = {
    "formula length, by tables": StepCost(FormulaLength(), (3, 5), LEARNING, 3, 1),
    "formula length, beyond tables": StepCost(FormulaLength(batch_size=16), (11, 15), WALKING, 3, 1),
    "batch size": StepCost(BatchSize(length=3), (16, 64), LEARNING, 3, 1),
}
"""Of three steps, after one that is not timed."""
