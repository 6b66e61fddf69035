"""hwf-lengths: trained and tested on formulas of one length only, where other systems time out."""

from __future__ import annotations

from functools import partial

from ngs.experiments.catalogue.experiment import Cell, Experiment, Means
from ngs.experiments.catalogue.settings import grid, our_hwf, quick_hwf
from ngs.experiments.results.outcome import Outcome, tested
from ngs.experiments.results.published import published
from ngs.experiments.results.section import Section
from ngs.experiments.results.tables import table

METHODS = {name: {"method": name} for name in ("posterior", "m-bs", "supervised")}
LENGTHS = {str(length): {"lengths": (length,)} for length in (1, 3, 5, 7)}


def full(means: Means) -> list[Cell]:
    return grid(partial(our_hwf, means.hwf, steps=900, augment=None), METHODS, LENGTHS, means.seeds)


def quick(means: Means) -> list[Cell]:
    return grid(quick_hwf, METHODS, LENGTHS, means.seeds)


def show(outcome: Outcome) -> Section:
    return Section(table(outcome, tested("calculation"), published("one_length_only"), "length"))


EXPERIMENT = Experiment(
    "hwf-lengths",
    "Handwritten formulas: one length only",
    "Share of test formulas with the right value, in percent, when only formulas of one length are trained "
    "and tested on; the small network, 900 steps of 256. Without short formulas there is nothing easy to "
    "begin with: m-BS, which has to be right by luck now and then, did not begin to learn in one run of "
    "three at length 5 (the others have 98 and 99) and in all three at length 7. In italics what ABLkit's "
    "authors publish. HWF has 1,000 training formulas of length 1 and 6,000 of length 7, so the columns "
    "differ in more than length.",
    ("hwf",),
    full,
    quick,
    show,
)
