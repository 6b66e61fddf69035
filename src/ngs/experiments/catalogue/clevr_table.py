"""clevr-table: accuracy by method and share of the training questions, the paper's table of CLEVR."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ngs.experiments.catalogue.experiment import Cell, Experiment, Means
from ngs.experiments.catalogue.settings import (
    CLEVR_ROWS,
    FRACTIONS,
    grid,
    our_clevr,
    paper_clevr,
    quick_clevr,
)
from ngs.experiments.config import TrainCLEVR
from ngs.experiments.results.outcome import Outcome, tested
from ngs.experiments.results.published import published
from ngs.experiments.results.section import Section
from ngs.experiments.results.tables import table

PAPER_ROWS = {row: CLEVR_ROWS[row] for row in ("NS-RL", "NGS-RL", "NGS-m-BS")}
OUR_ROWS: Mapping[str, Mapping[str, Any]] = {
    "m-bs, our settings": {"method": "m-bs"},
    "posterior, our settings": {"method": "posterior"},
    "supervised, our settings": {"method": "supervised", "steps": 2400, "validate_every": 150},
}
FEW_QUESTIONS = {"dropout": 0.3, "enumerated": 2000, "steps": 1200}
"""What the posterior needs with a quarter of the questions, chosen on those held out: docs/clevr.md."""


def _ours(means: Means, **settings: Any) -> TrainCLEVR:
    few = settings["method"] == "posterior" and settings["fraction"] == 0.25
    return our_clevr(means, **{**settings, **(FEW_QUESTIONS if few else {})})


def full(means: Means) -> list[Cell]:
    theirs = grid(partial(paper_clevr, means), PAPER_ROWS, FRACTIONS, means.seeds)
    return theirs + grid(partial(_ours, means), OUR_ROWS, FRACTIONS, means.seeds)


def quick(means: Means) -> list[Cell]:
    rows = {**PAPER_ROWS, "posterior": {"method": "posterior"}, "supervised": {"method": "supervised"}}
    return grid(quick_clevr, rows, {name: FRACTIONS[name] for name in ("25%", "100%")}, means.seeds)


def show(outcome: Outcome) -> Section:
    known = published("tab_CLEVR_acc_data_percentage")
    answers = table(outcome, tested("answers"), known)
    programs = table(outcome, tested("equivalent"))
    return Section(
        f"**{known.caption}** (`{known.label}`)\n\n{answers}\n\n"
        f"**True programs, up to equivalence**\n\n{programs}"
    )


EXPERIMENT = Experiment(
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
    show,
)
