"""hwf-steps: how many steps of back-search m-BS should take, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ngs.experiments.catalogue.experiment import Cell, Experiment, Means
from ngs.experiments.catalogue.settings import paper_hwf, quick_hwf, seeds
from ngs.experiments.config import TrainHWF
from ngs.experiments.jobs.step_cost import StepCost
from ngs.experiments.jobs.workloads import WalkSteps
from ngs.experiments.results.curves import curves_figure
from ngs.experiments.results.outcome import Outcome, Place, tested
from ngs.experiments.results.section import Section
from ngs.experiments.results.tables import in_percent, rows_of, share

STEPS = (1, 5, 10, 20)
TRAINED, COST = "trained", "cost"
"""The columns: runs, and a step of each timed alone."""


def cells(config: Callable[..., TrainHWF], number: int, cost: StepCost) -> list[Cell]:
    runs = [
        Cell(f"m = {steps}", TRAINED, seeds(config(method="m-bs", walk_steps=steps), number))
        for steps in STEPS
    ]
    return [*runs, Cell("milliseconds a step", COST, (cost,))]


def full(means: Means) -> list[Cell]:
    def config(**settings: Any) -> TrainHWF:
        return paper_hwf(means, steps=1500, validate_every=100, **settings)

    cost = StepCost(WalkSteps(network="paper"), STEPS, ("m-bs",), device=means.device)
    return cells(config, means.seeds, cost)


def quick(means: Means) -> list[Cell]:
    cost = StepCost(WalkSteps(), STEPS, ("m-bs",), rounds=3, warm_up=1, device=means.device)
    return cells(quick_hwf, means.seeds, cost)


def show(outcome: Outcome) -> Section:
    trained = outcome.rows_of(TRAINED)
    seconds = {
        f"m = {row['x']}": row["seconds"]
        for place in outcome.rows_of(COST)
        for run in place.runs
        for row in run.result["costs"]["m-bs"]["measured"]
    }
    text = rows_of(
        ["", "calculation", "symbols", "after 300 steps", "milliseconds a step"],
        [_cells(place, seconds.get(place.row)) for place in trained],
    )
    curves = {place.row + place.mark: place.curve("calculation") for place in trained}
    figure = curves_figure(curves, "right test calculations", scale="log")
    text += "\n\n![Accuracy against training steps, by m]({hwf-steps})"
    return Section(text, {"hwf-steps": figure})


def _cells(place: Place, seconds: float | None) -> list[str]:
    early = place.spread(
        lambda run: next((row["calculation"] for row in run.curve if row["step"] == 300), None)
    )
    shares = [share(place, tested(name)) for name in ("calculation", "symbol")]
    rest = ["" if early is None else in_percent(early), "" if seconds is None else f"{1000 * seconds:.1f}"]
    return [place.row + place.mark, *shares, *rest]


EXPERIMENT = Experiment(
    "hwf-steps",
    "Handwritten formulas: steps of back-search",
    "The paper's `fig_HME_m_BS`: m-BS with m steps, its settings, but 1,500 iterations, enough to see how "
    "fast each of them learns. The paper finds that more steps make learning faster; here the differences "
    "are within the spread of the seeds. The milliseconds are those of a training step on formulas of "
    "length 7, waited for, while nothing else runs; at the commits named below such a step was not recorded "
    "as a whole yet. Now it is, here and in runs ([learning](learning.md#the-loop)): in `hwf-curves` three "
    "runs with m = 5 that shared a GPU, none of their steps waited for, made one in 3 ms each.",
    ("hwf",),
    full,
    quick,
    show,
)
