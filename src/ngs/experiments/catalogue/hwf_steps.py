"""hwf-steps: how many steps of back-search m-BS should take, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ngs.experiments.catalogue.experiment import Cell, Experiment, Means
from ngs.experiments.catalogue.settings import paper_hwf, quick_hwf, seeds
from ngs.experiments.config import TrainHWF
from ngs.experiments.jobs.step_cost import StepCost
from ngs.experiments.jobs.workloads import WalkSteps
from ngs.experiments.results.curves import curves_figure
from ngs.experiments.results.outcome import Outcome, Place, tested
from ngs.experiments.results.section import Section
from ngs.experiments.results.tables import in_percent, rows_of, share

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS = (1, 5, 10, 20)
BEGINNING, WHOLE, COST = "beginning", "whole", "cost"
"""The columns: runs that end soon and are tested often, runs with the paper's iterations, and steps timed
alone."""
Settings = Callable[..., TrainHWF]


def cells(beginning: Settings, whole: Settings, number: int, cost: StepCost) -> list[Cell]:
    runs = [
        Cell(f"m = {steps}", column, seeds(config(method="m-bs", walk_steps=steps), number))
        for column, config in ((BEGINNING, beginning), (WHOLE, whole))
        for steps in STEPS
    ]
    return [*runs, Cell("milliseconds a step", COST, (cost,))]


def full(means: Means) -> list[Cell]:
    beginning = partial(paper_hwf, means, steps=1500, validate_every=100)
    whole = partial(paper_hwf, means, steps=100_000, validate_every=2500)  # m = 5: a line of hwf-curves
    cost = StepCost(WalkSteps(network="paper"), STEPS, ("m-bs",), device=means.device)
    return cells(beginning, whole, means.seeds, cost)


def quick(means: Means) -> list[Cell]:
    cost = StepCost(WalkSteps(), STEPS, ("m-bs",), rounds=3, warm_up=1, device=means.device)
    return cells(partial(quick_hwf, steps=50), quick_hwf, means.seeds, cost)


def show(outcome: Outcome) -> Section:
    seconds = {
        f"m = {row['x']}": row["seconds"]
        for place in outcome.rows_of(COST)
        for run in place.runs
        for row in run.result["costs"]["m-bs"]["measured"]
    }
    head = [
        "",
        "calculation",
        "symbols",
        "soon stopped: calculation",
        "after 300 steps",
        "milliseconds a step",
    ]
    places = zip(outcome.rows_of(WHOLE), outcome.rows_of(BEGINNING), strict=True)
    text = rows_of(head, [_cells(*pair, seconds.get(pair[0].row)) for pair in places])
    figures = {f"{outcome.experiment}-{column}": _figure(outcome, column) for column in (BEGINNING, WHOLE)}
    pictures = [f"![Accuracy against training steps, by m]({{{name}}})" for name in figures]
    return Section("\n\n".join([text, *pictures]), figures)


def _cells(whole: Place, beginning: Place, seconds: float | None) -> list[str]:
    early = beginning.spread(
        lambda run: next((row["calculation"] for row in run.curve if row["step"] == 300), None)
    )
    return [
        whole.row + whole.mark,
        *(share(whole, tested(name)) for name in ("calculation", "symbol")),
        share(beginning, tested("calculation")) + beginning.mark,
        "" if early is None else in_percent(early),
        "" if seconds is None else f"{1000 * seconds:.1f}",
    ]


def _figure(outcome: Outcome, column: str) -> Figure:
    curves = {place.row + place.mark: place.curve("calculation") for place in outcome.rows_of(column)}
    return curves_figure(curves, "right test calculations", scale="log")


EXPERIMENT = Experiment(
    "hwf-steps",
    "Handwritten formulas: steps of back-search",
    "The paper's `fig_HME_m_BS`: m-BS with m steps, its settings, for 100,000 iterations; and for 1,500, "
    "tested more often, to see how soon each of them learns. The paper finds that more steps make learning "
    "faster; here the differences are within the spread of the seeds. The milliseconds are those of a "
    "training step on formulas of length 7, waited for, while nothing else runs.",
    ("hwf",),
    full,
    quick,
    show,
)
