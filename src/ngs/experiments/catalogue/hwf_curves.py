"""hwf-curves: how accuracy rises, beside the logs that the paper's authors released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from ngs.experiments.catalogue.experiment import Cell, Experiment, Means
from ngs.experiments.catalogue.settings import HWF_ROWS, WHOLE, grid, paper_hwf, quick_hwf
from ngs.experiments.results.curves import curves_figure
from ngs.experiments.results.outcome import Outcome
from ngs.experiments.results.published import released_curves
from ngs.experiments.results.tables import Section, rows_of, share

SHARES = {"calculation": 1, "symbol": 2}
"""What is drawn, and where it stands in a released point."""


def full(means: Means) -> list[Cell]:
    config = partial(paper_hwf, data=means.hwf)
    instead = grid("hwf", HWF_ROWS, WHOLE, config, means.seeds)
    long = grid("hwf", HWF_ROWS, WHOLE, partial(config, steps=100_000, validate_every=2500), means.seeds)
    return [replace(cell, instead=short.jobs) for cell, short in zip(long, instead, strict=True)]


def show(outcome: Outcome) -> Section:
    marks = {place.row: place.mark for place in outcome.places}
    # Beside quick runs, whose data are others, nothing of theirs stands.
    released = {} if outcome.quick else released_curves()
    figures = {
        f"{outcome.experiment}-{kind}": curves_figure(
            {place.row: place.curve(kind) for place in outcome.places},
            f"right {kind}s of the test",
            {name: [(point[0], point[at]) for point in points] for name, points in released.items()},
            "log",
            marks,
        )
        for kind, at in SHARES.items()
    }
    pictures = [
        f"![{kind} accuracy against training steps, by method]({{{outcome.experiment}-{kind}}})"
        for kind in SHARES
    ]
    return Section("\n\n".join([_ends(outcome, released), *pictures]), figures)


def _ends(outcome: Outcome, released: Mapping[str, Sequence[tuple[float, float, float]]]) -> str:
    """What the chosen networks come to, and where the released logs end, if there are any."""

    def last(row: str, at: int) -> str:
        return f"{100 * released[row][-1][at]:.2f}" if row in released else ""

    logged = SHARES if released else {}
    head = ["", *SHARES, *(f"end of the log: {kind}" for kind in logged)]
    rows = [
        [
            place.row + place.mark,
            *(share(place, kind) for kind in SHARES),
            *(last(place.row, at) for at in logged.values()),
        ]
        for place in outcome.places
    ]
    return rows_of(head, rows)


EXPERIMENT = Experiment(
    "hwf-curves",
    "Handwritten formulas: learning curves",
    "The paper's `fig_HME_result_acc`, with its settings, for 100,000 iterations. The table has what the "
    "networks come to that the held-out formulas choose, and where the authors' released logs end, after "
    "72,000 to 128,000 iterations; the figures have these dotted. NGS-m-BS learns fastest of the paper's "
    "methods, as there: it has 98.0% of the calculations at our first test, after 2,500 iterations, and the "
    "chosen networks have the paper's 98.5%, with 99.7% of the symbols. NGS-RL learns nothing, there and "
    "here. Unlike in the paper the other baselines come within a point of NGS-m-BS, those by MAPO within "
    "half a point: NGS-MAPO has half of the calculations right after 2,500 iterations in two runs and after "
    "7,500 in the third (in the authors' log, after 62,000), and the chosen networks of the pre-trained ones "
    "have 98%, where the logs end with 80% and 87%; what ours do otherwise is said under `hwf-table`. The "
    "released logs of NGS-MAPO and NGS-MAPO-Pretrain are at 3% and 74% after 15,000 iterations, where the "
    "paper's table has 71.7% and 95.6%; the others agree with it. Learning from all right formulas "
    "(`posterior`) or from the symbols themselves (`supervised`) is no better than NGS-m-BS with this "
    "network and these settings: the three are 0.2 points apart, with deviations of 0.2 to 0.3 ([another "
    "network and other settings](#handwritten-formulas-methods-and-data) come to 99.3%). On an H200, three "
    "runs each of NGS-RL, NGS-MAPO and NGS-RL-Pretrain that shared it made 1,480 steps a second together, "
    "tests included (91f5761); three of `posterior` and nine of `hwf-steps`, 1,350 (7ed84a4); three of "
    "NGS-m-BS, for the first half with three others, took 299 s each (cae72c8).",
    ("hwf",),
    full,
    lambda means: grid("hwf", HWF_ROWS, WHOLE, quick_hwf, means.seeds),
    show,
)
