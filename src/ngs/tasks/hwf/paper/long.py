"""hwf-long: formulas of up to 31 symbols, read by networks that were trained on much shorter ones.

A longer formula has more places for a mistake. If a share s of the symbols is right, mistakes are independent
and each spoils the answer, then a share s^n of the formulas of n symbols is right. But some mistakes do not
matter (in 0 times something), and some symbols are read worse than others, which a mean hides.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import nn

from ngs.learning.metrics import measure
from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.reasoner import reasoner
from ngs.tasks.hwf.composition import written
from ngs.tasks.hwf.dataset import GRAMMAR, HandwrittenFormulas
from ngs.tasks.hwf.integer_judge import integer_judge
from ngs.tasks.hwf.packed import load
from ngs.tasks.hwf.paper.settings import ours, small
from ngs.tasks.hwf.preparation import load_network
from ngs.tasks.hwf.settings import SHARES, TrainHWF
from ngs.tasks.hwf.trainable import FORMULAS
from ngs.tasks.results.experiment import Cell, Experiment, Rows, seeds
from ngs.tasks.results.job import Job, Measurement, Measuring, Progress, Trained
from ngs.tasks.results.outcome import Outcome, Place, Spread
from ngs.tasks.results.tables import Section, in_percent, plain, rows_of, share


@dataclass(frozen=True)
class LongTest(Measurement):
    """New formulas of each length, written with the test images of a run's data, read by its network."""

    run: Trained
    lengths: tuple[int, ...]
    formulas: int

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
        score = measure(network, reasoner(GRAMMAR, Arithmetic, examples, judge=integer_judge)).total
        assert score.symbol is not None  # the formulas were written here: the labels are known
        return {**score.as_facts(SHARES), "predicted": score.symbol**length}


LENGTHS = (7, 9, 11, 15, 19, 23, 27, 31)
TRAINED, READ = "trained", "read"  # the columns: the run itself, and what it makes of longer formulas


ROWS: Rows = {
    "up to 7, posterior": {},
    "up to 15, m-BS": {"longest": 15, "method": "m-bs"},
    "up to 19, m-BS": {"longest": 19, "method": "m-bs"},
}


def cells(config: Callable[..., TrainHWF], number: int, formulas: int) -> list[Cell]:
    both = []
    for row, settings in ROWS.items():
        runs = seeds("hwf", config(**settings), number)
        tests = tuple(LongTest(run, LENGTHS, formulas) for run in runs)
        both += [Cell(row, TRAINED, runs), Cell(row, READ, tests)]
    return both


def show(outcome: Outcome) -> Section:
    head = ["formulas", "their test: calculation", "symbols", "seconds an epoch"]
    parts = ["**Trained**\n\n" + rows_of(head, list(map(_trained, outcome.rows_of(TRAINED))))]
    for place in outcome.rows_of(READ):
        if place.runs:
            parts.append(f"**Trained on formulas of {place.row}, reading new ones**\n\n{_read(place)}")
    return Section("\n\n".join(parts))


def _trained(place: Place) -> list[str]:
    texts = [share(place, name) for name in ("calculation", "symbol")]
    seconds = place.spread(lambda run: float(run.result["training_seconds"] / run.result["epochs"]))
    texts.append("" if seconds is None else plain(seconds, 1))
    return [place.row + place.mark, *texts]


def _read(place: Place) -> str:
    lengths = list(place.runs[0].result["by_length"])

    def of(name: str, length: str) -> str:
        values: list[float] = [run.result["by_length"][length][name] for run in place.runs]
        return in_percent(Spread.of(values))

    named = {
        "symbols right": "symbol",
        "calculations right": "calculation",
        "as the symbols predict": "predicted",
        "read without mistake": "formula",
    }
    rows = [[title, *(of(name, n) for n in lengths)] for title, name in named.items()]
    return rows_of(["length", *lengths], rows)


EXPERIMENT = Experiment(
    "hwf-long",
    "Handwritten formulas: beyond length 7",
    (FORMULAS,),
    lambda means: cells(partial(ours, data=means.path(FORMULAS), steps=1000), means.seeds, formulas=1000),
    lambda means: cells(small, means.seeds, formulas=50),
    show,
    in_paper=False,
)
