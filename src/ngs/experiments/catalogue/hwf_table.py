"""hwf-table: accuracy by method and share of the training data, the paper's two tables of formulas."""

from __future__ import annotations

from functools import partial

from ngs.experiments.catalogue.experiment import Cell, Experiment, Means
from ngs.experiments.catalogue.settings import FRACTIONS, HWF_ROWS, grid, paper_hwf, quick_hwf, wide_hwf
from ngs.experiments.results.outcome import Outcome, tested
from ngs.experiments.results.published import published
from ngs.experiments.results.section import Section
from ngs.experiments.results.tables import table

OURS = "posterior, our settings"


def full(means: Means) -> list[Cell]:
    theirs = grid(partial(paper_hwf, means), HWF_ROWS, FRACTIONS, means.seeds)
    return theirs + grid(
        partial(wide_hwf, means.hwf), {"posterior, our settings": {}}, FRACTIONS, means.seeds
    )


def quick(means: Means) -> list[Cell]:
    return grid(quick_hwf, HWF_ROWS, FRACTIONS, means.seeds)


def show(outcome: Outcome) -> Section:
    parts = []
    for share, label in (
        ("calculation", "tab_HME_reult_acc_data_percentage"),
        ("symbol", "tab_HME_symbol_acc_data_percentage"),
    ):
        known = published(label)
        parts.append(f"**{known.caption}** (`{label}`)\n\n{table(outcome, tested(share), known)}")
    return Section("\n\n".join(parts))


EXPERIMENT = Experiment(
    "hwf-table",
    "Handwritten formulas: methods and data",
    "Share of test formulas with the right value, and of symbols read rightly, in percent. The paper's "
    "network, batches of 64, Adam at 5e-4, 15,000 iterations. Unlike the paper we hold out 5% of the "
    "training formulas and choose the checkpoint on them. The last row is what we would do instead: a "
    "network with batch norm, changed images, one cycle of the learning rate, 1,100 steps of 256. With the "
    "paper's network and settings, learning from values alone (`posterior`) is as good as learning from the "
    "symbols themselves (`supervised`): where it is a little below the paper's m-BS (25% and 100% of the "
    "data), so is supervision. The pre-trained baselines, and MAPO from 75% of the data on, do better here "
    "than in the paper, by 2 to 67 points, perhaps because ours draw whole formulas from p(z | x, z in the "
    "grammar) exactly and take its gradient; the paper does not say how its policies stay inside the "
    "grammar. Pre-training ends when 60% of the symbols of 100 labelled formulas are right, which is where "
    "the authors' released logs begin. NGS-RL learns nothing there and here. With less data NGS-MAPO gets "
    "stuck with 33 to 49% of the symbols; with half of it one seed of three does not, which makes its "
    "spread. Eighteen runs of NGS-RL-Pretrain that share an H200 make about 720 training steps a second "
    "together, twelve of NGS-RL about 610 (dd46f01). Runs of that commit round products of matrices to ten "
    "bits (TF32), as convolutions did before.",
    ("hwf",),
    full,
    quick,
    show,
)
