"""Training steps on formulas that grow: longer ones, more of them, or more steps of back-search."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import torch

from ngs.networks.lenet import NETWORKS
from ngs.tasks.costs.step_cost import StepCost
from ngs.tasks.costs.workloads import BATCHES, STILL, Work, Workload, training_steps
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.preparation import reasoner_of
from ngs.tasks.hwf.settings import TrainHWF

LEARNING = ("supervised", "m-bs", "posterior")
WALKING = ("supervised", "m-bs")


class OnFormulas(Workload):
    """Training steps on formulas that all have one length."""

    def at(self, value: int, methods: Sequence[str], steps: int, device: torch.device) -> Work:
        given = self.settings(value)
        length = given.pop("length")
        config = TrainHWF(learning_rate=STILL, **given)
        data = embedded(train=BATCHES * config.batch_size, test=1, lengths={length: 1})
        reasoner = reasoner_of(data.examples(data.train).to(device))
        makers = {method: replace(config, method=method).make_method() for method in methods}
        make = partial(NETWORKS[config.network], len(GRAMMAR.symbols))
        return value, training_steps(makers, reasoner, make, config.settings, steps)


@dataclass(frozen=True)
class FormulaLength(OnFormulas):
    unit: ClassVar[str] = "symbols of a formula"
    grows: ClassVar[str] = "length"

    batch_size: int = 64
    network: str = "small"


@dataclass(frozen=True)
class BatchSize(OnFormulas):
    unit: ClassVar[str] = "formulas in a step"
    grows: ClassVar[str] = "batch_size"

    length: int = 7
    network: str = "small"


@dataclass(frozen=True)
class WalkSteps(OnFormulas):
    unit: ClassVar[str] = "steps of back-search"
    grows: ClassVar[str] = "walk_steps"

    batch_size: int = 64
    length: int = 7
    network: str = "small"


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
