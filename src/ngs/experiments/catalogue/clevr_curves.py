"""clevr-curves: how the variants of the paper learn to answer questions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ngs.experiments.catalogue.experiment import Cell, Experiment, Means
from ngs.experiments.catalogue.settings import CLEVR_ROWS, paper_clevr, quick_clevr, seeds
from ngs.experiments.config import TrainCLEVR
from ngs.experiments.results.curves import curves_figure
from ngs.experiments.results.outcome import Outcome, tested
from ngs.experiments.results.section import Section
from ngs.experiments.results.tables import rows_of, share

SHARES = {"answers": "answers", "equivalent": "true programs, up to equivalence"}


def full(means: Means) -> list[Cell]:
    return _cells(partial(paper_clevr, means), means)


def quick(means: Means) -> list[Cell]:
    return _cells(quick_clevr, means)


def _cells(config: Callable[..., TrainCLEVR], means: Means) -> list[Cell]:
    return [Cell(row, "100%", seeds(config(**how), means.seeds)) for row, how in CLEVR_ROWS.items()]


def show(outcome: Outcome) -> Section:
    rows = [
        [place.row + place.mark, *(share(place, tested(name)) for name in SHARES)] for place in outcome.places
    ]
    text = rows_of(["", *SHARES.values()], rows)
    curves = {place.row + place.mark: place.curve("answers") for place in outcome.places}
    text += "\n\n![Right answers against training steps, by method]({clevr-curves})"
    return Section(text, {"clevr-curves": curves_figure(curves, "right answers of the validation questions")})


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
