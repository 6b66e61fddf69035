"""Questions as a network answers them, and what back-search makes of where it is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from ngs.experiments.report.corrections import MORE_STEPS, ONE_STEP, Fate, Searches
from ngs.experiments.report.readings import Readings, in_turn, some_of
from ngs.learning.metrics import read_all
from ngs.parsing.autoregressive import Autoregressive
from ngs.search.back_search import Corrections
from ngs.tasks.clevr.correction import correct
from ngs.tasks.clevr.dataset import Questions
from ngs.tasks.clevr.examples import Part
from ngs.tasks.clevr.explanation import drawn_correction
from ngs.tasks.clevr.preparation import load_reader, part_of
from ngs.tasks.clevr.program import Kind, Program, program_of
from ngs.tasks.clevr.program_text import Executed, shown_answer
from ngs.tasks.clevr.reading import QuestionReader
from ngs.tasks.clevr.scenes import Scene
from ngs.tasks.clevr.scores import Outcome, ProgramScores, outcomes, same_meaning, scores_of
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.trainable import Parts


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


@dataclass(frozen=True, eq=False)
class QuestionReadings(Readings):
    """What a network makes of some questions."""

    noun: ClassVar[str] = "questions"
    at_once: ClassVar[int] = 32
    examined: ClassVar[int | None] = 5_000
    places: ClassVar[tuple[int, int]] = (12, 4)

    config: TrainCLEVR
    reader: QuestionReader
    part: Part
    scenes: Sequence[Scene]
    not_understood: int
    """questions of the whole part that nobody can read"""

    @classmethod
    def read(
        cls, run: Path, file: str, config: TrainCLEVR, parts: Parts[Any, Any], part: str, limit: int | None
    ) -> Self:
        every: Part = getattr(parts, part)
        questions = every.questions.select(some_of(len(every.questions), limit))
        made = part_of(config, questions, every.judge.tables, torch.device("cpu"))
        reader, reasoner = load_reader(run, file), made.reasoner(config.edits)
        reading = read_all(reader.network, reasoner)
        of, unread = len(every.questions), len(every.not_understood)
        return cls(reasoner, reading, of, config, reader, made, parts.data.scenes, unread)

    @property
    def questions(self) -> Questions:
        return self.part.questions

    @cached_property
    def outcomes(self) -> Sequence[Outcome]:
        return outcomes(self.questions, self.reading.symbols, self.reading.right)

    @property
    def scores(self) -> ProgramScores:
        """Without what is not understood."""
        return scores_of(self.outcomes)

    def means(self, numbers: Sequence[int], z: Tensor) -> list[bool | None]:
        programs = map(program_of, z.tolist())
        return [
            same_meaning(read, self.questions.program(k)) for k, read in zip(numbers, programs, strict=True)
        ]

    @torch.inference_mode()
    def distribution(self, numbers: Tensor) -> Autoregressive:
        batch = self.examples.batch(numbers.numpy())
        p: Autoregressive = self.reasoner.distribution(self.reader.network(batch.inputs), batch)
        return p

    @torch.inference_mode()
    def p(self, numbers: Sequence[int], programs: Tensor) -> list[float]:
        """p(z|x) of programs [program, time] of some questions."""
        found: list[float] = []
        for first in range(0, len(numbers), self.at_once):
            z = programs[first : first + self.at_once]
            p = self.distribution(torch.tensor(numbers[first : first + self.at_once]))
            found += p.score(torch.arange(len(z)), z).exp().tolist()
        return found

    def turn(self, number: int) -> tuple[int]:
        """By the kind of question; first those whose kind nobody knows."""
        kind = self.questions.kind(number)
        return (-1 if kind is None else list(Kind).index(kind),)

    def most_confident(self, numbers: list[int]) -> Iterator[int]:
        """Of each kind of question in turn."""
        p = dict(zip(numbers, self.p(numbers, self.reading.symbols[numbers]), strict=True))
        return in_turn(sorted(numbers, key=lambda k: (-p[k], k)), self.turn)

    def shown(self, number: int) -> Answered:
        questions, z = self.questions, self.reading.symbols[number]
        true, read, answer = questions.program(number), self.executed(number, z), questions.answer(number)
        (p,) = self.p([number], z[None])
        assert answer is not None, "a part has questions with answers"
        return Answered(
            int(questions.numbers[number]),
            as_text(questions.text_words(number)),
            questions.kind(number),
            answer,
            read,
            p,
            None if true is None else Executed.of(true, read.scene, self.reader.unique),
        )

    def executed(self, number: int, z: Tensor) -> Executed:
        """A program [time] on the scene of a question."""
        scene = self.scenes[int(self.questions.scenes[number])]
        return Executed.of(program_of(z.tolist()), scene, self.reader.unique)


@dataclass(frozen=True)
class CorrectedQuestion:
    """A wrong answer, and what 1-BS made of it."""

    answered: Answered
    fate: Fate
    correction: Executed | None
    p: float
    """p(z|x) of the correction"""


@dataclass(frozen=True, eq=False)
class QuestionSearches(Searches[QuestionReadings]):
    """The wrongly answered questions after both searches."""

    kinds: ClassVar[Sequence[str]] = ("true", MORE_STEPS, "none", "spurious", "unjudged")
    reads: ClassVar[type[Readings]] = QuestionReadings

    def corrected(self, k: int) -> CorrectedQuestion:
        number, fate, z = self.readings.wrong[k], self.fates[ONE_STEP][k], self.one.z[k]
        answered = self.readings.shown(number)
        if fate is Fate.NONE:
            return CorrectedQuestion(answered, fate, None, 0.0)
        (p,) = self.readings.p([number], z[None])
        return CorrectedQuestion(answered, fate, self.readings.executed(number, z), p)

    def example(self, k: int) -> tuple[dict[str, Any], str]:
        answered = self.readings.shown(self.readings.wrong[k])
        text, answer = answered.text, answered.answer
        correction = correct(self.readings.reader, text, answered.scene, answer, few=1)
        facts = {
            "question": text,
            "number": answered.number,
            "answer": answer,
            "true": None if answered.true is None else _text(answered.true.program),
            "read": _text(answered.read.program),
            "value": shown_answer(answered.read.answer),
            "p_read": answered.p,
            "change": correction.search.change,
            "one_step": _found(self.one, k),
            "multi_step": _found(self.several, k),
        }
        return facts, drawn_correction(correction)


def _text(program: Program) -> str:
    return " ".join(program)


def _found(corrections: Corrections, k: int) -> str | None:
    return _text(program_of(corrections.z[k].tolist())) if corrections.found[k] else None


def as_text(words: Sequence[str]) -> str:
    """Words as a sentence; a data set keeps no capitals and no question mark.

    >>> as_text(("there", "is", "a", "cube", ";", "what", "color", "is", "it"))
    'There is a cube; what color is it?'
    """
    text = " ".join(words).replace(" ;", ";").replace(" ,", ",")
    return f"{text[:1].upper()}{text[1:]}?"
