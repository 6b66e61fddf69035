"""hwf-long: formulas of up to 31 symbols, read by networks that were trained on much shorter ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ngs.experiments.catalogue.experiment import Cell, Experiment, Means
from ngs.experiments.catalogue.settings import our_hwf, quick_hwf
from ngs.experiments.comparison import Spread
from ngs.experiments.config import TrainHWF
from ngs.experiments.job import Job, Trained
from ngs.experiments.jobs.long_test import LongTest
from ngs.experiments.results.outcome import Outcome, Place, Run, tested
from ngs.experiments.results.tables import Section, in_percent, plain, rows_of, share

LENGTHS = (7, 9, 11, 15, 19, 23, 27, 31)
TRAINED, READ = "trained", "read"
"""The columns: the run itself, and what it makes of longer formulas."""


def cells(configs: dict[str, TrainHWF], number: int, formulas: int) -> list[Cell]:
    def both(row: str, config: TrainHWF) -> Iterator[Cell]:
        runs = [replace(config, seed=seed) for seed in range(number)]
        yield Cell(row, TRAINED, tuple(map(Trained, runs)))
        tests: list[Job] = [LongTest(run, LENGTHS, formulas) for run in runs]
        yield Cell(row, READ, tuple(tests))

    return [cell for row, config in configs.items() for cell in both(row, config)]


def _configs(config: Callable[..., TrainHWF]) -> dict[str, TrainHWF]:
    return {
        "up to 7, posterior": config(),
        "up to 15, m-BS": config(longest=15, method="m-bs"),
        "up to 19, m-BS": config(longest=19, method="m-bs"),
    }


def full(means: Means) -> list[Cell]:
    def config(**settings: Any) -> TrainHWF:
        return our_hwf(means.hwf, steps=1000, **settings)

    return cells(_configs(config), means.seeds, formulas=1000)


def quick(means: Means) -> list[Cell]:
    return cells(_configs(quick_hwf), means.seeds, formulas=50)


def show(outcome: Outcome) -> Section:
    head = ["formulas", "their test: calculation", "symbols", "seconds an epoch"]
    parts = ["**Trained**\n\n" + rows_of(head, list(map(_trained, outcome.rows_of(TRAINED))))]
    for place in outcome.rows_of(READ):
        if place.runs:
            parts.append(f"**Trained on formulas of {place.row}, reading new ones**\n\n{_read(place)}")
    return Section("\n\n".join(parts))


def _trained(place: Place) -> list[str]:
    def epoch(run: Run) -> float:
        seconds: float = run.result["training_seconds"]
        return seconds / float(run.result["epochs"])

    texts = [share(place, tested(name)) for name in ("calculation", "symbol")]
    seconds = place.spread(epoch)
    texts.append("" if seconds is None else plain(seconds))
    return [place.row + place.mark, *texts]


def _read(place: Place) -> str:
    """Mean and spread over the runs, by length."""
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
    "Networks trained on HWF (up to 7 symbols), or on new formulas of up to 15 and 19 symbols written with "
    "its training images, read new formulas written with its test images: 1,000 of each length. *As the "
    "symbols predict* is the share of right symbols to the power of the length. Seconds an epoch are those "
    "of the runs as they ran, other runs beside them; how time and memory grow with the length is under "
    "`cost`.",
    ("hwf",),
    full,
    quick,
    show,
)
