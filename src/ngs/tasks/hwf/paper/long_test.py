"""How a trained network reads formulas longer than any it was trained on.

Each symbol is read by itself, so a longer formula is no harder to look at: it has more places for a mistake.
With a share s of symbols right, were mistakes independent and each of them the end of the answer, a share s^n
of the formulas of n symbols would come out right. Mistakes that do not matter (in 0 times something) make it
more; symbols of which some are read worse than others make it less, because a mean hides them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import nn

from ngs.errors import NGSError
from ngs.learning.metrics import measure
from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.reasoner import reasoner
from ngs.tasks.hwf.composition import written
from ngs.tasks.hwf.dataset import GRAMMAR, HandwrittenFormulas
from ngs.tasks.hwf.modular_arithmetic import modular_judge
from ngs.tasks.hwf.packed import load
from ngs.tasks.hwf.preparation import load_network
from ngs.tasks.results.job import Job, Measurement, Measuring, Progress, Trained


@dataclass(frozen=True)
class LongTest(Measurement):
    """New formulas of each length, written with the test images of a run's data, read by its network."""

    run: Trained
    """of handwritten formulas"""
    lengths: tuple[int, ...] = (7, 11, 15, 19, 23, 27, 31)
    formulas: int = 500
    """of each length"""

    def __post_init__(self) -> None:
        if not self.lengths or self.formulas < 1:
            raise NGSError(
                f"{self.formulas} formulas of each of the lengths {self.lengths} were asked for; ask for at "
                f"least one formula and one length"
            )

    @property
    def facts(self) -> dict[str, Any]:
        own = {"lengths": list(self.lengths), "formulas": self.formulas}
        return {"job": "long-test", "version": 1, "run": self.run.facts, **own}

    @property
    def needs(self) -> tuple[Job, ...]:
        return (self.run,)

    @property
    def runs_on(self) -> str:
        return str(Accelerator().device)

    def measure(self, folder: Path, needed: Sequence[Path]) -> Measuring:
        (run,) = needed
        device = Accelerator().device
        network, data = load_network(run).to(device), load(self.run.settings.data)
        by_length: dict[str, dict[str, Any]] = {}
        for done, length in enumerate(self.lengths, 1):
            by_length[str(length)] = row = self._read(network, data, length, device)
            yield Progress(done, len(self.lengths), {"length": length, **row})
        return {"data": data.name, "digest": data.digest, "by_length": by_length}

    def _read(
        self, network: nn.Module, data: HandwrittenFormulas, length: int, device: torch.device
    ) -> dict[str, Any]:
        formulas = written(data, data.test, {length: 1}, self.formulas, f"long test {length}")
        examples = data.examples(formulas).to(device)
        score = measure(network, reasoner(GRAMMAR, Arithmetic, examples, judge=modular_judge)).total
        assert score.symbol is not None  # the formulas were written here: the labels are known
        return {**score.as_facts(), "predicted": score.symbol**length}
