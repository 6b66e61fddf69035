"""hwf-steps: how many steps of back-search m-BS should take, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ngs.experiments.catalogue.experiment import Cell, Experiment, Means
from ngs.experiments.catalogue.settings import paper_hwf, quick_hwf, seeds
from ngs.experiments.config import TrainHWF
from ngs.experiments.results.curves import curves_figure, together
from ngs.experiments.results.outcome import Outcome, Place, seconds_per_step, tested
from ngs.experiments.results.section import Section
from ngs.experiments.results.tables import in_percent, plain

STEPS = (1, 5, 10, 20)


def cells(config: Callable[..., TrainHWF], number: int) -> list[Cell]:
    return [
        Cell(f"m = {steps}", "m-BS", seeds(config(method="m-bs", walk_steps=steps), number))
        for steps in STEPS
    ]


def full(means: Means) -> list[Cell]:
    def config(**settings: Any) -> TrainHWF:
        return paper_hwf(means, steps=1500, validate_every=100, **settings)

    return cells(config, means.seeds)


def quick(means: Means) -> list[Cell]:
    return cells(quick_hwf, means.seeds)


def show(outcome: Outcome) -> Section:
    lines = [
        "| | calculation | symbols | after 300 steps | milliseconds a step |",
        "|---|---|---|---|---|",
        *map(_line, outcome.places),
    ]
    curves = {
        place.row: together([{row["step"]: row["calculation"] for row in run.curve} for run in place.runs])
        for place in outcome.places
    }
    figure = curves_figure(curves, "right test calculations", scale="log")
    text = "\n".join(lines) + "\n\n![Accuracy against training steps, by m]({hwf-steps})"
    return Section(text, {"hwf-steps": figure})


def _line(place: Place) -> str:
    calculation, symbols = place.spread(tested("calculation")), place.spread(tested("symbol"))
    early = place.spread(
        lambda run: next((row["calculation"] for row in run.curve if row["step"] == 300), None)
    )
    milliseconds = place.spread(lambda run: 1000 * seconds_per_step(run))
    shares = ["not run yet" if each is None else in_percent(each) for each in (calculation, symbols)]
    rest = ["" if early is None else in_percent(early), "" if milliseconds is None else plain(milliseconds)]
    return f"| {' | '.join([place.row, *shares, *rest])} |"


EXPERIMENT = Experiment(
    "hwf-steps",
    "Handwritten formulas: steps of back-search",
    "The paper's `fig_HME_m_BS`: m-BS with m steps, its settings, 1,500 iterations. The milliseconds are "
    "those of a run as it was done, whatever else the machine did; compare them with each other.",
    ("hwf",),
    full,
    quick,
    show,
)
