"""Questions answered from pixels: what is right, and whether a wrong answer was seen or read wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
import torch

from ngs.errors import DataError, NGSError, ParseError
from ngs.tasks.clevr.dataset import QuestionRecord
from ngs.tasks.clevr.preparation import load_reader
from ngs.tasks.clevr.program import Program
from ngs.tasks.clevr.program_text import Executed
from ngs.tasks.clevr.question_sampling import questions as sample_questions
from ngs.tasks.clevr.reading import QuestionReader
from ngs.tasks.clevr.scenes import Scene
from ngs.tasks.pictures.preparation import load_scene_reader, test_part
from ngs.tasks.pictures.scene_scores import see_all
from ngs.tasks.pictures.seen_scene import SeenObjects, scene_of
from ngs.tasks.pictures.settings import TrainScenes
from ngs.tasks.pictures.trainable import SCENES
from ngs.tasks.run_folder import check_there, settings_for


class Cause(StrEnum):
    """Why an answer is wrong."""

    SEEING = "seeing"
    """the true program is wrong on what was seen, and the program that was read right on the true scene"""
    READING = "reading the question"
    """the other way round"""
    BOTH = "both"
    """each is wrong with the truth of the other; or only wrong together"""


@dataclass(frozen=True)
class Asked:
    """A question with the answer from pixels and the true one."""

    picture: str
    text: str
    true: str
    given: str | None
    """None where it is undefined"""
    cause: Cause | None
    """None where the answer is right"""


@dataclass(frozen=True)
class PixelAnswers:
    """What became of questions about pictures."""

    data: str
    pictures: int
    asked: Sequence[Asked]

    @property
    def right(self) -> int:
        return sum(each.cause is None for each in self.asked)

    def due_to(self, cause: Cause) -> int:
        return sum(each.cause is cause for each in self.asked)

    def as_facts(self) -> dict[str, object]:
        """For JSON; shares are of all questions."""
        number = max(len(self.asked), 1)
        return {
            "data": self.data,
            "pictures": self.pictures,
            "questions": len(self.asked),
            "answers": self.right / number,
            "errors": {cause.name.lower(): self.due_to(cause) / number for cause in Cause},
            "wrong": [
                {
                    "picture": each.picture,
                    "question": each.text,
                    "answer": each.true,
                    "given": each.given,
                    "due_to": each.cause.name.lower(),
                }
                for each in self.asked
                if each.cause is not None
            ],
        }


def ask_about_pictures(eyes: Path, reader: Path, per_picture: int, data: str | None = None) -> PixelAnswers:
    """Questions about the true scenes of a test part, answered from its pictures alone.

    `eyes` is a run that sees, `reader` one that reads questions; questions are the same each time.
    """
    if per_picture < 1:
        raise NGSError(f"{per_picture} questions a picture were asked for; ask for one or more")
    device = torch.device("cpu")
    if data is None:
        check_there(eyes, settings_for(eyes, SCENES, TrainScenes))
    name, pictures = test_part(eyes, data, device)
    seen = see_all(load_scene_reader(eyes).network, pictures)
    scenes = [_scene(each, shown) for each, shown in zip(seen, pictures.names, strict=True)]
    reads = load_reader(reader)
    shown = list(zip(pictures.names, pictures.scenes, scenes, strict=True))
    records = sample_questions(pictures.scenes, per_picture, np.random.default_rng(0))
    asked = [_asked(record, *shown[record.scene], reads) for record in records]
    return PixelAnswers(name, len(pictures), asked)


def _scene(seen: SeenObjects, name: str) -> Scene | None:
    """None where more was seen than a scene can hold: whatever is asked about it, there is no answer."""
    try:
        return scene_of(seen, name)
    except DataError:
        return None


def _asked(
    record: QuestionRecord, picture: str, true: Scene, seen: Scene | None, reads: QuestionReader
) -> Asked:
    """What becomes of a question: the program that is read, on the scene that is seen."""
    assert record.program is not None and record.answer is not None, "sampled questions have both"
    try:
        program = reads.read(record.text).programs[0].program
    except ParseError:
        program = None  # the question is not understood

    def answer(program: Program | None, scene: Scene | None) -> str | None:
        """None where it is undefined."""
        if program is None or scene is None:
            return None
        return Executed.of(program, scene, reads.unique).answer

    given, cause = answer(program, seen), None
    if given != record.answer:
        seen_well, read_well = answer(record.program, seen), answer(program, true)
        causes = {(False, True): Cause.SEEING, (True, False): Cause.READING}
        cause = causes.get((seen_well == record.answer, read_well == record.answer), Cause.BOTH)
    return Asked(picture, record.text, record.answer, given, cause)
