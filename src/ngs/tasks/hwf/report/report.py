"""The report of a run that reads handwritten formulas: images, confused symbols, the posterior."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar

import torch
from markupsafe import Markup
from torch import Tensor

from ngs.explanations.drawing import as_svg
from ngs.explanations.text import shown as text_of
from ngs.grammar.tree import Sentence
from ngs.learning.metrics import Scores, scores_of
from ngs.parsing.independent import Independent
from ngs.parsing.sentence import Sentences
from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.back_search import Corrections
from ngs.search.support import posterior
from ngs.tasks.hwf.dataset import GRAMMAR, PRETRAIN_STEPS
from ngs.tasks.hwf.settings import SHARES
from ngs.tasks.report.readings import Readings
from ngs.tasks.report.report import AnswersReport
from ngs.tasks.report.searches import MORE_STEPS, Corrected, Fate, Searches

ALTERNATIVES = 3  # formulas of the posterior that are shown
POSTERIOR = "posterior"
DRAWN = 5
"""Symbols of the correction that is drawn, where there is one so short: of more it would be very wide."""


@dataclass(frozen=True, eq=False)
class FormulaReadings(Readings):
    at_once: ClassVar[int] = 1024

    names: Sequence[str] = ()  # [example], of test formulas

    @property
    def scores(self) -> Scores:
        return replace(scores_of(self.reading, self.examples), names=SHARES)

    def name(self, number: int) -> str:
        return self.names[number] if self.names else ""


@dataclass(frozen=True)
class CorrectedFormula(Corrected):
    """A wrong answer, what 1-BS made of it, and what the posterior thinks."""

    alternatives: tuple[tuple[Sentence, float], ...]
    """the likeliest formulas with the right answer, and p(z|x,y) of each"""
    p_written: float
    drawing: Callable[[], str]

    @property
    def posterior_right(self) -> bool:
        return bool(self.alternatives) and self.alternatives[0][0] == self.misread.true

    @property
    def more_badges(self) -> list[tuple[str, str]]:
        right = self.fate is not Fate.TRUE and self.posterior_right
        return [("good", "posterior right")] if right else []


@dataclass(frozen=True, eq=False)
class FormulaSearches(Searches):
    """The misread formulas after both searches, and by the posterior."""

    kinds: ClassVar[Sequence[str]] = ("digit", "operator", MORE_STEPS, "none", "spurious")
    """1-BS makes it what is written by a digit, or by an operator; only m-BS finds anything, or neither does;
    1-BS finds a formula with the right answer that is not what is written"""
    possible: ClassVar[Sequence[Fate]] = (Fate.TRUE, Fate.SPURIOUS, Fate.NONE)

    def true_kind(self, k: int) -> str:
        before, after = self.readings.sentence(self.states[0, k]), self.readings.sentence(self.one.z[k])
        (changed,) = [old for old, new in zip(before, after, strict=True) if old != new]
        return "digit" if changed.isdigit() else "operator"

    def page_turn(self, k: int) -> tuple[int, bool]:
        """Longest first, and those first that the posterior gets right."""
        return *self.turn(k), self.compared[POSTERIOR][k] is not Fate.TRUE

    @cached_property
    def p(self) -> Independent:
        """p(z|x) of the wrong answers."""
        p: Independent = self.readings.distribution(torch.tensor(self.readings.wrong, dtype=torch.int64))
        return p

    @cached_property
    def posterior(self) -> Independent:
        answers = [self.readings.examples.answers[k] for k in self.readings.wrong]
        return posterior(GRAMMAR, Arithmetic, self.p.log_probs, self.p.lengths, answers)

    @property
    def exact(self) -> bool:
        """Whether the posterior is; otherwise its values are those of a beam."""
        return self.posterior.exact is None or bool(self.posterior.exact.all())

    @cached_property
    def likeliest(self) -> Sentences:
        """[wrong, rank] of the posterior"""
        return self.posterior.topk(ALTERNATIVES)

    @cached_property
    def compared(self) -> Mapping[str, list[Fate]]:
        modes = Corrections(self.likeliest.symbols[:, 0], self.posterior.found)
        return {**self.fates, POSTERIOR: self.judged(modes)}

    @cached_property
    def p_written(self) -> Tensor:
        """p(z|x,y) [wrong] of what is written: at most 1, also where a beam left some of p(y|x) out."""
        rows = torch.arange(len(self.p))
        log_p = self.p.score(rows, self.readings.labels[self.readings.wrong])
        ratio = (log_p - self.posterior.log_z.detach()).exp()
        return ratio.masked_fill(~self.posterior.found, 0.0).clamp(max=1.0)

    def corrected(self, k: int) -> CorrectedFormula:
        shares = (self.likeliest.log_probs[k] - self.posterior.log_z[k]).detach().exp().tolist()
        return CorrectedFormula(
            **vars(super().corrected(k)),
            alternatives=tuple((self.likeliest[k, rank], p) for rank, p in enumerate(shares) if p > 0),
            p_written=float(self.p_written[k]),
            drawing=lambda: Markup(as_svg(self.readings.correction(self.readings.wrong[k]))),
        )

    def example(self, k: int) -> tuple[dict[str, Any], str]:
        """The same with that by m-BS, for JSON, and how 1-BS goes as a drawing (SVG)."""
        number = self.readings.wrong[k]
        misread, correction = self.readings.shown(number), self.readings.correction(number)
        states = ["".join(self.readings.sentence(z)) for z in self.states[:, k]]
        facts = {
            "formula": self.readings.chosen[number],
            "written": "".join(misread.true),
            "answer": text_of(misread.answer),
            "read": "".join(misread.read),
            "value": text_of(misread.value),
            "one_step": None if correction.sentence is None else "".join(correction.sentence),
            "multi_step": states[-1] if self.several.found[k] else None,
            "walk": [state for state, _ in groupby(states)],
        }
        return facts, as_svg(correction)


class FormulaReport(AnswersReport):
    """Adds the posterior and one correction step by step."""

    folder: ClassVar[str] = "tasks/hwf/report"
    sentence: ClassVar[str] = "formula"
    true: ClassVar[str] = "written"
    examined: ClassVar[int | None] = None
    pretrain_steps: ClassVar[int] = PRETRAIN_STEPS
    searches: ClassVar[type[Searches]] = FormulaSearches

    @property
    def planned(self) -> str:
        return ", pre-training included" if self.config.pretrain else super().planned

    @staticmethod
    def drawn(some: Mapping[Fate, Sequence[CorrectedFormula]]) -> CorrectedFormula | None:
        """A correction to be drawn: a spurious one where there is one, and not too long."""
        fixed = [*some[Fate.SPURIOUS], *some[Fate.TRUE]]
        short = [each for each in fixed if len(each.misread.read) <= DRAWN]
        return next(iter([*short, *fixed]), None)
