"""clevr-curves and clevr-rates: how the variants of the paper learn to answer questions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ngs.experiments.catalogue.experiment import Experiment
from ngs.experiments.catalogue.settings import ALL, CLEVR_ROWS, grid, paper_clevr, quick_clevr
from ngs.experiments.results.curves import curves_figure
from ngs.experiments.results.outcome import Outcome, tested
from ngs.experiments.results.section import Section
from ngs.experiments.results.tables import rows_of, share

SHARES = {"answers": "answers", "equivalent": "true programs, up to equivalence"}
OF_ROWS: Mapping[str, Mapping[str, Any]] = {
    "1e-5": {"learning_rate": 1e-5},
    "1e-5, from the likeliest": {"learning_rate": 1e-5, "start": "likeliest"},
    "1e-4": {"learning_rate": 1e-4},
    "3e-4": {"learning_rate": 3e-4},
    "1e-3": {"learning_rate": 1e-3},
}
RATES = {row: {**CLEVR_ROWS["NGS-m-BS"], **change} for row, change in OF_ROWS.items()}


def _experiment(
    name: str, title: str, about: str, rows: Mapping[str, Mapping[str, Any]], by: str
) -> Experiment:
    """The rows with all questions: a table, and a figure of their curves."""

    def show(outcome: Outcome) -> Section:
        shown = {place.row + place.mark: place for place in outcome.places}
        lines = [[row, *(share(place, tested(each)) for each in SHARES)] for row, place in shown.items()]
        curves = {row: place.curve("answers") for row, place in shown.items()}
        text = rows_of(["", *SHARES.values()], lines)
        text += f"\n\n![Right answers against training steps, by {by}]({{{name}}})"
        return Section(text, {name: curves_figure(curves, "right answers of the validation questions")})

    return Experiment(
        name,
        title,
        about,
        ("clevr",),
        lambda means: grid(partial(paper_clevr, means), rows, ALL, means.seeds),
        lambda means: grid(quick_clevr, rows, ALL, means.seeds),
        show,
    )


CURVES = _experiment(
    "clevr-curves",
    "CLEVR: learning curves",
    "The paper's `fig_vqa_acc`, with the settings of the table above: Adam at 1e-5, 30,000 iterations of "
    "64, m = 10. Table and figure are about the validation questions; the paper's figure has the training "
    "questions, too. The table has the networks that held-out training questions choose. As in the paper, "
    "back-search ends ahead of REINFORCE, though it is level with it from 8,000 to 14,000 iterations, and "
    "REINFORCE ahead of learning without a grammar; ten steps of back-search gain nothing over one (in the "
    "paper, little). With a grammar all of them learn far more slowly than there, where they end with 97% "
    "(NGS-RL) and 100% (NGS-m-BS).",
    CLEVR_ROWS,
    "method",
)

LEARNING_RATES = _experiment(
    "clevr-rates",
    "CLEVR: learning rates",
    "NGS-m-BS of the table above, with all questions, at other learning rates. At the paper's, 1e-5, 30,000 "
    "iterations bring it about as far as 3,000 at 1e-4; from 1e-4 to 1e-3 they are enough for all but 3 to "
    "4 points of the answers, which [our settings](clevr.md#results) gain. The second row sets out from the "
    "likeliest program, which is the paper's start: after the first thousand iterations it learns nothing "
    "more ([what happens there](clevr.md#methods); no other rate was run with it). The others set out from "
    "samples.",
    RATES,
    "learning rate",
)
