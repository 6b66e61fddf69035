"""clevr-curves: how the variants of the paper learn to answer questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ngs.experiments.catalogue.experiment import Cell, Experiment, Means
from ngs.experiments.catalogue.settings import paper_clevr, quick_clevr, seeds
from ngs.experiments.config import TrainCLEVR
from ngs.experiments.results.curves import curves_figure
from ngs.experiments.results.outcome import Outcome
from ngs.experiments.results.section import Section

ROWS: Mapping[str, Mapping[str, Any]] = {
    "NS-RL": {"method": "reinforce", "grammar": "none"},
    "NGS-RL": {"method": "reinforce"},
    "NGS-1-BS": {"method": "1-bs"},
    "NGS-m-BS": {"method": "m-bs", "walk_steps": 10},
}

FEW_STEPS = {"walk_steps": TrainCLEVR.walk_steps}
"""Of the quick table, which has these runs, too."""


def full(means: Means) -> list[Cell]:
    return [
        Cell(row, "100%", seeds(paper_clevr(means, **settings), means.seeds))
        for row, settings in ROWS.items()
    ]


def quick(means: Means) -> list[Cell]:
    return [
        Cell(row, "100%", seeds(quick_clevr(**{**settings, **FEW_STEPS}), means.seeds))
        for row, settings in ROWS.items()
    ]


def show(outcome: Outcome) -> Section:
    curves = {place.row + place.mark: place.curve("answers") for place in outcome.places}
    text = "![Right answers against training steps, by method]({clevr-curves})"
    return Section(text, {"clevr-curves": curves_figure(curves, "right answers of the validation questions")})


EXPERIMENT = Experiment(
    "clevr-curves",
    "CLEVR: learning curves",
    "The paper's `fig_vqa_acc`, with the settings of the table above: Adam at 1e-5, 30,000 iterations of "
    "64, m = 10. As in the paper, back-search is ahead of REINFORCE, and that of learning without a "
    "grammar; ten steps of back-search gain nothing over one (in the paper, little). With a grammar all of "
    "them learn far more slowly than there, where they end with 97% (NGS-RL) and 100% (NGS-m-BS).",
    ("clevr",),
    full,
    quick,
    show,
)
