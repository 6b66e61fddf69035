"""hwf-steps: how many steps of back-search m-BS should take, and what they cost."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ngs.tasks.costs.step_cost import StepCost
from ngs.tasks.hwf.paper.settings import paper, small
from ngs.tasks.hwf.paper.workloads import WalkSteps
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.hwf.trainable import FORMULAS
from ngs.tasks.results.curves import Curve, curves_figure
from ngs.tasks.results.experiment import Cell, Experiment, Means, Rows, grid
from ngs.tasks.results.outcome import Outcome, Place
from ngs.tasks.results.tables import Section, in_percent, rows_of, share

STEPS = (1, 5, 10, 20)
BEGINNING, WHOLE, COST = "beginning", "whole", "cost"
"""The columns: runs that end soon and are tested often, runs with the paper's iterations, and steps timed
alone."""
AFTER, QUICKLY_AFTER = (200, 300), (25, 75)  # steps after which the runs that are tested often are looked at


def cells(config: Callable[..., TrainHWF], columns: Rows, means: Means, cost: StepCost) -> list[Cell]:
    rows: Rows = {f"m = {steps}": {"method": "m-bs", "walk_steps": steps} for steps in STEPS}
    runs = [
        cell for name in columns for cell in grid("hwf", rows, {name: columns[name]}, config, means.seeds)
    ]
    return [*runs, Cell("milliseconds a step", COST, (replace(cost, device=means.device),))]


FULL: Rows = {
    BEGINNING: {"steps": 1500, "validate_every": 100},
    WHOLE: {"steps": 100_000, "validate_every": 2500},  # m = 5: a line of hwf-curves
}
QUICK: Rows = {BEGINNING: {"validate_every": 25}, WHOLE: {}}
COSTS = StepCost(WalkSteps(network="paper"), STEPS, ("m-bs",))
QUICK_COSTS = StepCost(WalkSteps(), STEPS, ("m-bs",), rounds=3, warm_up=1)


def show(outcome: Outcome) -> Section:
    seconds = {
        f"m = {row['x']}": row["seconds"]
        for place in outcome.rows_of(COST)
        for run in place.runs
        for row in run.result["costs"]["m-bs"]["measured"]
    }
    steps = QUICKLY_AFTER if outcome.quick else AFTER
    looks = [f"after {step} steps" for step in steps]
    head = ["", "calculation", "symbols", "soon stopped: calculation", *looks, "milliseconds a step"]
    pairs = list(zip(outcome.rows_of(BEGINNING), outcome.rows_of(WHOLE), strict=True))
    text = rows_of(head, [_cells(*pair, steps, seconds.get(pair[0].row)) for pair in pairs])
    curves = {beginning.row: _joined(beginning, whole) for beginning, whole in pairs}
    text += "\n\n![Accuracy against training steps, by m]({hwf-steps})"
    return Section(text, {"hwf-steps": curves_figure(curves, "right test calculations", scale="log")})


def _cells(beginning: Place, whole: Place, steps: Sequence[int], seconds: float | None) -> list[str]:
    def after(step: int) -> str:
        early = beginning.spread(
            lambda run: next((row["calculation"] for row in run.curve if row["step"] == step), None)
        )
        return "" if early is None else in_percent(early)

    return [
        whole.row + whole.mark,
        *(share(whole, name) for name in ("calculation", "symbol")),
        share(beginning, "calculation") + beginning.mark,
        *map(after, steps),
        "" if seconds is None else f"{1000 * seconds:.1f}",
    ]


def _joined(beginning: Place, whole: Place) -> Curve:
    first = beginning.curve("calculation")
    last = first[-1][0] if first else 0
    return [*first, *(point for point in whole.curve("calculation") if point[0] > last)]


EXPERIMENT = Experiment(
    "hwf-steps",
    "Handwritten formulas: steps of back-search",
    (FORMULAS,),
    lambda means: cells(partial(paper, data=means.path(FORMULAS)), FULL, means, COSTS),
    lambda means: cells(small, QUICK, means, QUICK_COSTS),
    show,
)
