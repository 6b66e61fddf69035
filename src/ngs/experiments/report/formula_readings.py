"""Handwritten formulas as a network reads them, and what back-search makes of what it misreads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from ngs.experiments.report.corrections import MORE_STEPS, ONE_STEP, Fate, Searches
from ngs.experiments.report.readings import Readings, some_of
from ngs.explanations.drawing import as_svg
from ngs.explanations.text import shown as text_of
from ngs.grammar.padding import PAD
from ngs.grammar.tree import Sentence
from ngs.learning.examples import Examples, Pool
from ngs.learning.metrics import Scores, read_all, scores_of
from ngs.parsing.independent import Independent
from ngs.parsing.sentence import parse
from ngs.parsing.sentences import Sentences
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import evaluate
from ngs.search.back_search import Corrections
from ngs.search.correction import Correction
from ngs.search.one_step import one_step
from ngs.search.support import posterior
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.preparation import load_network, reasoner_of
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.trainable import Parts

ALTERNATIVES = 3
"""Formulas of the posterior that are shown."""
POSTERIOR = "posterior"


@dataclass(frozen=True, eq=False)
class Misreading:
    """A formula that was not read as it is written."""

    name: str
    """of a test formula"""
    images: Tensor
    """[symbol, height, width]"""
    written: Sentence
    read: Sentence
    answer: Value
    value: Value
    """of what was read"""
    log_probs: Tensor
    """[time, symbol]: what the network says"""

    def p(self, sentence: Sentence) -> list[float]:
        """The network's probability of each symbol."""
        symbols = torch.tensor(GRAMMAR.encode(sentence))
        p: list[float] = self.log_probs.exp().gather(1, symbols[:, None])[:, 0].tolist()
        return p

    @property
    def wrong(self) -> tuple[int, ...]:
        """The positions of the misread symbols."""
        return tuple(t for t, (a, b) in enumerate(zip(self.written, self.read, strict=True)) if a != b)

    @property
    def one_step(self) -> Correction:
        """1-BS with its trace."""
        return one_step(GRAMMAR, Arithmetic, self.log_probs, self.answer, self.read)


@dataclass(frozen=True, eq=False)
class FormulaReadings(Readings):
    """What a network reads in some formulas."""

    noun: ClassVar[str] = "formulas"
    at_once: ClassVar[int] = 1024
    places: ClassVar[tuple[int, int]] = (24, 6)

    chosen: Sequence[int]
    """[example]: which of the part"""
    names: Sequence[str] = ()
    """[example], of test formulas"""

    @classmethod
    def read(
        cls, run: Path, file: str, config: TrainHWF, parts: Parts[Any, Any], part: str, limit: int | None
    ) -> Self:
        every: Examples = getattr(parts, part).examples
        chosen = some_of(len(every), limit)
        reasoner = reasoner_of(every.select(chosen))
        names = [parts.data.test.names[k] for k in chosen] if part == "test" else ()
        return cls(reasoner, read_all(load_network(run, file), reasoner), len(every), chosen, names)

    @property
    def labels(self) -> Tensor:
        assert self.examples.labels is not None, "handwritten formulas have labels"
        return self.examples.labels.cpu()

    @property
    def scores(self) -> Scores:
        return scores_of(self.reading, self.examples)

    @property
    def confusion(self) -> Tensor:
        """How often each symbol [true, read] was read as which."""
        labels, read, symbols = self.labels, self.reading.symbols, len(GRAMMAR.symbols)
        pairs = (labels * symbols + read)[(labels != PAD) & (read != PAD)]
        return torch.bincount(pairs, minlength=symbols * symbols).view(symbols, symbols)

    def means(self, numbers: Sequence[int], z: Tensor) -> list[bool]:
        same: list[bool] = (z == self.labels[numbers]).all(1).tolist()
        return same

    def distribution(self, numbers: Tensor) -> Independent:
        assert self.reading.log_probs is not None, "networks that read formulas score each symbol"
        lengths = torch.from_numpy(self.examples.lengths)
        return Independent(GRAMMAR, self.reading.log_probs, lengths).select(numbers)

    def turn(self, number: int) -> tuple[int]:
        """Longest first."""
        return (-int(self.examples.lengths[number]),)

    def most_confident(self, numbers: list[int]) -> list[int]:
        """By log p(read) - log p(written)."""
        chosen = torch.tensor(numbers, dtype=torch.int64)
        p, rows = self.distribution(chosen), torch.arange(len(chosen))
        margin = p.score(rows, self.reading.symbols[chosen]) - p.score(rows, self.labels[chosen])
        return [numbers[k] for k in margin.argsort(descending=True, stable=True).tolist()]

    def shown(self, number: int) -> Misreading:
        assert isinstance(self.examples.inputs, Pool), "a formula's symbols are seen one by one"
        rows = self.examples.inputs.where[number]
        length, read = int(self.examples.lengths[number]), sentence(self.reading.symbols[number])
        return Misreading(
            self.names[number] if self.names else "",
            self.examples.inputs.inputs[rows[rows != PAD]],
            sentence(self.labels[number]),
            read,
            self.examples.answers[number],
            evaluate(parse(GRAMMAR, read), Arithmetic),
            self.distribution(torch.tensor([number])).log_probs[0, :length],
        )


@dataclass(frozen=True)
class CorrectedFormula:
    """A wrong answer, what 1-BS made of it, and what the posterior thinks."""

    misreading: Misreading
    fate: Fate
    """of the correction by 1-BS"""
    correction: Sentence | None
    alternatives: tuple[tuple[Sentence, float], ...]
    """the likeliest formulas with the right answer, and p(z|x,y) of each"""
    p_written: float
    """p(z|x,y) of what is written"""

    @property
    def posterior_right(self) -> bool:
        """Whether the likeliest of all formulas with the right answer is the one that is written."""
        return bool(self.alternatives) and self.alternatives[0][0] == self.misreading.written


@dataclass(frozen=True, eq=False)
class FormulaSearches(Searches[FormulaReadings]):
    """The misread formulas after both searches, and by the posterior."""

    kinds: ClassVar[Sequence[str]] = ("digit", "operator", MORE_STEPS, "none", "spurious")
    """1-BS makes it what is written by a digit, or by an operator; only m-BS finds anything, or neither does;
    1-BS finds a formula with the right answer that is not what is written"""
    reads: ClassVar[type[Readings]] = FormulaReadings
    possible: ClassVar[Sequence[Fate]] = (Fate.TRUE, Fate.SPURIOUS, Fate.NONE)

    def true_kind(self, k: int) -> str:
        pairs = zip(sentence(self.states[0, k]), sentence(self.one.z[k]), strict=True)
        (changed,) = [old for old, new in pairs if old != new]
        return "digit" if changed.isdigit() else "operator"

    def page_turn(self, k: int) -> tuple[int, bool]:
        """Longest first, and those first that the posterior gets right."""
        return *self.readings.turn(self.readings.wrong[k]), self.compared[POSTERIOR][k] is not Fate.TRUE

    @cached_property
    def p(self) -> Independent:
        """p(z|x) of the wrong answers."""
        return self.readings.distribution(torch.tensor(self.readings.wrong, dtype=torch.int64))

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
            self.readings.shown(self.readings.wrong[k]),
            self.fates[ONE_STEP][k],
            sentence(self.one.z[k]) if self.one.found[k] else None,
            tuple((self.likeliest[k, rank], share) for rank, share in enumerate(shares) if share > 0),
            float(self.p_written[k]),
        )

    def example(self, k: int) -> tuple[dict[str, Any], str]:
        number = self.readings.wrong[k]
        misread = self.readings.shown(number)
        states = ["".join(sentence(z)) for z in self.states[:, k]]
        correction = misread.one_step
        facts = {
            "formula": self.readings.chosen[number],
            "written": "".join(misread.written),
            "answer": text_of(misread.answer),
            "read": "".join(misread.read),
            "value": text_of(misread.value),
            "one_step": None if correction.sentence is None else "".join(correction.sentence),
            "multi_step": states[-1] if self.several.found[k] else None,
            "walk": [state for state, _ in groupby(states)],
        }
        return facts, as_svg(correction)


def sentence(z: Tensor) -> Sentence:
    """The symbols of one row by name."""
    return GRAMMAR.decode(symbol for symbol in z.tolist() if symbol != PAD)
