"""hwf-curves: how accuracy rises, beside the logs that the paper's authors released."""

from __future__ import annotations

from ngs.experiments.catalogue.experiment import Cell, Experiment, Means
from ngs.experiments.catalogue.settings import HWF_ROWS, paper_hwf, quick_hwf, seeds
from ngs.experiments.results.curves import curves_figure
from ngs.experiments.results.outcome import Outcome
from ngs.experiments.results.published import released_curves
from ngs.experiments.results.section import Section

SHARES = {"calculation": 1, "symbol": 2}
"""What is drawn, and where it stands in a released point."""


def full(means: Means) -> list[Cell]:
    return [
        Cell(
            row,
            "100%",
            seeds(paper_hwf(means, **settings, steps=100_000, validate_every=2500), means.seeds),
            instead=seeds(paper_hwf(means, **settings), means.seeds),
        )
        for row, settings in HWF_ROWS.items()
    ]


def quick(means: Means) -> list[Cell]:
    return [
        Cell(row, "100%", seeds(quick_hwf(**settings), means.seeds)) for row, settings in HWF_ROWS.items()
    ]


def show(outcome: Outcome) -> Section:
    lines = {share: {place.row: place.curve(share) for place in outcome.places} for share in SHARES}
    marks = {place.row: place.mark for place in outcome.places}
    beside = {
        share: {
            name: [(point[0], point[at]) for point in points] for name, points in released_curves().items()
        }
        for share, at in SHARES.items()
    }
    figures = {
        f"{outcome.experiment}-{share}": curves_figure(
            lines[share], f"right {share}s of the test", {} if outcome.quick else beside[share], "log", marks
        )
        for share in SHARES
    }
    text = "\n\n".join(
        f"![{share} accuracy against training steps, by method]({{{outcome.experiment}-{share}}})"
        for share in SHARES
    )
    return Section(text, figures)


EXPERIMENT = Experiment(
    "hwf-curves",
    "Handwritten formulas: learning curves",
    "The paper's `fig_HME_result_acc`, with its settings, for 100,000 iterations; until those of a method "
    "are done, the 15,000 of `hwf-table`, marked †. Dotted: the authors' released logs. Those of NGS-MAPO "
    "and NGS-MAPO-Pretrain are at 3% and 74% after 15,000 iterations, where the paper's table has 71.7% and "
    "95.6%; the others agree with it. Of ours NGS-m-BS is done: it is first tested after 2,500 iterations, "
    "and has 98.0% of the calculations right there; the network that the held-out formulas choose has 98.48 "
    "± 0.26%, with 99.73 ± 0.05% of the symbols, which is the paper's 98.5% and 99.7%. Three such runs took "
    "299 s each on an H200 that they shared, for the first half with three others (cae72c8).",
    ("hwf",),
    full,
    quick,
    show,
)
