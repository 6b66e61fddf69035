"""cost: how time and memory of a step grow with formulas, batches, grammars and programs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ngs.tasks.costs.step_cost import StepCost
from ngs.tasks.costs.workloads import Digits, PrecedenceLevels
from ngs.tasks.finding import every
from ngs.tasks.results.experiment import Cell, Experiment, Means
from ngs.tasks.results.outcome import Outcome, Place
from ngs.tasks.results.tables import Section, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARSING = ("best", "log_partition")
FULL = {
    "levels of precedence": StepCost(PrecedenceLevels(), (2, 4, 8, 16), PARSING),
    "digits": StepCost(Digits(), (10, 20, 40, 80), PARSING),
}
QUICK = {row: replace(cost, values=cost.values[:2], rounds=3, warm_up=1) for row, cost in FULL.items()}


def _cells(means: Means, quick: bool) -> list[Cell]:
    costs = dict(QUICK if quick else FULL)
    for task in every():
        costs |= task.costs(quick=quick)
    device = means.device
    return [Cell(row, device, (replace(cost, device=device),)) for row, cost in costs.items()]


def show(outcome: Outcome) -> Section:
    head = ["growing", "method", "from, to", "seconds", "exponent of seconds", "MB", "exponent of MB"]
    text = rows_of(head, [cells for place in outcome.places for cells in _rows(place)])
    name = outcome.experiment
    return Section(f"{text}\n\n![Seconds of a step against size]({{{name}}})", {name: _figure(outcome)})


def _rows(place: Place) -> list[list[str]]:
    if not place.runs:
        return [[place.row, "not run yet", "", "", "", "", ""]]
    result = place.runs[0].result
    return [[place.row, *_cost(method, cost, result["unit"])] for method, cost in result["costs"].items()]


def _cost(method: str, cost: dict[str, Any], unit: str) -> list[str]:
    (first, *_, last), laws = cost["measured"], cost["exponents"]
    return [
        method,
        f"{first['x']} to {last['x']} {unit}",
        f"{first['seconds']:.4f} to {last['seconds']:.4f}",
        _exponent(laws["seconds"]),
        f"{first['memory_mb']:.1f} to {last['memory_mb']:.1f}",
        _exponent(laws["memory_mb"]),
    ]


def _exponent(law: dict[str, Any] | None) -> str:
    if law is None:
        return ""
    error = law["standard_error"]
    return f"{law['exponent']:.2f}" + ("" if error is None else f" ± {error:.2f}")


def _figure(outcome: Outcome) -> Figure:
    from matplotlib.figure import Figure  # here: it is slow to import, and most commands draw nothing
    from matplotlib.ticker import NullLocator

    rows = (len(outcome.places) + 2) // 3
    figure = Figure(figsize=(9, 2.6 * rows), layout="constrained")
    for number, place in enumerate(outcome.places, 1):
        axes = figure.add_subplot(rows, 3, number, xscale="log", yscale="log", ylabel="seconds")
        axes.set_title(place.row, fontsize="medium")
        for run in place.runs:
            for method, cost in run.result["costs"].items():
                points = [(row["x"], row["seconds"]) for row in cost["measured"]]
                axes.plot(*zip(*points, strict=True), marker=".", label=method)
                axes.set_xticks([x for x, _ in points], [str(x) for x, _ in points])
            axes.xaxis.set_minor_locator(NullLocator())  # powers of ten would overlap the sizes
            axes.set_xlabel(run.result["unit"])
            axes.legend(fontsize="x-small")
    return figure


EXPERIMENT = Experiment(
    "cost",
    "What a step costs",
    (),
    partial(_cells, quick=False),
    partial(_cells, quick=True),
    show,
    in_paper=False,
)
