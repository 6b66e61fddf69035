"""The page of a run that reads handwritten formulas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from torch import Tensor

from ngs.experiments.hwf import PRETRAIN_STEPS
from ngs.experiments.report.corrections import Fate
from ngs.experiments.report.formula_readings import POSTERIOR, CorrectedFormula, Misreading
from ngs.experiments.report.formulas import confusion_table, corrected_formula, misread_formula
from ngs.experiments.report.markup import Html, badge, element, number, sign
from ngs.experiments.report.sections import FATES, AnswersPage, Section, shares_table
from ngs.explanations.drawing import as_svg
from ngs.tasks.hwf.dataset import GRAMMAR

DRAWN = 5
"""Symbols of the correction that is drawn, where there is one so short: of more it would be very wide."""


class FormulaPage(AnswersPage):
    task: ClassVar[str] = "Reading handwritten formulas"
    examples: ClassVar[str] = "formulas"
    labels: ClassVar[Mapping[str, str]] = {"formula": "whole formulas right", "symbol": "symbols right"}
    accuracy_title: ClassVar[str] = "Accuracy by length"
    read_as: ClassVar[str] = "formula"
    lucky: ClassVar[str] = "misread, but have the right answer"
    spurious: ClassVar[str] = "is not what is written"
    judge: ClassVar[str] = "the labels can tell, and no search sees them"
    how_to_read: ClassVar[str] = (
        "The most confident mistakes come first. p is the network's probability of the symbol that was read, "
        "and of the one that is written."
    )
    meanings: ClassVar[Mapping[Fate, str]] = {
        Fate.TRUE: "1-BS finds what is written",
        Fate.SPURIOUS: "1-BS finds the right answer, but not what is written",
        Fate.NONE: "1-BS finds nothing",
    }
    others: ClassVar[dict[str, str]] = {POSTERIOR: "posterior, its likeliest"}
    few: ClassVar[int] = 6

    def supervision(self) -> str:
        config = self.run.config
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

    def planned(self) -> str:
        return ", pre-training included" if self.run.config.pretrain else super().planned()

    def remark(self) -> str:
        exactly, tolerance = "Answers are exact fractions and are compared exactly.", self.run.tolerance
        imported = (
            f"Tolerance {tolerance:g}: how far a stated result was from the exact one on import, at most."
        )
        return f"{exactly} {imported}" if tolerance else exactly

    def tables(self) -> Iterator[Html]:
        parts = {"test part": self.test}
        if self.run.result is not None:
            parts["validation part"] = self.run.result.validation
        head = ("length", "number", "answers", "formulas", "symbols")
        for name, part in parts.items():
            yield shares_table(name, head, part.groups["by_length"], part, ("formula", "symbol"))

    def more(self) -> Iterator[Section]:
        yield "confusions", "Which symbols are confused", self.confusions()
        yield from super().more()

    def confusions(self) -> Iterator[Html]:
        counts = self.gallery.exam.confusion
        total, wrong = int(counts.sum()), int(counts.sum() - counts.diag().sum())
        yield self.about(f"test part, {total:,} symbols", f"{wrong:,} misread")
        yield element(
            "p", "Rows: what is written. Columns: what was read, inside the grammar. ", _most(counts)
        )
        yield element("div", confusion_table(counts, GRAMMAR.symbols), class_="card wide")

    def searches(self) -> Iterator[str]:
        found = self.gallery.corrections
        kind = "exact" if found.exact else "approximate, with a beam of values"
        yield (
            f"1-BS takes the likeliest change of one symbol, m-BS a random walk of such changes. The "
            f"posterior ({kind}) knows all formulas with the right answer; to learn from it is to learn from "
            f"all of them, weighted by p(formula | image, answer). For what is written, that is "
            f"{float(found.p_written.mean()):.3f} on average over these wrong answers. Bars below show it."
        )

    def told(self, each: Misreading | CorrectedFormula) -> tuple[str, Html]:
        if isinstance(each, Misreading):
            return each.name, misread_formula(each)
        return f"answer {number(each.misreading.answer)}", corrected_formula(each)

    def badges(self, each: CorrectedFormula) -> Iterable[Html]:
        right = each.fate is not Fate.TRUE and each.posterior_right
        return [Html(" "), badge("good", "posterior right")] if right else []

    def in_detail(self, some: Mapping[Fate, Sequence[CorrectedFormula]]) -> Iterator[Html]:
        """One correction step by step: a spurious one where there is one, and not too long."""
        fixed = [*some[Fate.SPURIOUS], *some[Fate.TRUE]]
        short = [each for each in fixed if len(each.misreading.read) <= DRAWN]
        for each in (short or fixed)[:1]:
            misreading = each.misreading
            yield element("h3", "One correction, step by step ", FATES[each.fate])
            yield element(
                "p",
                f"How 1-BS makes {number(misreading.answer)} of {''.join(map(sign, misreading.read))}: the "
                f"answer enters at the top, every node is told what it should have been, and the likeliest "
                f"change that gives the answer wins.",
            )
            yield element("div", Html(as_svg(misreading.one_step)), class_="card wide drawing")


def _most(counts: Tensor) -> str:
    """The most frequent confusions in words."""
    names = [sign(symbol) for symbol in GRAMMAR.symbols]
    wrong = counts - counts.diag().diag()
    pairs = [(int(wrong[k, j]), names[k], names[j]) for k, j in wrong.nonzero().tolist()]
    most = sorted(pairs, key=lambda pair: -pair[0])[:5]
    said = ", ".join(f"{true} as {read} ({n:,})" for n, true, read in most)
    return f"Most often: {said}." if most else "No symbol was misread."
