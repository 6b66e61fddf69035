"""What searches make of wrong answers, told apart by the labels.

Learning from answers never sees a label. Here they judge: a correction that gives the right answer and is
not what is written is spurious, and only the labels can tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import chain, islice, zip_longest
from typing import Any

import torch
from torch import Tensor

from ngs.experiments.report.mistakes import Misreading, distribution, labels_of, misreading
from ngs.grammar.padding import PAD
from ngs.grammar.tree import Sentence
from ngs.learning.metrics import Reading
from ngs.parsing.independent import Independent
from ngs.parsing.sentences import Sentences
from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.back_search import ChainSettings, Corrections, State, back_search, sample_corrections
from ngs.search.reasoner import Reasoner
from ngs.search.support import posterior
from ngs.tasks.hwf.dataset import GRAMMAR

ALTERNATIVES = 3
"""Formulas of the posterior that are shown."""
ONE_STEP, MULTI_STEP, POSTERIOR = "1-BS", "m-BS", "posterior"


class Fate(Enum):
    """What became of a misread formula."""

    TRUE = "true"
    """corrected into what is written"""
    SPURIOUS = "spurious"
    """corrected into something else with the same value"""
    NONE = "none"
    """not corrected: nothing that was looked at gives the answer"""


def judged(corrections: Corrections, labels: Tensor) -> list[Fate]:
    """What became of each example, by its label [example, time]."""
    true = (corrections.z == labels).all(1)
    return [
        (Fate.TRUE if same else Fate.SPURIOUS) if right else Fate.NONE
        for same, right in zip(true.tolist(), corrections.found.tolist(), strict=True)
    ]


@dataclass(frozen=True)
class Corrected:
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


@dataclass(frozen=True)
class Fates:
    """What different searches make of the wrong answers of some examples, judged by the labels."""

    examples: int
    lucky: int
    """misread, but with the right answer: nothing to correct, as far as the answer tells"""
    fates: Mapping[str, Counter[Fate]]
    """of all wrong answers, by search"""
    p_written: float
    """p(z|x,y) of what is written, on average over the wrong answers"""
    exact: bool
    """whether the posterior is; otherwise its values are those of a beam"""
    shown: Mapping[Fate, tuple[Corrected, ...]]
    """some of them, by what 1-BS made of them"""

    @property
    def wrong(self) -> int:
        """How many answers were wrong."""
        return sum(next(iter(self.fates.values())).values())


def corrections(
    reading: Reading, part: Reasoner, settings: ChainSettings, generator: torch.Generator, limit: int
) -> Fates:
    """Correct every wrong answer in three ways; show at most `limit` for each fate under 1-BS.

    Of each fate, the lengths take turns, and those that the posterior gets right with those it does not.
    """
    searches = Searches.of(reading, part, settings, generator)
    counts = {name: Counter(found) for name, found in searches.fates.items()}
    shown = {}
    for fate in Fate:
        those = (k for k, other in enumerate(searches.fates[ONE_STEP]) if other is fate)
        shown[fate] = tuple(searches.corrected(k) for k in islice(in_turn(those, searches.kind), limit))
    misread = (reading.symbols != labels_of(part.examples)).any(1)
    lucky = int((misread & reading.right).sum())
    p_written, exact = float(searches.p_written.mean()), searches.exact
    return Fates(len(reading.right), lucky, counts, p_written, exact, shown)


@dataclass(frozen=True, eq=False)
class Searches:
    """The wrong answers of a reading after every search; `k` counts them."""

    reading: Reading
    part: Reasoner
    numbers: Tensor
    """[wrong]: which of the examples"""
    p: Independent
    """p(z|x) of these"""
    one: Corrections
    several: Corrections
    """[wrong]: what 1-BS and m-BS ended in"""
    states: Tensor
    """[state, wrong, time]: where m-BS was, from the first state to the last"""

    @classmethod
    def of(
        cls, reading: Reading, part: Reasoner, settings: ChainSettings, generator: torch.Generator
    ) -> Searches:
        numbers = torch.nonzero(~reading.right)[:, 0]
        p = distribution(reading, part.examples, GRAMMAR).select(numbers)
        z, judge = reading.symbols[numbers], part.judge_of(part.examples.batch(numbers.numpy()))
        states: list[Tensor] = []

        def visit(state: State) -> None:
            states.append(state.z)

        one = back_search(z, p.score, part.edits, judge)
        several = sample_corrections(z, p.score, part.edits, judge, settings, generator, visit)
        return cls(reading, part, numbers, p, one, several, torch.stack(states))

    @cached_property
    def labels(self) -> Tensor:
        return labels_of(self.part.examples)[self.numbers]

    @cached_property
    def posterior(self) -> Independent:
        answers = [self.part.examples.answers[k] for k in self.numbers.tolist()]
        return posterior(GRAMMAR, Arithmetic, self.p.log_probs, self.p.lengths, answers)

    @property
    def exact(self) -> bool:
        """Whether the posterior is."""
        return self.posterior.exact is None or bool(self.posterior.exact.all())

    @cached_property
    def likeliest(self) -> Sentences:
        """[wrong, rank] of the posterior"""
        return self.posterior.topk(ALTERNATIVES)

    @cached_property
    def fates(self) -> Mapping[str, list[Fate]]:
        return {**self.back_search_fates, POSTERIOR: judged(self._mode, self.labels)}

    @cached_property
    def back_search_fates(self) -> Mapping[str, list[Fate]]:
        """Those for which no posterior is needed."""
        searches = {ONE_STEP: self.one, MULTI_STEP: self.several}
        return {name: judged(found, self.labels) for name, found in searches.items()}

    @property
    def _mode(self) -> Corrections:
        return Corrections(self.likeliest.symbols[:, 0], self.posterior.found)

    @cached_property
    def p_written(self) -> Tensor:
        """p(z|x,y) [wrong] of what is written: at most 1, also where a beam left some of p(y|x) out."""
        log_p = self.p.score(torch.arange(len(self.p)), self.labels) - self.posterior.log_z.detach()
        return log_p.exp().masked_fill(~self.posterior.found, 0.0).clamp(max=1.0)

    def kind(self, k: int) -> tuple[int, bool]:
        """Longest first, and those first that the posterior gets right."""
        return -int(self.part.examples.lengths[self.numbers[k]]), self.fates[POSTERIOR][k] is not Fate.TRUE

    def corrected(self, k: int) -> Corrected:
        shares = (self.likeliest.log_probs[k] - self.posterior.log_z[k]).detach().exp().tolist()
        return Corrected(
            misreading(self.reading, self.part.examples, GRAMMAR, int(self.numbers[k])),
            self.fates[ONE_STEP][k],
            sentence(self.one.z[k]) if self.one.found[k] else None,
            tuple((self.likeliest[k, rank], share) for rank, share in enumerate(shares) if share > 0),
            float(self.p_written[k]),
        )


def sentence(z: Tensor) -> Sentence:
    """The symbols of one row by name."""
    return GRAMMAR.decode(symbol for symbol in z.tolist() if symbol != PAD)


def in_turn(numbers: Iterable[int], kind: Callable[[int], tuple[Any, ...]]) -> Iterator[int]:
    """One of each kind, then another of each, and so on."""
    kinds: dict[tuple[Any, ...], list[int]] = {}
    for k in numbers:
        kinds.setdefault(kind(k), []).append(k)
    turns = zip_longest(*(kinds[each] for each in sorted(kinds)))
    return (k for k in chain.from_iterable(turns) if k is not None)
