"""hwf-long: formulas of up to 31 symbols, read by networks that were trained on much shorter ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ngs.tasks.hwf.paper.long_test import LongTest
from ngs.tasks.hwf.paper.settings import ours, small
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.hwf.trainable import FORMULAS
from ngs.tasks.results.experiment import Cell, Experiment, Means, Rows, seeds
from ngs.tasks.results.outcome import Outcome, Place, Spread
from ngs.tasks.results.tables import Section, in_percent, plain, rows_of, share

LENGTHS = (7, 9, 11, 15, 19, 23, 27, 31)
TRAINED, READ = "trained", "read"
"""The columns: the run itself, and what it makes of longer formulas."""


ROWS: Rows = {
    "up to 7, posterior": {},
    "up to 15, m-BS": {"longest": 15, "method": "m-bs"},
    "up to 19, m-BS": {"longest": 19, "method": "m-bs"},
}


def cells(config: Callable[..., TrainHWF], number: int, formulas: int) -> list[Cell]:
    both = []
    for row, settings in ROWS.items():
        runs = seeds("hwf", config(**settings), number)
        both.append(Cell(row, TRAINED, runs))
        tests = (LongTest(run, LENGTHS, formulas) for run in runs)
        both.append(Cell(row, READ, tuple(tests)))
    return both


def full(means: Means) -> list[Cell]:
    return cells(partial(ours, data=means.path(FORMULAS), steps=1000), means.seeds, formulas=1000)


def quick(means: Means) -> list[Cell]:
    return cells(small, means.seeds, formulas=50)


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
    (FORMULAS,),
    full,
    quick,
    show,
    in_paper=False,
)
