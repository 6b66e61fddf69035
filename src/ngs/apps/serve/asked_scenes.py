"""The scenes that visitors ask about: a dozen of the embedded ones, each with questions that have answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from ngs.apps.embedded_scenes import embedded_scenes
from ngs.tasks.clevr.dataset import QuestionRecord
from ngs.tasks.clevr.program import Program, kind_of
from ngs.tasks.clevr.program_text import Executed
from ngs.tasks.clevr.question_sampling import questions
from ngs.tasks.clevr.reading import QuestionReader, understand
from ngs.tasks.clevr.scenes import Scene

SCENES = 12
MADE_UP, SHOWN = 20, 6
"""Questions about each scene: that are made up, and that are shown at most."""


@dataclass(frozen=True)
class Example:
    """A question with its true answer."""

    question: str
    answer: str
    program: Program
    """what it means"""


@dataclass(frozen=True)
class AskedScene:
    """A scene, and what one may ask about it."""

    scene: Scene
    made_up: tuple[Example, ...]

    @property
    def examples(self) -> list[Example]:
        """The shortest of each kind; the simplest first."""
        shortest = sorted(self.made_up, key=lambda each: (len(each.program), len(each.question)))
        by_kind = {kind_of(each.program): each for each in reversed(shortest)}
        return sorted(by_kind.values(), key=shortest.index)[:SHOWN]

    def misread(self, reader: QuestionReader) -> Example | None:
        """The shortest whose answer a reader gets wrong: there, a correction has something to correct."""
        for each in sorted(self.made_up, key=lambda each: len(each.program)):
            program = reader.read(each.question).programs[0].program
            if Executed.of(program, self.scene, reader.unique).answer != each.answer:
                return each
        return None


@cache
def asked_scenes() -> tuple[AskedScene, ...]:
    """All of them: always the same, in a fraction of a second."""
    scenes = embedded_scenes(SCENES)
    records = list(questions(scenes, MADE_UP, np.random.default_rng(0)))
    return tuple(AskedScene(scene, _examples(number, records)) for number, scene in enumerate(scenes))


def _examples(number: int, records: Sequence[QuestionRecord]) -> tuple[Example, ...]:
    return tuple(
        Example(each.text, each.answer, each.program)
        for each in records
        if each.scene == number and each.answer and each.program and understand(each.text)
    )
