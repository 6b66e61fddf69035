"""The methods that learn programs, by name: each makes an objective for examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import nn

from ngs.errors import NGSError
from ngs.learning.program_objectives import (
    MultiStepPrograms,
    OneStepPrograms,
    ProgramObjective,
    ReinforcePrograms,
    Start,
    SupervisedPrograms,
    a_sample,
)
from ngs.learning.program_posterior import Meanings, ProgramPosterior
from ngs.learning.questions import QuestionExamples
from ngs.networks.decoding import rule_of, walks_by_kernel
from ngs.networks.pointer import PointerNetwork
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


ProgramMethod = Callable[[QuestionExamples, Searching, torch.Generator], ProgramObjective]


def posterior(examples: QuestionExamples, how: Searching, generator: torch.Generator) -> ProgramObjective:
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


def one_step(_: QuestionExamples, how: Searching, generator: torch.Generator) -> ProgramObjective:
    """NGS-1-BS."""
    return OneStepPrograms(how.edits, generator, how.start)


def multi_step(_: QuestionExamples, how: Searching, generator: torch.Generator) -> ProgramObjective:
    """NGS-m-BS."""
    return MultiStepPrograms(how.edits, generator, how.start, how.walk)


def reinforce(examples: QuestionExamples, how: Searching, generator: torch.Generator) -> ProgramObjective:
    """NGS-RL; in a language without grammar NS-RL."""
    return ReinforcePrograms(examples.device, generator, how.samples)


def supervised(examples: QuestionExamples, _: Searching, __: torch.Generator) -> ProgramObjective:
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


def is_recordable(objective: ProgramObjective, examples: QuestionExamples, network: nn.Module) -> bool:
    """Whether a step of a network towards an objective is kernels on a GPU and nothing else.

    Nothing of it has to be waited for, and programs are walked by the kernel for that, which takes neither
    every network nor products that are not rounded.
    """
    if objective.waits or not isinstance(network, PointerNetwork) or network.dropout.p:
        return False
    return walks_by_kernel(network, rule_of(examples.language, examples.modules))
