"""The page of a run that reads handwritten formulas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
from PIL import Image
from torch import Tensor

from ngs.experiments.report.corrections import Fate
from ngs.experiments.report.formula_readings import POSTERIOR, CorrectedFormula, Misreading
from ngs.experiments.report.markup import (
    Html,
    address_of,
    badge,
    chance,
    confusion_table,
    element,
    equals,
    joined,
    number,
    sign,
)
from ngs.experiments.report.sections import FATES, AnswersPage, Section, shares_table
from ngs.explanations.drawing import as_svg
from ngs.grammar.tree import Sentence
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.preparation import PRETRAIN_STEPS

GRAYS = 16
"""Shades of handwriting: half a byte each, and no eye sees the difference."""
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
        exactly = "Answers are exact fractions and are compared exactly."
        tolerance = 0.0 if self.run.result is None else self.run.result.tolerance
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
        counts = self.shown.exam.confusion
        total, wrong = int(counts.sum()), int(counts.sum() - counts.diag().sum())
        yield self.about(f"test part, {total:,} symbols", f"{wrong:,} misread")
        yield element(
            "p", "Rows: what is written. Columns: what was read, inside the grammar. ", _most(counts)
        )
        yield element("div", confusion_table(counts, GRAMMAR.symbols), class_="card wide")

    def searches(self) -> Iterator[str]:
        found = self.shown.corrections
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


def misread_formula(misreading: Misreading) -> Html:
    """The handwriting, what it says, what was read, and how sure the network was where it erred."""
    written, read = misreading.written, misreading.read

    def chances(name: str, of: Sequence[float]) -> Html:
        shown = (chance(p) if t in misreading.wrong else "" for t, p in enumerate(of))
        return _line(name, [element("td", text, class_="p") for text in shown])

    return _formula(
        misreading.images,
        _line("written", _signs(written), equals(misreading.answer)),
        _line("read", _signs(read, written), equals(misreading.value)),
        chances("p(read)", misreading.p(read)),
        chances("p(written)", misreading.p(written)),
    )


def corrected_formula(corrected: CorrectedFormula) -> Html:
    """The handwriting, what was read, how 1-BS and the posterior would have it, and what it says."""
    misreading, length = corrected.misreading, len(corrected.misreading.written)
    written, read, fix = misreading.written, misreading.read, corrected.correction
    if fix is None:
        text = f"no single change gives {number(misreading.answer)}"
        fixed = _line("1-BS", [element("td", text, class_="none", colspan=length + 1)])
    else:
        fixed = _line("1-BS", _signs(fix, written, read), equals(misreading.answer))
    alternatives = [
        _line("" if rank else "posterior", _signs(other, written), _share(p, right=other == written))
        for rank, (other, p) in enumerate(corrected.alternatives)
    ]
    return _formula(
        misreading.images,
        _line("read", _signs(read, written), equals(misreading.value)),
        fixed,
        *alternatives,
        _line("written", _signs(written), _share(corrected.p_written), class_="told"),
    )


def _formula(images: Tensor, *lines: Html) -> Html:
    picture = Html(f'<img class="handwriting" alt="" src="{handwriting(images)}">')
    top = element("tr", element("td"), element("td", picture, colspan=len(images)))
    return element("table", top, *lines, class_="formula")


def _line(name: str, cells: Sequence[Html], end: str = "", class_: str | None = None) -> Html:
    last = [element("td", end, class_="end")] if end else []
    return element("tr", element("th", name, scope="row"), *cells, *last, class_=class_)


def _signs(sentence: Sentence, written: Sentence | None = None, before: Sentence | None = None) -> list[Html]:
    """A cell for each symbol: marked where it is not what is written, and where it is not what was before."""

    def marks(t: int) -> Iterator[str]:
        yield "sign"
        wrong = written is not None and sentence[t] != written[t]
        if wrong:
            yield "wrong"
        if before is not None and sentence[t] != before[t]:
            yield "changed" if wrong else "right"

    return [element("td", sign(symbol), class_=" ".join(marks(t))) for t, symbol in enumerate(sentence)]


def _share(p: float, *, right: bool = False) -> Html:
    bar = element("span", element("i", style=f"--share:{100 * p:.1f}%"), class_="bar")
    return joined(
        bar, chance(p, digits=3), *([element("span", " ✓", class_="tick", title="what is written")] * right)
    )


def handwriting(images: Tensor) -> str:
    """The address of a picture: images [symbol, height, width] side by side."""
    strip = Image.fromarray(np.hstack(list(images.numpy())))
    return address_of(strip.quantize(GRAYS), "png", optimize=True, bits=4)
