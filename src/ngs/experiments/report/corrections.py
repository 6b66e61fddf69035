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

from ngs.experiments.report.mistakes import Misreading, labels_of, misreading
from ngs.grammar.tree import Sentence
from ngs.learning.metrics import Reading
from ngs.learning.reasoner import Reasoner
from ngs.parsing.decode import PAD, Sentences, score_of
from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.multi_step import Walk
from ngs.search.posterior import Posterior, posterior

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


def judged(columns: Tensor, found: Tensor, labels: Tensor) -> list[Fate]:
    """Of corrections [example, time], `found` where they give the answer."""
    true = (columns == labels).all(1)
    return [
        (Fate.TRUE if same else Fate.SPURIOUS) if right else Fate.NONE
        for same, right in zip(true.tolist(), found.tolist(), strict=True)
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
    reading: Reading, part: Reasoner, walk: Walk, generator: torch.Generator, limit: int
) -> Fates:
    """Correct every wrong answer in three ways; show at most `limit` for each fate under 1-BS.

    Of each fate, the lengths take turns, and those that the posterior gets right with those it does not.
    """
    searches = Searches.of(reading, part, walk, generator)
    counts = {name: Counter(found) for name, found in searches.fates.items()}
    shown = {}
    for fate in Fate:
        those = (k for k, other in enumerate(searches.fates[ONE_STEP]) if other is fate)
        shown[fate] = tuple(searches.corrected(k) for k in islice(in_turn(those, searches.kind), limit))
    misread = (reading.columns != labels_of(part.examples)).any(1)
    lucky = int((misread & reading.right).sum())
    p_written, exact = float(searches.p_written.mean()), bool(searches.posterior.exact.all())
    return Fates(len(reading.right), lucky, counts, p_written, exact, shown)


@dataclass(frozen=True, eq=False)
class Searches:
    """The wrong answers of a reading after every search; `k` counts them."""

    reading: Reading
    part: Reasoner
    numbers: Tensor
    """[wrong]: which of the examples"""
    one: tuple[Tensor, Tensor]
    walked: tuple[Tensor, Tensor]
    """corrections [wrong, time], and whether they give the answer [wrong]"""

    @classmethod
    def of(cls, reading: Reading, part: Reasoner, walk: Walk, generator: torch.Generator) -> Searches:
        numbers = torch.nonzero(~reading.right)[:, 0]
        log_probs, batch = reading.log_probs[numbers], part.examples.batch(numbers.numpy())
        one = part.one_step(log_probs, batch)
        return cls(reading, part, numbers, one, part.multi_step(log_probs, batch, walk, generator))

    @cached_property
    def labels(self) -> Tensor:
        return labels_of(self.part.examples)[self.numbers]

    @cached_property
    def posterior(self) -> Posterior:
        batch = self.part.examples.batch(self.numbers.numpy())
        answers = [self.part.examples.answers[k] for k in self.numbers.tolist()]
        log_probs = self.reading.log_probs[self.numbers]
        return posterior(self.part.grammar, Arithmetic, log_probs, batch.lengths, answers)

    @cached_property
    def likeliest(self) -> Sentences:
        """[wrong, rank] of the posterior"""
        return self.posterior.k_best(ALTERNATIVES)

    def judged(self, found: tuple[Tensor, Tensor]) -> list[Fate]:
        """What became of each wrong answer in one of the searches."""
        return judged(*found, self.labels)

    @cached_property
    def fates(self) -> Mapping[str, list[Fate]]:
        mode = self.likeliest.columns[:, 0], self.posterior.found
        searches = {ONE_STEP: self.one, MULTI_STEP: self.walked, POSTERIOR: mode}
        return {name: self.judged(found) for name, found in searches.items()}

    @cached_property
    def p_written(self) -> Tensor:
        """p(z|x,y) [wrong] of what is written: at most 1, also where a beam left some of p(y|x) out."""
        log_p = score_of(self.posterior.scores, self.labels) - self.posterior.log_evidence.detach()
        return log_p.exp().masked_fill(~self.posterior.found, 0.0).clamp(max=1.0)

    def kind(self, k: int) -> tuple[int, bool]:
        """Longest first, and those first that the posterior gets right."""
        return -int(self.part.examples.lengths[self.numbers[k]]), self.fates[POSTERIOR][k] is not Fate.TRUE

    def corrected(self, k: int) -> Corrected:
        columns, found = self.one
        grammar = self.part.grammar
        shares = (self.likeliest.log_probs[k] - self.posterior.log_evidence[k]).detach().exp().tolist()
        return Corrected(
            misreading(self.reading, self.part.examples, grammar, int(self.numbers[k])),
            self.fates[ONE_STEP][k],
            grammar.decode(c for c in columns[k].tolist() if c != PAD) if found[k] else None,
            tuple((self.likeliest[k, rank], share) for rank, share in enumerate(shares) if share > 0),
            float(self.p_written[k]),
        )


def in_turn(numbers: Iterable[int], kind: Callable[[int], tuple[Any, ...]]) -> Iterator[int]:
    """One of each kind, then another of each, and so on."""
    kinds: dict[tuple[Any, ...], list[int]] = {}
    for k in numbers:
        kinds.setdefault(kind(k), []).append(k)
    turns = zip_longest(*(kinds[each] for each in sorted(kinds)))
    return (k for k in chain.from_iterable(turns) if k is not None)
