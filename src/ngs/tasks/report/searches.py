"""The corrections of wrong answers by 1-BS and m-BS.

Learning from answers never sees a label. Here labels judge: a correction is spurious if it gives the right
answer but does not mean the same as the label.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from ngs.grammar.padding import PAD
from ngs.grammar.tree import Sentence
from ngs.search.back_search import ChainSettings, Corrections, State, back_search, sample_corrections
from ngs.tasks.report.readings import Misread, Readings, in_turn
from ngs.tasks.report.sections import number

ONE_STEP, MULTI_STEP = "1-BS", "m-BS"


class Fate(Enum):
    """The outcome of correcting a wrong answer."""

    TRUE = "true"  # the correction means what the label means
    SPURIOUS = "spurious"  # the correction gives the answer, and means something else
    UNJUDGED = "unjudged"  # the correction gives the answer, and the label is unknown
    NONE = "none"  # no correction was found


OF_MEANING = {True: Fate.TRUE, False: Fate.SPURIOUS, None: Fate.UNJUDGED}
MORE_STEPS = "more steps"  # a wrong answer that only m-BS corrects


@dataclass(frozen=True)
class Corrected:
    """A wrong answer and its correction by 1-BS."""

    misread: Misread
    fate: Fate
    correction: Sentence | None

    @property
    def title(self) -> str:
        return f"answer {number(self.misread.answer)}"


@dataclass(frozen=True, eq=False)
class Searches:
    """The wrong answers of some readings after both searches; `k` counts them."""

    kinds: ClassVar[Sequence[str]] = ("true", MORE_STEPS, "none", "spurious", "unjudged")
    """the values of `kind`"""
    possible: ClassVar[Sequence[Fate]] = tuple(Fate)

    readings: Readings
    one: Corrections
    several: Corrections  # [wrong]: from 1-BS and m-BS
    states: Tensor  # [state, wrong, time]: the states of m-BS

    @classmethod
    def of(cls, readings: Readings, chain: ChainSettings, seed: int) -> Self:
        generator = torch.Generator().manual_seed(seed)
        wrong, none = torch.tensor(readings.wrong, dtype=torch.int64), readings.reading.symbols[:0]
        nothing = Corrections(none, readings.reading.right[:0])
        ends = [(nothing, nothing, none.expand(chain.steps + 1, -1, -1))]
        for first in range(0, len(wrong), readings.at_once):
            ends.append(_searched(readings, wrong[first : first + readings.at_once], chain, generator))
        one, several, states = zip(*ends, strict=True)
        return cls(readings, _joined(one), _joined(several), torch.cat(states, 1))

    @cached_property
    def fates(self) -> Mapping[str, list[Fate]]:
        """[wrong], by search"""
        return {ONE_STEP: self.judged(self.one), MULTI_STEP: self.judged(self.several)}

    @property
    def compared(self) -> Mapping[str, list[Fate]]:
        """`fates`, and those of other searches on the page."""
        return self.fates

    def judged(self, ended: Corrections) -> list[Fate]:
        meant = self.readings.means(self.readings.wrong, ended.z)
        pairs = zip(ended.found.tolist(), meant, strict=True)
        return [OF_MEANING[same] if found else Fate.NONE for found, same in pairs]

    def kind(self, k: int) -> str:
        """The kind of correction, as in the paper."""
        one, several = self.fates[ONE_STEP][k], self.fates[MULTI_STEP][k]
        if one is Fate.NONE:
            return Fate.NONE.value if several is Fate.NONE else MORE_STEPS
        return self.true_kind(k) if one is Fate.TRUE else one.value

    def true_kind(self, k: int) -> str:
        """The kind of a correction by 1-BS that is not spurious."""
        return Fate.TRUE.value

    def turn(self, k: int) -> tuple[Any, ...]:
        return self.readings.turn(self.readings.wrong[k])

    def page_turn(self, k: int) -> tuple[Any, ...]:
        """The same for a page, which may have more kinds."""
        return self.turn(k)

    def some(
        self, kinds: Sequence[object], kind: object, limit: int, turn: Callable[[int], tuple[Any, ...]]
    ) -> Iterator[int]:
        """At most `limit` wrong answers whose `kinds` [wrong] are `kind`: in turn, short ones first."""
        lengths = (self.readings.reading.symbols[self.readings.wrong] != PAD).sum(1).tolist()
        those = sorted((k for k, each in enumerate(kinds) if each == kind), key=lambda k: lengths[k])
        return islice(in_turn(those, turn), limit)

    def shown(self, limit: int) -> dict[Fate, list[Any]]:
        """At most `limit` for each fate under 1-BS."""
        fates = self.fates[ONE_STEP]
        some = {fate: self.some(fates, fate, limit, self.page_turn) for fate in Fate}
        return {fate: list(map(self.corrected, those)) for fate, those in some.items()}

    def corrected(self, k: int) -> Any:
        fixed = self.readings.sentence(self.one.z[k]) if self.one.found[k] else None
        return Corrected(self.readings.shown(self.readings.wrong[k]), self.fates[ONE_STEP][k], fixed)


@torch.inference_mode()
def _searched(
    readings: Readings, numbers: Tensor, chain: ChainSettings, generator: torch.Generator
) -> tuple[Corrections, Corrections, Tensor]:
    reasoner, z, p = readings.reasoner, readings.reading.symbols[numbers], readings.distribution(numbers)
    judge = reasoner.judge_of(reasoner.examples.batch(numbers.numpy()))
    states: list[State] = []
    one = back_search(z, p.score, reasoner.edits, judge)
    several = sample_corrections(z, p.score, reasoner.edits, judge, chain, generator, states.append)
    return one, several, torch.stack([state.z for state in states])


def _joined(parts: Sequence[Corrections]) -> Corrections:
    return Corrections(torch.cat([part.z for part in parts]), torch.cat([part.found for part in parts]))
