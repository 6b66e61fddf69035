"""The methods that learn programs, by name: each makes an objective for examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch

from ngs.errors import NGSError
from ngs.learning.objective import Objective
from ngs.learning.program_objectives import (
    MultiStepPrograms,
    OneStepPrograms,
    ReinforcePrograms,
    Start,
    SupervisedPrograms,
    a_sample,
)
from ngs.learning.program_posterior import Meanings, ProgramPosterior
from ngs.learning.questions import QuestionExamples
from ngs.search.arrangement import Edits
from ngs.search.multi_step import Walk


@dataclass(frozen=True)
class Searching:
    """What the methods need to know of the language, and how long they search."""

    edits: Edits
    """the neighbours of a program"""
    meanings: Meanings
    """which programs mean the same"""
    start: Start = a_sample
    """where back-search sets out"""
    walk: Walk = field(default_factory=Walk)
    """of m-bs"""
    samples: int = 8
    """programs drawn for each question and step: by posterior where it is not exact, and by reinforce"""
    enumerated: int = 512
    """posterior knows all right programs of questions with no more programs than this"""
    memory: int = 8
    """right programs that posterior remembers for each question that it cannot sum over exactly"""


ProgramMethod = Callable[[QuestionExamples, Searching, torch.Generator], Objective]


def posterior(examples: QuestionExamples, how: Searching, generator: torch.Generator) -> Objective:
    """All right programs, weighted by their posterior."""
    return ProgramPosterior(
        examples,
        how.edits,
        how.meanings,
        generator,
        at_most=how.enumerated,
        samples=how.samples,
        memory=how.memory,
    )


def one_step(_: QuestionExamples, how: Searching, generator: torch.Generator) -> Objective:
    """NGS-1-BS."""
    return OneStepPrograms(how.edits, generator, how.start)


def multi_step(_: QuestionExamples, how: Searching, generator: torch.Generator) -> Objective:
    """NGS-m-BS."""
    return MultiStepPrograms(how.edits, generator, how.start, how.walk)


def reinforce(examples: QuestionExamples, how: Searching, generator: torch.Generator) -> Objective:
    """NGS-RL; in a language without grammar NS-RL."""
    return ReinforcePrograms(examples.device, generator, how.samples)


def supervised(examples: QuestionExamples, _: Searching, __: torch.Generator) -> Objective:
    """The true programs: the ceiling."""
    if examples.labels is None:  # told before a run begins
        raise NGSError("some questions have no program; give data with programs, or another method")
    return SupervisedPrograms()


PROGRAM_METHODS: Mapping[str, ProgramMethod] = {
    "posterior": posterior,
    "m-bs": multi_step,
    "1-bs": one_step,
    "reinforce": reinforce,
    "supervised": supervised,
}
