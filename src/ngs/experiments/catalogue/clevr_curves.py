"""clevr-curves: how the variants of the paper learn to answer questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ngs.experiments.catalogue.experiment import Cell, Experiment, Means
from ngs.experiments.catalogue.settings import paper_clevr, quick_clevr, seeds, short_clevr
from ngs.experiments.results.curves import curves_figure
from ngs.experiments.results.outcome import Outcome
from ngs.experiments.results.section import Section

ROWS: Mapping[str, Mapping[str, Any]] = {
    "NS-RL": {"method": "reinforce", "grammar": "none"},
    "NGS-RL": {"method": "reinforce"},
    "NGS-1-BS": {"method": "1-bs"},
    "NGS-m-BS": {"method": "m-bs", "walk_steps": 10},
}
SHORT = {"walk_steps": 5}


def full(means: Means) -> list[Cell]:
    return [
        Cell(
            row,
            "100%",
            seeds(paper_clevr(means, **settings), means.seeds),
            instead=seeds(short_clevr(means, **{**settings, **SHORT}), means.seeds),
        )
        for row, settings in ROWS.items()
    ]


def quick(means: Means) -> list[Cell]:
    return [
        Cell(row, "100%", seeds(quick_clevr(**{**settings, **SHORT}), means.seeds))
        for row, settings in ROWS.items()
    ]


def show(outcome: Outcome) -> Section:
    curves = {place.row + place.mark: place.curve("answers") for place in outcome.places}
    text = "![Right answers against training steps, by method]({clevr-curves})"
    return Section(text, {"clevr-curves": curves_figure(curves, "right answers of the validation questions")})


EXPERIMENT = Experiment(
    "clevr-curves",
    "CLEVR: learning curves",
    "The paper's `fig_vqa_acc`, with its settings: Adam at 1e-5, 30,000 iterations of 64, m = 10. Until "
    "these are done, 2,000 iterations at 1e-3 with m = 5 are drawn (†).",
    ("clevr",),
    full,
    quick,
    show,
)
