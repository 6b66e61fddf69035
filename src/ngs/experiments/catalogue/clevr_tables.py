"""clevr-table, clevr-curves and clevr-rates: what each method learns from questions, and how soon."""

from __future__ import annotations

from functools import partial
from typing import Any

from ngs.experiments.catalogue.experiment import Cell, Experiment, Means
from ngs.experiments.catalogue.settings import (
    CLEVR_ROWS,
    FRACTIONS,
    WHOLE,
    Rows,
    grid,
    our_clevr,
    paper_clevr,
    quick_clevr,
)
from ngs.experiments.results.curves import curves_figure
from ngs.experiments.results.outcome import Outcome
from ngs.experiments.results.published import published
from ngs.experiments.results.tables import Section, rows_of, share, titled_tables
from ngs.tasks.clevr.settings import TrainCLEVR

PAPER_ROWS = {row: CLEVR_ROWS[row] for row in ("NS-RL", "NGS-RL", "NGS-m-BS")}
OUR_ROWS: Rows = {
    "m-bs, our settings": {"method": "m-bs"},
    "posterior, our settings": {"method": "posterior"},
    "supervised, our settings": {"method": "supervised", "steps": 2400, "validate_every": 150},
}
FEW_QUESTIONS: dict[str, Any] = {"dropout": 0.3, "enumerated": 2000, "steps": 1200}
"""What the posterior needs with a quarter of the questions, chosen on those held out: docs/clevr.md."""
SHARES = {"answers": "answers", "equivalent": "true programs, up to equivalence"}
_RATES: Rows = {
    "1e-5": {"learning_rate": 1e-5},
    "1e-5, from the likeliest": {"learning_rate": 1e-5, "start": "likeliest"},
    "1e-4": {"learning_rate": 1e-4},
    "3e-4": {"learning_rate": 3e-4},
    "1e-3": {"learning_rate": 1e-3},
}
RATES: Rows = {row: {**CLEVR_ROWS["NGS-m-BS"], **rate} for row, rate in _RATES.items()}


def full(means: Means) -> list[Cell]:
    def ours(**settings: Any) -> TrainCLEVR:
        few = FEW_QUESTIONS if (settings["method"], settings["fraction"]) == ("posterior", 0.25) else {}
        return our_clevr(data=means.clevr, **settings, **few)

    theirs = grid("clevr", PAPER_ROWS, FRACTIONS, partial(paper_clevr, data=means.clevr), means.seeds)
    return theirs + grid("clevr", OUR_ROWS, FRACTIONS, ours, means.seeds)


def quick(means: Means) -> list[Cell]:
    rows = {**PAPER_ROWS, "posterior": {"method": "posterior"}, "supervised": {"method": "supervised"}}
    return grid("clevr", rows, {name: FRACTIONS[name] for name in ("25%", "100%")}, quick_clevr, means.seeds)


TABLE = Experiment(
    "clevr-table",
    "CLEVR: methods and data",
    "Share of the 3,000 validation questions of CLEVR-25k answered rightly, in percent. Its 25,000 training "
    "questions are about annotated scenes; the paper's are 700,000 about scenes parsed from images, so its "
    "column of 25% has seven times our 100%. CLEVR-25k is not published; [what is nearest to "
    "it](clevr.md#data) can be had.\n\n"
    "- *NS-RL, NGS-RL, NGS-m-BS* are the paper's methods, with its settings: its grammar (none for NS-RL), "
    "no copy score, one sample, back-search by plain switches, Adam at 1e-5, 30,000 iterations of 64, m = "
    "10. What is ours stays ([all of it](clevr.md#what-differs-from-the-paper)): above all, chains set out "
    "from a sample of p(z|x), not from the likeliest program; products are rounded to ten bits (TF32); "
    "gradients are clipped at a norm of 5. NGS-RL ends 31 to 58 points below the paper, and hardly rises "
    "any more; NGS-m-BS 41 to 53, slowly rising. Four times as many questions gain 1.5 points (NGS-m-BS) "
    "and 2.4 (NGS-RL), so the number of questions seems not to be what is missing. A higher learning rate "
    "closes most of the gap of NGS-m-BS: at 3e-4, and nothing else changed, it comes to 97% ([learning "
    "rates](#clevr-learning-rates)); NGS-RL was not run at others. How the paper came to 100% at 1e-5, and "
    "why NS-RL does better here than there, no run tells.\n"
    "- *Our settings* ([what they are](clevr.md#results)): the tidy grammar, the copy score, moves, m = 5, "
    "batches of 256 at 1e-3 with late decay for 900 iterations, 2,400 for supervision; the posterior with a "
    "quarter of the questions has 1,200, dropout, and more programs enumerated. The paper's method, m-BS, "
    "is with these within a point of the paper's numbers or above them in every column; the posterior is "
    "above the paper's m-BS but where that has 100.0.",
    ("clevr",),
    full,
    quick,
    lambda outcome: titled_tables(
        outcome,
        {
            "answers": published("tab_CLEVR_acc_data_percentage"),
            "equivalent": "True programs, up to equivalence",
        },
    ),
)


def _experiment(name: str, title: str, about: str, rows: Rows, by: str) -> Experiment:
    """The rows with all questions: a table, and a figure of their curves."""

    def show(outcome: Outcome) -> Section:
        shown = {place.row + place.mark: place for place in outcome.places}
        lines = [[row, *(share(place, each) for each in SHARES)] for row, place in shown.items()]
        curves = {row: place.curve("answers") for row, place in shown.items()}
        text = rows_of(["", *SHARES.values()], lines)
        text += f"\n\n![Right answers against training steps, by {by}]({{{name}}})"
        return Section(text, {name: curves_figure(curves, "right answers of the validation questions")})

    return Experiment(
        name,
        title,
        about,
        ("clevr",),
        lambda means: grid("clevr", rows, WHOLE, partial(paper_clevr, data=means.clevr), means.seeds),
        lambda means: grid("clevr", rows, WHOLE, quick_clevr, means.seeds),
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
