"""hwf-table, hwf-lengths, hwf-leak, hwf-curves: what each method learns from which formulas, and how soon."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files

from ngs.tasks.hwf.paper.settings import ROWS, ours, paper, small, wide
from ngs.tasks.hwf.trainable import CLEAN_FORMULAS, FORMULAS
from ngs.tasks.results.curves import curves_figure
from ngs.tasks.results.experiment import FRACTIONS, WHOLE, Cell, Experiment, Means, Rows, grid
from ngs.tasks.results.outcome import Outcome
from ngs.tasks.results.tables import Section, published, rows_of, share, table, titled_tables

longer = partial(ours, steps=900, augment=None)
OURS: Rows = {"posterior, our settings": {}}
METHODS: Rows = {method: {"method": method} for method in ("posterior", "m-bs", "supervised")}
LENGTHS: Rows = {str(length): {"lengths": (length,)} for length in (1, 3, 5, 7)}
LEAK_ROWS: Rows = {**ROWS, "NGS-1-BS": {"method": "1-bs"}}

_published = partial(published, __package__)

TABLE = Experiment(
    "hwf-table",
    "Handwritten formulas: methods and data",
    (FORMULAS,),
    lambda means: [
        *grid("hwf", ROWS, FRACTIONS, partial(paper, data=means.path(FORMULAS)), means.seeds),
        *grid("hwf", OURS, FRACTIONS, partial(wide, data=means.path(FORMULAS)), means.seeds),
    ],
    lambda means: grid("hwf", ROWS, FRACTIONS, small, means.seeds),
    lambda outcome: titled_tables(
        outcome,
        {
            "calculation": _published("tab_HME_reult_acc_data_percentage"),
            "symbol": _published("tab_HME_symbol_acc_data_percentage"),
        },
    ),
)
ONE_LENGTH = Experiment(
    "hwf-lengths",
    "Handwritten formulas: one length only",
    (FORMULAS,),
    lambda means: grid("hwf", METHODS, LENGTHS, partial(longer, data=means.path(FORMULAS)), means.seeds),
    lambda means: grid("hwf", METHODS, LENGTHS, small, means.seeds),
    lambda outcome: Section(table(outcome, "calculation", _published("one_length_only"), "length")),
    in_paper=False,
)
LEAK = Experiment(
    "hwf-leak",
    "Handwritten formulas: HWF and HWF-clean",
    (FORMULAS, CLEAN_FORMULAS),
    lambda means: grid(
        "hwf",
        LEAK_ROWS,
        {s.title: {"data": means.path(s)} for s in (FORMULAS, CLEAN_FORMULAS)},
        wide,
        means.seeds,
    ),
    # The embedded test has other writers than its training: one column, and it is clean.
    lambda means: grid("hwf", LEAK_ROWS, {"embedded": {}}, small, means.seeds),
    lambda outcome: titled_tables(outcome, {"calculation": "Right calculations", "symbol": "Right symbols"}),
    in_paper=False,
)


# Learning curves

SHARES = {"calculation": 1, "symbol": 2}  # what is drawn, and its index in a released point


def _curves(means: Means) -> list[Cell]:
    config = partial(paper, data=means.path(FORMULAS))
    instead = grid("hwf", ROWS, WHOLE, config, means.seeds)
    long = grid("hwf", ROWS, WHOLE, partial(config, steps=100_000, validate_every=2500), means.seeds)
    return [replace(cell, instead=short.jobs) for cell, short in zip(long, instead, strict=True)]


@cache
def released_curves() -> Mapping[str, tuple[tuple[float, float, float], ...]]:
    """By method: iteration, calculation and symbol accuracy, as the paper's authors logged them."""
    text = (files(__package__) / "released_curves.json").read_text(encoding="utf-8")
    return {name: tuple(map(tuple, points)) for name, points in json.loads(text)["curves"].items()}


def _drawn(outcome: Outcome) -> Section:
    marks = {place.row: place.mark for place in outcome.places}
    # Quick runs have other data: nothing of theirs is shown beside them.
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
    """The shares of the chosen networks, and those at the end of the released logs, if there are any."""

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


CURVES = Experiment(
    "hwf-curves",
    "Handwritten formulas: learning curves",
    (FORMULAS,),
    _curves,
    lambda means: grid("hwf", ROWS, WHOLE, small, means.seeds),
    _drawn,
)
