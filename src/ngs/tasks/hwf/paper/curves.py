"""hwf-curves: how accuracy rises, beside the logs that the paper's authors released."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files

from ngs.tasks.hwf.paper.settings import ROWS, paper, small
from ngs.tasks.hwf.trainable import FORMULAS
from ngs.tasks.results.curves import curves_figure
from ngs.tasks.results.experiment import WHOLE, Cell, Experiment, Means, grid
from ngs.tasks.results.outcome import Outcome
from ngs.tasks.results.tables import Section, rows_of, share

SHARES = {"calculation": 1, "symbol": 2}
"""What is drawn, and where it stands in a released point."""


def full(means: Means) -> list[Cell]:
    config = partial(paper, data=means.path(FORMULAS))
    instead = grid("hwf", ROWS, WHOLE, config, means.seeds)
    long = grid("hwf", ROWS, WHOLE, partial(config, steps=100_000, validate_every=2500), means.seeds)
    return [replace(cell, instead=short.jobs) for cell, short in zip(long, instead, strict=True)]


@cache
def released_curves() -> Mapping[str, tuple[tuple[float, float, float], ...]]:
    """By method: iteration, calculation and symbol accuracy, as the paper's authors logged them."""
    text = (files(__package__) / "released_curves.json").read_text(encoding="utf-8")
    return {name: tuple(map(tuple, points)) for name, points in json.loads(text)["curves"].items()}


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
    (FORMULAS,),
    full,
    lambda means: grid("hwf", ROWS, WHOLE, small, means.seeds),
    show,
)
