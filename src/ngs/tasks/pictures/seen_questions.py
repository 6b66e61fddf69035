"""Questions answered from pixels; whether a wrong answer is due to seeing or to reading."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
import torch

from ngs.errors import DataError, ParseError
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

    SEEING = "seeing"  # only the true program on the seen scene is wrong
    READING = "reading the question"  # only the read program on the true scene is wrong
    BOTH = "both"  # both are wrong, or only together


@dataclass(frozen=True)
class Asked:
    """A question with the answer from pixels and the true one."""

    picture: str
    text: str
    true: str
    given: str | None  # None: undefined
    cause: Cause | None  # None: the answer is right


@dataclass(frozen=True)
class PixelAnswers:
    """Answers to questions about pictures."""

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
    """None if more was seen than a scene can hold."""
    try:
        return scene_of(seen, name)
    except DataError:
        return None


def _asked(
    record: QuestionRecord, picture: str, true: Scene, seen: Scene | None, reads: QuestionReader
) -> Asked:
    """Answer a question with the read program on the seen scene."""
    assert record.program is not None and record.answer is not None, "sampled questions have both"
    try:
        program = reads.read(record.text).programs[0].program
    except ParseError:
        program = None  # the question is not understood

    def answer(program: Program | None, scene: Scene | None) -> str | None:
        if program is None or scene is None:
            return None
        return Executed.of(program, scene, reads.unique).answer

    given, cause = answer(program, seen), None
    if given != record.answer:
        seen_well, read_well = answer(record.program, seen), answer(program, true)
        causes = {(False, True): Cause.SEEING, (True, False): Cause.READING}
        cause = causes.get((seen_well == record.answer, read_well == record.answer), Cause.BOTH)
    return Asked(picture, record.text, record.answer, given, cause)
