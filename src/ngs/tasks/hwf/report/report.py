"""The report of a run that reads handwritten formulas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from markupsafe import Markup
from torch import Tensor

from ngs.explanations.drawing import as_svg
from ngs.tasks.hwf.dataset import GRAMMAR, PRETRAIN_STEPS
from ngs.tasks.hwf.report.readings import POSTERIOR, CorrectedFormula, FormulaSearches
from ngs.tasks.report.report import FATES, AnswersReport, Card, Line, cells
from ngs.tasks.report.searches import Fate, Searches
from ngs.tasks.report.sections import Section, confusion_table, render, sign

DRAWN = 5
"""Symbols of the correction that is drawn, where there is one so short: of more it would be very wide."""
MOST = 5
"""Confusions that are told in words."""


class FormulaReport(AnswersReport):
    """Adds images, which symbols are confused, the posterior, and one correction step by step."""

    task: ClassVar[str] = "Reading handwritten formulas"
    examples: ClassVar[str] = "formulas"
    labels: ClassVar[Mapping[str, str]] = {"formula": "whole formulas right", "symbol": "symbols right"}
    curves: ClassVar[Mapping[str, str]] = {
        "calculation": "answers",
        "formula": "formulas",
        "symbol": "symbols",
    }
    true: ClassVar[str] = "written"
    read_as: ClassVar[str] = "formula"
    spurious: ClassVar[str] = "is not what is written"
    how_to_read: ClassVar[str] = (
        "The most confident mistakes come first. p is the network's probability of the symbol that was read, "
        "and of the one that is written."
    )
    meanings: ClassVar[Mapping[Fate, str]] = {
        Fate.TRUE: "1-BS finds what is written",
        Fate.SPURIOUS: "1-BS finds the right answer, but not what is written",
        Fate.NONE: "1-BS finds nothing",
    }
    examined: ClassVar[int | None] = None
    others: ClassVar[Mapping[str, str]] = {POSTERIOR: "posterior, its likeliest"}
    searches: ClassVar[type[Searches[Any]]] = FormulaSearches

    @property
    def supervision(self) -> str:
        config = self.config
        if config.method == "supervised":
            return "Trained with the label of every symbol: the ceiling of what answers alone can teach."
        seen = "the network saw images and what each formula comes to, never which symbols it shows"
        if config.pretrain:
            return (
                f"Pre-trained with the labels of {config.pretrain_formulas:,} formulas, until "
                f"{config.pretrain:.0%} of their symbols were right (or for {PRETRAIN_STEPS:,} steps); from "
                f"then on {seen}. On this page, labels only judge."
            )
        return (
            f"Trained from answers alone: {seen}. No label was used in training; on this page, labels only "
            f"judge."
        )

    @property
    def planned(self) -> str:
        return ", pre-training included" if self.config.pretrain else super().planned

    @property
    def remark(self) -> str:
        exactly, tolerance = "Answers are exact fractions and are compared exactly.", self.told.tolerance
        imported = (
            f"Tolerance {tolerance:g}: how far a stated result was from the exact one on import, at most."
        )
        return f"{exactly} {imported}" if tolerance else exactly

    def more(self) -> Iterator[Section]:
        counts = self.shown.exam.confusion
        yield self.section(
            "confusions",
            "Which symbols are confused",
            "tasks/hwf/report/confusions.html",
            total=int(counts.sum()),
            wrong=int(counts.sum() - counts.diag().sum()),
            most=most_confused(counts)[:MOST],
            table=confusion_table(counts, GRAMMAR.symbols),
        )
        yield from super().more()

    def searched(self) -> str:
        found = self.shown.corrections
        kind = "exact" if found.exact else "approximate, with a beam of values"
        return (
            f"1-BS takes the likeliest change of one symbol, m-BS a random walk of such changes. The "
            f"posterior ({kind}) knows all formulas with the right answer; to learn from it is to learn from "
            f"all of them, weighted by p(formula | image, answer). For what is written, that is "
            f"{float(found.p_written.mean()):.3f} on average over these wrong answers. Bars below show it."
        )

    def corrected(self, each: CorrectedFormula) -> Card:
        card, right = super().corrected(each), each.fate is not Fate.TRUE and each.posterior_right
        return card._replace(badges=(*card.badges, ("good", "posterior right"))) if right else card

    def alternatives(self, each: CorrectedFormula) -> Iterator[Line]:
        true = each.misread.true
        assert true is not None, "handwritten formulas have labels"
        for rank, (other, p) in enumerate(each.alternatives):
            tick = "what is written" if other == true else ""
            yield Line("" if rank else POSTERIOR, cells(other, true), share=p, tick=tick)
        yield Line(self.true, cells(true), share=each.p_written, last=True)

    def in_detail(self, some: Mapping[Fate, Sequence[CorrectedFormula]]) -> Markup:
        """One correction step by step: a spurious one where there is one, and not too long."""
        fixed = [*some[Fate.SPURIOUS], *some[Fate.TRUE]]
        short = [each for each in fixed if len(each.misread.read) <= DRAWN]
        if not fixed:
            return Markup()
        each = (short or fixed)[0]
        return render(
            "tasks/hwf/report/one_step.html",
            fate=FATES[each.fate],
            misread=each.misread,
            drawing=Markup(as_svg(self.shown.practice.one_step(each.misread.number))),
        )


def most_confused(counts: Tensor) -> list[tuple[int, str, str]]:
    """How often, what is written, what was read: the most frequent confusions first."""
    names = [sign(symbol) for symbol in GRAMMAR.symbols]
    wrong = counts - counts.diag().diag()
    pairs = [(int(wrong[k, j]), names[k], names[j]) for k, j in wrong.nonzero().tolist()]
    return sorted(pairs, key=lambda pair: -pair[0])
