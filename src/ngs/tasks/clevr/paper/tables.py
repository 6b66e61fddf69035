"""clevr-table, clevr-curves and clevr-rates: what each method learns from questions, and how soon."""

from dataclasses import replace
from functools import partial
from typing import Any

from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.clevr.trainable import QUESTIONS
from ngs.tasks.results.curves import curves_figure
from ngs.tasks.results.experiment import FRACTIONS, TEST_GROWTH, WHOLE, Cell, Experiment, Means, Rows, grid
from ngs.tasks.results.outcome import Outcome
from ngs.tasks.results.tables import Section, published, rows_of, share, titled_tables

ROWS: Rows = {
    "NS-RL": {"method": "reinforce", "grammar": "none"},
    "NGS-RL": {"method": "reinforce"},
    "NGS-1-BS": {"method": "1-bs"},
    "NGS-m-BS": {"method": "m-bs", "walk_steps": 10},
}

paper = partial(
    TrainCLEVR,
    network="paper",
    steps=30_000,
    batch_size=64,
    learning_rate=1e-5,
    schedule="constant",
    copies=False,
    moves=False,
    grammar="free",
    samples=1,
    validate_every=1000,
    test_curve=True,
    test_growth=TEST_GROWTH,
)
"""The paper's grammar, network, batch, optimiser and iterations, and its plain back-search."""

ours = partial(TrainCLEVR, network="paper", batch_size=256, steps=900, test_curve=True)
"""Tidy grammar, copy score, large batches: docs/clevr.md."""


def small(**changes: Any) -> TrainCLEVR:
    """Embedded questions, a small network, and no more steps of m-bs than by default."""
    few = {**changes, "walk_steps": TrainCLEVR.walk_steps}
    return replace(TrainCLEVR(steps=100, validate_every=25, test_curve=True), **few)


PAPER_ROWS = {row: ROWS[row] for row in ("NS-RL", "NGS-RL", "NGS-m-BS")}
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
RATES: Rows = {row: {**ROWS["NGS-m-BS"], **rate} for row, rate in _RATES.items()}


def full(means: Means) -> list[Cell]:
    def chosen(**settings: Any) -> TrainCLEVR:
        few = FEW_QUESTIONS if (settings["method"], settings["fraction"]) == ("posterior", 0.25) else {}
        return ours(data=means.path(QUESTIONS), **settings, **few)

    theirs = grid("clevr", PAPER_ROWS, FRACTIONS, partial(paper, data=means.path(QUESTIONS)), means.seeds)
    return theirs + grid("clevr", OUR_ROWS, FRACTIONS, chosen, means.seeds)


def quick(means: Means) -> list[Cell]:
    rows = {**PAPER_ROWS, "posterior": {"method": "posterior"}, "supervised": {"method": "supervised"}}
    return grid("clevr", rows, {name: FRACTIONS[name] for name in ("25%", "100%")}, small, means.seeds)


TABLE = Experiment(
    "clevr-table",
    "CLEVR: methods and data",
    (QUESTIONS,),
    full,
    quick,
    lambda outcome: titled_tables(
        outcome,
        {
            "answers": published(__package__, "tab_CLEVR_acc_data_percentage"),
            "equivalent": "True programs, up to equivalence",
        },
    ),
)


def _experiment(name: str, title: str, rows: Rows, by: str) -> Experiment:
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
        (QUESTIONS,),
        lambda means: grid("clevr", rows, WHOLE, partial(paper, data=means.path(QUESTIONS)), means.seeds),
        lambda means: grid("clevr", rows, WHOLE, small, means.seeds),
        show,
    )


CURVES = _experiment("clevr-curves", "CLEVR: learning curves", ROWS, "method")
LEARNING_RATES = _experiment("clevr-rates", "CLEVR: learning rates", RATES, "learning rate")
