"""Training steps on questions whose programs grow."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import torch

from ngs.errors import NGSError
from ngs.networks.pointer import SIZES, PointerNetwork
from ngs.tasks.clevr.examples import Part
from ngs.tasks.clevr.language import LANGUAGES
from ngs.tasks.clevr.packed import load
from ngs.tasks.clevr.preparation import tables_of
from ngs.tasks.clevr.program import MODULES
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.costs.step_cost import StepCost
from ngs.tasks.costs.workloads import BATCHES, STILL, Work, Workload, training_steps

METHODS = ("supervised", "1-bs", "posterior")


@dataclass(frozen=True)
class ProgramLength(Workload):
    """Training steps on embedded questions whose programs all have one number of modules."""

    unit: ClassVar[str] = "modules of a program"

    batch_size: int = 64
    network: str = "small"

    def at(self, value: int, methods: Sequence[str], steps: int, device: torch.device) -> Work:
        config = TrainCLEVR(network=self.network, batch_size=self.batch_size, learning_rate=STILL)
        data = load(config.data)
        numbers = (data.train.modules.lengths == value).nonzero().flatten()[: BATCHES * self.batch_size]
        tables = tables_of(config, data, device)
        part = Part.of(data.train.select(numbers), tables, LANGUAGES[config.grammar]())
        if len(part.examples) < self.batch_size:
            raise NGSError(
                f"{len(part.examples)} of the {data.name} questions have programs of {value} modules, and a "
                f"step needs {self.batch_size}; give another length, or a smaller batch"
            )
        makers = {method: replace(config, method=method).make_method() for method in methods}
        reasoner = part.reasoner(config.edits, config.effort)
        make = partial(PointerNetwork, len(part.questions.vocabulary), len(MODULES), size=SIZES[self.network])
        return value, training_steps(makers, reasoner, make, config.settings, steps)


FULL = {"program modules": StepCost(ProgramLength(), (5, 8, 11, 14), METHODS)}
QUICK = {"program modules": StepCost(ProgramLength(batch_size=16), (5, 8), METHODS, 3, 1)}
"""Of three steps, after one that is not timed."""
