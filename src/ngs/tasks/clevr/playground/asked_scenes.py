"""The scenes that visitors ask about: a dozen of the embedded ones, as the page gets them, with questions."""

import threading
from dataclasses import dataclass
from functools import cache, lru_cache
from io import BytesIO

import numpy as np
import torch

from ngs.tasks.clevr.embedded import embedded_scenes
from ngs.tasks.clevr.program import Program, kind_of
from ngs.tasks.clevr.program_text import Executed, description
from ngs.tasks.clevr.question_sampling import questions
from ngs.tasks.clevr.reading import QuestionReader, understand
from ngs.tasks.clevr.scene_drawing import drawing
from ngs.tasks.clevr.scene_sampling import HEIGHT, WIDTH
from ngs.tasks.clevr.scenes import Scene
from ngs.tasks.pictures.camera import fitted_camera
from ngs.tasks.pictures.picture_file import as_image
from ngs.tasks.pictures.rendering.renderer import boxes, render
from ngs.tasks.playground.messages import Message, Share, part

SCENES = 12
MADE_UP, SHOWN = 20, 6  # questions about each scene: that are made up, and that are shown at most
LEAST_SEEN = 20  # pixels of an object that show; of one with fewer, nobody sees what it is

_RENDERING = threading.Lock()
"""A page asks for the picture and for its boxes at once; the second waits for what the first renders."""


class SceneLine(Message):
    """A scene in the list of scenes."""

    id: int = part("What to ask for it by.", 0)
    objects: int = part("How many objects it has.", 5)


class SceneObject(Message):
    """An object of a scene."""

    number: int = part("What steps of programs call it; counted from 0.", 0)
    color: str = part("One of eight.", "red")
    shape: str = part("cube, sphere or cylinder.", "cube")
    size: str = part("small or large.", "small")
    material: str = part("rubber or metal.", "rubber")
    text: str = part("All of that in words.", "small red rubber cube")


class ExampleQuestion(Message):
    """A question with its true answer."""

    question: str = part("In English.", "How many cubes are there?")
    answer: str = part("The true one.", "2")


class Example(ExampleQuestion):
    """One of our own. The page does not get its meaning."""

    program: Program


class SceneView(Message):
    """A scene to ask about."""

    id: int = part("What to ask for it by.", 0)
    objects: list[SceneObject] = part("In the order of their numbers.")
    examples: list[str] = part("Questions that have an answer, the simplest first.")
    answers: list[str] = part("The true answers of the examples.")
    misread: ExampleQuestion | None = part(
        "A question that the reader answers wrongly, to see it corrected; null where it answers "
        "all that were tried, or where there is no reader."
    )
    above: str = part("Seen from above, with a group for each object: SVG to be put into a page.", "<svg …")


class PictureBox(Message):
    """Around what shows of an object in the picture of its scene."""

    left: Share = part("As a share of the picture's width.", 0.4)
    top: Share = part("As a share of the picture's height, down.", 0.5)
    width: Share = part("As a share of the picture's width.", 0.1)
    height: Share = part("As a share of the picture's height.", 0.2)


@dataclass(frozen=True, eq=False)
class AskedScene:
    number: int
    scene: Scene
    made_up: tuple[Example, ...]

    @property
    def examples(self) -> list[Example]:
        shortest = sorted(self.made_up, key=lambda each: (len(each.program), len(each.question)))
        by_kind = {kind_of(each.program): each for each in reversed(shortest)}
        return sorted(by_kind.values(), key=shortest.index)[:SHOWN]

    def view(self, reader: QuestionReader | None) -> SceneView:
        objects = [
            SceneObject(number=k, text=description(thing), **thing.attributes)
            for k, thing in enumerate(self.scene.things)
        ]
        return SceneView(
            id=self.number,
            objects=objects,
            examples=[each.question for each in self.examples],
            answers=[each.answer for each in self.examples],
            misread=None if reader is None else misread(self, reader),
            above=drawing(self.scene, {}),
        )

    def picture(self) -> tuple[bytes, list[PictureBox | None]]:
        """A PNG as a camera would take it, and where each object is in it; None where others hide it."""
        with _RENDERING:
            return _rendered(self)


@cache
def asked_scenes() -> tuple[AskedScene, ...]:
    """All of them: always the same, in a fraction of a second."""
    scenes = embedded_scenes(SCENES)
    made_up: list[list[Example]] = [[] for _ in scenes]
    for each in questions(scenes, MADE_UP, np.random.default_rng(0)):
        if each.answer and each.program and understand(each.text):
            made_up[each.scene].append(Example(question=each.text, answer=each.answer, program=each.program))
    return tuple(AskedScene(k, scene, tuple(made_up[k])) for k, scene in enumerate(scenes))


@lru_cache(maxsize=2 * SCENES)
def misread(asked: AskedScene, reader: QuestionReader) -> Example | None:
    """The shortest whose answer a reader gets wrong: there, a correction has something to correct."""
    for each in sorted(asked.made_up, key=lambda each: len(each.program)):
        program = reader.read(each.question).programs[0].program
        if Executed.of(program, asked.scene, reader.unique).answer != each.answer:
            return each
    return None


@cache
def _rendered(asked: AskedScene) -> tuple[bytes, list[PictureBox | None]]:
    camera = torch.tensor([fitted_camera(asked.scene)])
    rendering = render([asked.scene], camera, torch.Generator().manual_seed(asked.number))
    edges, seen = (each[0, : len(asked.scene.things)] for each in boxes(rendering.instances))
    file = BytesIO()
    as_image(rendering.images[0]).save(file, "PNG")
    shown = zip((edges / torch.tensor([WIDTH, HEIGHT] * 2)).tolist(), seen.tolist(), strict=True)
    return file.getvalue(), [
        None if pixels < LEAST_SEEN else PictureBox(left=x, top=y, width=right - x, height=bottom - y)
        for (x, y, right, bottom), pixels in shown
    ]
