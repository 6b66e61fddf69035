"""hwf-table, hwf-lengths and hwf-leak: what each method learns from which formulas."""

from __future__ import annotations

from functools import partial

from ngs.tasks.hwf.paper.settings import ROWS, ours, paper, small, wide
from ngs.tasks.hwf.trainable import CLEAN_FORMULAS, FORMULAS
from ngs.tasks.results.experiment import FRACTIONS, Experiment, Rows, grid
from ngs.tasks.results.tables import Section, published, table, titled_tables

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
