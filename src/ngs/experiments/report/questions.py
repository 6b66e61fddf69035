"""Questions as a network answers them, and where it is wrong, told by the true programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random

import numpy as np
import torch
from torch import Tensor

from ngs.experiments.clevr import part_of
from ngs.experiments.config import UNIQUE, TrainCLEVR
from ngs.experiments.report.corrections import in_turn
from ngs.learning.metrics import read_all
from ngs.networks.pointer import PointerNetwork
from ngs.parsing.autoregressive import Autoregressive
from ngs.search.back_search import Judge
from ngs.search.reasoner import Reasoner
from ngs.tasks.clevr.batched_execution import SceneTables
from ngs.tasks.clevr.dataset import Questions
from ngs.tasks.clevr.examples import Part
from ngs.tasks.clevr.program import Kind, program_of
from ngs.tasks.clevr.program_text import Executed
from ngs.tasks.clevr.scenes import Scene
from ngs.tasks.clevr.scores import Outcome, outcomes
from ngs.tasks.clevr.semantics import Unique

LUCKY = 4
"""Places among the mistakes for those whose answer is right all the same."""
AT_ONCE = 32
"""Questions whose neighbouring programs are looked at together."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Some questions of a part, with their scenes and no others."""

    part: Part
    reasoner: Reasoner
    """of the part"""
    scenes: tuple[Scene, ...]
    of: int
    """how many questions the part has that can be read"""
    unique: Unique

    @property
    def questions(self) -> Questions:
        return self.part.questions

    @property
    def is_all(self) -> bool:
        return len(self.questions) == self.of

    @property
    def labelled(self) -> bool:
        """Whether the true programs are known."""
        return self.part.examples.labels is not None


def sample(config: TrainCLEVR, part: Part, scenes: Sequence[Scene], limit: int) -> Sample:
    """At most `limit` questions of the part; the same ones each time."""
    readable = len(part.questions)
    chosen = sorted(Random(0).sample(range(readable), min(limit, readable)))
    questions = part.questions.select(chosen)
    used, numbers = np.unique(questions.scenes.numpy(), return_inverse=True)
    own = tuple(scenes[k] for k in used.tolist())
    asked = replace(questions, scenes=torch.from_numpy(numbers))
    made = part_of(config, asked, SceneTables.of(own), torch.device("cpu"))
    return Sample(made, made.reasoner(config.edits), own, readable, UNIQUE[config.unique])


@dataclass(frozen=True, eq=False)
class Readings:
    """What a network makes of the questions of a sample."""

    network: PointerNetwork
    sample: Sample
    programs: Tensor
    """[question, time]"""
    right: Tensor
    """bool [question]: whether the answer is"""
    outcomes: Sequence[Outcome]

    @classmethod
    def of(cls, network: PointerNetwork, sample: Sample) -> Readings:
        read = read_all(network, sample.reasoner)
        found = outcomes(sample.questions, read.symbols, read.right)
        return cls(network, sample, read.symbols, read.right, found)

    @property
    def wrong(self) -> list[int]:
        """Questions with a wrong answer."""
        return [k for k, outcome in enumerate(self.outcomes) if not outcome.right]

    @property
    def lucky(self) -> list[int]:
        """Questions with the right answer by a program that means something else than the true one."""
        return [k for k, outcome in enumerate(self.outcomes) if outcome.right and outcome.equivalent is False]

    def kind(self, k: int) -> tuple[int]:
        """Of question k, to be sorted by; first those whose kind nobody knows."""
        kind = self.outcomes[k].kind
        return (-1 if kind is None else list(Kind).index(kind),)

    @torch.inference_mode()
    def distribution(self, numbers: Tensor) -> Autoregressive:
        """p(z|x) of some questions."""
        batch = self.sample.part.examples.batch(numbers.numpy())
        p: Autoregressive = self.sample.reasoner.distribution(self.network(batch.inputs), batch)
        return p

    def judge(self, numbers: Tensor) -> Judge:
        """Whether programs give the answers of some questions."""
        return lambda rows, z: self.sample.part.judge(numbers[rows], z)

    def p(self, numbers: Sequence[int], programs: Tensor) -> list[float]:
        """p(z|x) of programs [program, time] of some questions."""
        found: list[float] = []
        for first in range(0, len(numbers), AT_ONCE):
            z = programs[first : first + AT_ONCE]
            with torch.inference_mode():
                p = self.distribution(torch.tensor(numbers[first : first + AT_ONCE]))
                found += p.score(torch.arange(len(z)), z).exp().tolist()
        return found

    def executed(self, k: int, z: Tensor) -> Executed:
        """A program [time] on the scene of question k."""
        scene = self.sample.scenes[int(self.sample.questions.scenes[k])]
        return Executed.of(program_of(z.tolist()), scene, self.sample.unique)

    def answered(self, k: int, p: float) -> Answered:
        questions = self.sample.questions
        true, read = questions.program(k), self.executed(k, self.programs[k])
        answer = questions.answer(k)
        assert answer is not None, "a part has questions with answers"
        return Answered(
            int(questions.numbers[k]),
            as_text(questions.text_words(k)),
            questions.kind(k),
            answer,
            read,
            p,
            None if true is None else Executed.of(true, read.scene, self.sample.unique),
        )


@dataclass(frozen=True)
class Answered:
    """A question with what was read in it, and what is true."""

    number: int
    """what its source calls it"""
    text: str
    kind: Kind | None
    answer: str
    read: Executed
    p: float
    """p(z|x) of the program that was read"""
    true: Executed | None
    """None where nobody knows"""

    @property
    def scene(self) -> Scene:
        return self.read.scene


def as_text(words: Sequence[str]) -> str:
    """Words as a sentence; a data set keeps no capitals and no question mark.

    >>> as_text(("there", "is", "a", "cube", ";", "what", "color", "is", "it"))
    'There is a cube; what color is it?'
    """
    text = " ".join(words).replace(" ;", ";").replace(" ,", ",")
    return f"{text[:1].upper()}{text[1:]}?"


@dataclass(frozen=True)
class WrongAnswers:
    """The mistakes in a sample: how many there are, and some of them."""

    wrong: int
    lucky: int
    shown_wrong: tuple[Answered, ...]
    shown_lucky: tuple[Answered, ...]


def wrong_answers(readings: Readings, limit: int) -> WrongAnswers:
    """Kinds of question take turns, the most confident mistake of each first; a few are lucky ones."""
    wrong, lucky = readings.wrong, readings.lucky
    places = min(len(lucky), max(LUCKY, limit - len(wrong)))
    return WrongAnswers(
        len(wrong), len(lucky), _some(readings, wrong, limit - places), _some(readings, lucky, places)
    )


def _some(readings: Readings, numbers: list[int], limit: int) -> tuple[Answered, ...]:
    chances = dict(zip(numbers, readings.p(numbers, readings.programs[numbers]), strict=True))
    order = sorted(numbers, key=lambda k: (-chances[k], k))
    taken = islice(in_turn(order, readings.kind), limit)
    return tuple(readings.answered(k, chances[k]) for k in taken)
