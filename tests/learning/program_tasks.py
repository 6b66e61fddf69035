"""What the tests of learning programs share: questions about small scenes, with few programs each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import numpy as np
import torch
from ngs.learning.questions import QuestionBatch, QuestionExamples
from ngs.networks.decoding import Policy
from torch import Tensor

from ngs.grammar.constraint import Given, enumerate_sentences
from ngs.grammar.padding import PAD
from ngs.networks.pointer import PointerNetwork
from ngs.reasoning.operation import UNDEFINED
from ngs.tasks.clevr.batched_execution import SceneTables, execute_batch
from ngs.tasks.clevr.execution import execute, spoken
from ngs.tasks.clevr.language import Programs
from ngs.tasks.clevr.program import Program
from ngs.tasks.clevr.scenes import ANSWERS, Scene
from tests.networks.asked import questions
from tests.tasks.clevr.programs import LANGUAGES, arranged, counts_of, encoded, random_programs
from tests.tasks.clevr.test_execution import random_scene

NEVER = -2
"""An answer that no program gives."""
FEW, MANY = 3, 60
"""Programs that the modules of a question allow here."""


@dataclass(frozen=True)
class Answers:
    """Whether programs give the answers to questions, each about a scene of its own."""

    tables: SceneTables
    answers: Tensor
    """[question]"""

    def __call__(self, numbers: Tensor, columns: Tensor) -> Tensor:
        return execute_batch(self.tables, columns, numbers) == self.answers[numbers]


@dataclass(frozen=True)
class Task:
    """Questions to learn from, and what they were made of."""

    examples: QuestionExamples
    programs: list[Program]
    scenes: list[Scene]

    def right_programs(self, question: int) -> list[Program]:
        """Every tidy program of its modules with its answer, found one by one."""
        wanted = self.answer(self.programs[question], question)
        return [z for z in arranged("tidy", self.programs[question]) if self.answer(z, question) == wanted]

    def answer(self, program: Program, question: int) -> object:
        return execute(program, self.scenes[question])

    def unreachable(self, *questions: int) -> Task:
        """The same, where no program answers some of the questions."""
        judge = self.examples.judge
        assert isinstance(judge, Answers)
        answers = judge.answers.clone()
        answers[list(questions)] = NEVER
        return replace(self, examples=replace(self.examples, judge=replace(judge, answers=answers)))


def task(number: int, seed: int) -> Task:
    """`number` questions whose modules can be arranged in FEW to MANY tidy programs, true ones among them."""
    rng = Random(seed)
    programs, scenes = [], []
    for program in random_programs(rng, 100 * number, 12):
        ways = enumerate_sentences(LANGUAGES["tidy"], Given(multiset=counts_of([program])), MANY)
        scene = random_scene(rng, rng.randint(2, 5))
        if ways.complete and len(ways.rows) >= FEW and execute(program, scene) is not UNDEFINED:
            programs.append(program)
            scenes.append(scene)
        if len(programs) == number:
            break
    assert len(programs) == number
    return Task(_examples(rng, programs, scenes), programs, scenes)


def _examples(rng: Random, programs: list[Program], scenes: list[Scene]) -> QuestionExamples:
    asked = questions(rng, programs)
    spoken_of = asked.keywords.argmax(2, keepdim=True).masked_fill(~asked.keywords.any(2, keepdim=True), PAD)
    answers = [spoken(execute(z, scene)) for z, scene in zip(programs, scenes, strict=True)]
    return QuestionExamples(
        asked.words.int(),
        asked.modules.to(torch.int8),
        torch.nn.functional.pad(spoken_of, (0, 1), value=PAD).to(torch.int8),
        LANGUAGES["tidy"],
        Answers(SceneTables.of(scenes), torch.tensor([ANSWERS.index(str(answer)) for answer in answers])),
        encoded(programs).to(torch.int8),
    )


def whole(examples: QuestionExamples) -> QuestionBatch:
    """All questions as one batch."""
    return examples.batch(np.arange(len(examples)))


def beliefs(reader: PointerNetwork, batch: QuestionBatch) -> Policy:
    return batch.beliefs(reader(batch.inputs))


def gradient(loss: Tensor, reader: PointerNetwork) -> Tensor:
    """By all weights, as one row of numbers."""
    parts = torch.autograd.grad(loss, [*reader.parameters()], retain_graph=True)
    return torch.cat([part.flatten() for part in parts])


def moved(examples: QuestionExamples, device: str) -> QuestionExamples:
    """On a device, the language too."""
    judge, language = examples.judge, examples.language
    assert isinstance(judge, Answers) and isinstance(language, Programs) and examples.labels is not None
    return QuestionExamples(
        examples.words.to(device),
        examples.modules.to(device),
        examples.keywords.to(device),
        type(language)().to(device),
        Answers(judge.tables.to(device), judge.answers.to(device)),
        examples.labels.to(device),
    )
