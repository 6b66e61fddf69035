"""What searches make of wrong answers to questions, told apart by the true programs.

Learning from answers never sees a program. Here they judge: a correction that gives the right answer by a
program that means something else is spurious, and only the true program can tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import islice

import torch
from torch import Tensor

from ngs.experiments.report.corrections import MULTI_STEP, ONE_STEP, in_turn
from ngs.experiments.report.questions import AT_ONCE, Answered, Readings
from ngs.search.back_search import ChainSettings, Corrections, back_search, sample_corrections
from ngs.tasks.clevr.program_text import Executed
from ngs.tasks.clevr.scores import Outcome, outcomes


class Verdict(Enum):
    """What a correction is worth."""

    TRUE = "true"
    """it means what the true program means"""
    SPURIOUS = "spurious"
    """it gives the answer, and means something else"""
    UNJUDGED = "unjudged"
    """it gives the answer, and nobody knows the true program"""
    NONE = "none"
    """nothing that was looked at gives the answer"""


def verdict(outcome: Outcome) -> Verdict:
    if not outcome.right:
        return Verdict.NONE
    told = {True: Verdict.TRUE, False: Verdict.SPURIOUS, None: Verdict.UNJUDGED}
    return told[outcome.equivalent]


@dataclass(frozen=True)
class CorrectedQuestion:
    """A wrong answer, and what 1-BS made of it."""

    answered: Answered
    verdict: Verdict
    correction: Executed | None
    p: float
    """p(z|x) of the correction"""


@dataclass(frozen=True)
class JudgedCorrections:
    """What searches make of the wrong answers to some questions."""

    examples: int
    wrong: int
    lucky: int
    """right answers by a program that means something else: nothing to correct, as far as the answer tells"""
    verdicts: Mapping[str, Counter[Verdict]]
    """of all wrong answers, by search"""
    shown: Mapping[Verdict, tuple[CorrectedQuestion, ...]]
    """some of them, by what 1-BS made of them"""


def corrections(
    readings: Readings, chain: ChainSettings, generator: torch.Generator, limit: int
) -> JudgedCorrections:
    """Correct every wrong answer in two ways; show at most `limit` for each verdict on 1-BS."""
    numbers = readings.wrong
    one, several = searched(readings, chain, generator)
    judged = {name: verdicts_on(readings, found) for name, found in ((ONE_STEP, one), (MULTI_STEP, several))}
    return JudgedCorrections(
        len(readings.outcomes),
        len(numbers),
        len(readings.lucky),
        {name: Counter(verdicts) for name, verdicts in judged.items()},
        {each: _shown(readings, one, judged[ONE_STEP], each, limit) for each in Verdict},
    )


def searched(
    readings: Readings, chain: ChainSettings, generator: torch.Generator
) -> tuple[Corrections, Corrections]:
    """1-BS and m-BS from what was read, of all wrong answers."""
    nothing = Corrections(readings.programs[:0], readings.right[:0])
    one, several, edits = [nothing], [nothing], readings.sample.reasoner.edits
    for first in range(0, len(readings.wrong), AT_ONCE):
        numbers = torch.tensor(readings.wrong[first : first + AT_ONCE])
        z, p, judge = readings.programs[numbers], readings.distribution(numbers), readings.judge(numbers)
        with torch.inference_mode():
            one.append(back_search(z, p.score, edits, judge))
            several.append(sample_corrections(z, p.score, edits, judge, chain, generator))
    return _joined(one), _joined(several)


def _joined(parts: list[Corrections]) -> Corrections:
    return Corrections(torch.cat([part.z for part in parts]), torch.cat([part.found for part in parts]))


def verdicts_on(readings: Readings, found: Corrections) -> list[Verdict]:
    """What one of the searches is worth for each wrong answer."""
    asked = readings.sample.questions.select(readings.wrong)
    return [verdict(outcome) for outcome in outcomes(asked, found.z, found.found)]


def _shown(
    readings: Readings, found: Corrections, judged: list[Verdict], which: Verdict, limit: int
) -> tuple[CorrectedQuestion, ...]:
    """Some with one verdict; kinds of question take turns, and short programs come first."""
    numbers = readings.wrong
    those = [k for k, each in enumerate(judged) if each is which]
    those.sort(key=lambda k: readings.outcomes[numbers[k]].length)
    taken = islice(in_turn(those, lambda k: readings.kind(numbers[k])), limit)
    return tuple(_corrected(readings, numbers[k], found.z[k], which) for k in taken)


def _corrected(readings: Readings, number: int, program: Tensor, which: Verdict) -> CorrectedQuestion:
    (p_read,) = readings.p([number], readings.programs[number][None])
    answered = readings.answered(number, p_read)
    if which is Verdict.NONE:
        return CorrectedQuestion(answered, which, None, 0.0)
    (p,) = readings.p([number], program[None])
    return CorrectedQuestion(answered, which, readings.executed(number, program), p)
