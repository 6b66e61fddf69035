"""hwf-leak: what is left of each method's accuracy where no test image was seen in training."""

from __future__ import annotations

from ngs.experiments.catalogue.experiment import Cell, Experiment, Means
from ngs.experiments.catalogue.settings import HWF_ROWS, grid, quick_hwf, wide_hwf
from ngs.experiments.results.outcome import Outcome, tested
from ngs.experiments.results.section import Section
from ngs.experiments.results.tables import table

ROWS = {**HWF_ROWS, "NGS-1-BS": {"method": "1-bs"}}


def full(means: Means) -> list[Cell]:
    columns = {"HWF": {"data": means.hwf}, "HWF-clean": {"data": means.hwf_clean}}
    return grid(wide_hwf, ROWS, columns, means.seeds)


def quick(means: Means) -> list[Cell]:
    """The embedded test has other writers than its training: one column, and it is clean."""
    return grid(quick_hwf, ROWS, {"embedded": {}}, means.seeds)


def show(outcome: Outcome) -> Section:
    parts = [
        f"**{title}**\n\n{table(outcome, tested(share))}"
        for title, share in (("Right calculations", "calculation"), ("Right symbols", "symbol"))
    ]
    return Section("\n\n".join(parts))


EXPERIMENT = Experiment(
    "hwf-leak",
    "Handwritten formulas: HWF and HWF-clean",
    "In HWF 5,372 of the 7,505 test images are images of the training formulas, pixel by pixel; HWF-clean "
    "keeps them apart. "
    "Our settings (a wide network, changed images, 1,100 steps of 256), the same for both and "
    "for every method. Where no test image was seen most lose 2 to 3 points, and those that learn from "
    "rewards without pre-training 7 to 8. With these settings NGS-RL learns, too; the paper has it at 3.4 on "
    "HWF.",
    ("hwf", "hwf_clean"),
    full,
    quick,
    show,
)
