"""clevr-curves: how the variants of the paper learn to answer questions."""

from __future__ import annotations

from functools import partial

from ngs.experiments.catalogue.experiment import Cell, Experiment, Means
from ngs.experiments.catalogue.settings import CLEVR_ROWS, WHOLE, grid, paper_clevr, quick_clevr
from ngs.experiments.results.curves import curves_figure
from ngs.experiments.results.outcome import Outcome, tested
from ngs.experiments.results.section import Section
from ngs.experiments.results.tables import rows_of, share

SHARES = {"answers": "answers", "equivalent": "true programs, up to equivalence"}


def full(means: Means) -> list[Cell]:
    return grid(CLEVR_ROWS, WHOLE, partial(paper_clevr, means), means.seeds)


def quick(means: Means) -> list[Cell]:
    return grid(CLEVR_ROWS, WHOLE, quick_clevr, means.seeds)


def show(outcome: Outcome, by: str = "method") -> Section:
    """What the chosen networks come to, and the curves of right answers."""
    places = {place.row + place.mark: place for place in outcome.places}
    rows = [[name, *(share(place, tested(each)) for each in SHARES)] for name, place in places.items()]
    text = rows_of(["", *SHARES.values()], rows)
    text += f"\n\n![Right answers against training steps, by {by}]({{{outcome.experiment}}})"
    curves = {name: place.curve("answers") for name, place in places.items()}
    return Section(
        text, {outcome.experiment: curves_figure(curves, "right answers of the validation questions")}
    )


EXPERIMENT = Experiment(
    "clevr-curves",
    "CLEVR: learning curves",
    "The paper's `fig_vqa_acc`, with the settings of the table above: Adam at 1e-5, 30,000 iterations of "
    "64, m = 10. Table and figure are about the validation questions; the paper's figure has the training "
    "questions, too. The table has the networks that held-out training questions choose. As in the paper, "
    "back-search ends ahead of REINFORCE, though it is level with it from 8,000 to 14,000 iterations, and "
    "REINFORCE ahead of learning without a grammar; ten steps of back-search gain nothing over one (in the "
    "paper, little). With a grammar all of them learn far more slowly than there, where they end with 97% "
    "(NGS-RL) and 100% (NGS-m-BS).",
    ("clevr",),
    full,
    quick,
    show,
)
