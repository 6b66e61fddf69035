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

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from ngs.experiments.report.corrections import MULTI_STEP, ONE_STEP, in_turn
from ngs.experiments.report.questions import AT_ONCE, Answered, Readings
from ngs.grammar.padding import PAD
from ngs.learning.program_methods import Searching
from ngs.search.arrangement import Corrected, multi_step, one_step
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
class Corrections:
    """What searches make of the wrong answers to some questions."""

    examples: int
    wrong: int
    lucky: int
    """right answers by a program that means something else: nothing to correct, as far as the answer tells"""
    verdicts: Mapping[str, Counter[Verdict]]
    """of all wrong answers, by search"""
    shown: Mapping[Verdict, tuple[CorrectedQuestion, ...]]
    """some of them, by what 1-BS made of them"""


def corrections(readings: Readings, how: Searching, generator: torch.Generator, limit: int) -> Corrections:
    """Correct every wrong answer in two ways; show at most `limit` for each verdict on 1-BS."""
    numbers = readings.wrong
    one, walked = searched(readings, how, generator)
    judged = {name: verdicts_on(readings, found) for name, found in ((ONE_STEP, one), (MULTI_STEP, walked))}
    return Corrections(
        len(readings.outcomes),
        len(numbers),
        len(readings.lucky),
        {name: Counter(verdicts) for name, verdicts in judged.items()},
        {each: _shown(readings, one, judged[ONE_STEP], each, limit) for each in Verdict},
    )


def searched(readings: Readings, how: Searching, generator: torch.Generator) -> tuple[Corrected, Corrected]:
    """1-BS and m-BS from what was read, of all wrong answers."""
    one, walked = [], []
    numbers, time = readings.wrong, readings.programs.shape[1]
    for first in range(0, len(numbers), AT_ONCE):
        batch = readings.sample.part.examples.batch(np.array(numbers[first : first + AT_ONCE]))
        columns = readings.programs[numbers[first : first + AT_ONCE], : batch.time]
        with torch.inference_mode():
            log_probs = batch.beliefs(readings.network(batch.inputs)).log_probs
            one.append(one_step(columns, how.edits, log_probs, batch.right))
            walked.append(multi_step(columns, how.edits, log_probs, batch.right, how.walk, generator))
    return _joined(one, time), _joined(walked, time)


def _joined(parts: list[Corrected], time: int) -> Corrected:
    nothing = torch.empty((0, time), dtype=torch.long), *torch.empty((2, 0), dtype=torch.bool)
    padded = (pad(part.columns, (0, time - part.columns.shape[1]), value=PAD) for part in parts)
    found, right = (part.found for part in parts), (part.right for part in parts)
    joined = (torch.cat([first, *rest]) for first, rest in zip(nothing, (padded, found, right), strict=True))
    return Corrected(*joined)


def verdicts_on(readings: Readings, found: Corrected) -> list[Verdict]:
    """What one of the searches is worth for each wrong answer."""
    asked = readings.sample.questions.select(readings.wrong)
    return [verdict(outcome) for outcome in outcomes(asked, found.columns, found.found)]


def _shown(
    readings: Readings, found: Corrected, judged: list[Verdict], which: Verdict, limit: int
) -> tuple[CorrectedQuestion, ...]:
    """Some with one verdict; kinds of question take turns, and short programs come first."""
    numbers = readings.wrong
    those = [k for k, each in enumerate(judged) if each is which]
    those.sort(key=lambda k: readings.outcomes[numbers[k]].length)
    taken = islice(in_turn(those, lambda k: readings.kind(numbers[k])), limit)
    return tuple(_corrected(readings, numbers[k], found.columns[k], which) for k in taken)


def _corrected(readings: Readings, number: int, columns: Tensor, which: Verdict) -> CorrectedQuestion:
    (p_read,) = readings.p([number], readings.programs[number][None])
    answered = readings.answered(number, p_read)
    if which is Verdict.NONE:
        return CorrectedQuestion(answered, which, None, 0.0)
    (p,) = readings.p([number], columns[None])
    return CorrectedQuestion(answered, which, readings.executed(number, columns), p)
