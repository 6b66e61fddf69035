"""A scene as the page gets it: its objects with their places, and questions to ask."""

from __future__ import annotations

from ngs.apps.serve.asked_scenes import AskedScene, Example
from ngs.apps.serve.messages import Message, Share, part
from ngs.experiments.report.scene_drawing import MARGIN, seen_from_above
from ngs.tasks.clevr.program_text import description
from ngs.tasks.clevr.scene_sampling import RADIUS
from ngs.tasks.clevr.scenes import ATTRIBUTES


class SceneLine(Message):
    """A scene in the list of scenes."""

    id: int = part("What to ask for it by.", 0)
    objects: int = part("How many objects it has.", 5)


class SceneObject(Message):
    """An object of a scene, seen from above; what is in front is below."""

    number: int = part("What steps of programs call it; counted from 0.", 0)
    color: str = part("One of eight.", "red")
    shape: str = part("cube, sphere or cylinder.", "cube")
    size: str = part("small or large.", "small")
    material: str = part("rubber or metal.", "rubber")
    text: str = part("All of that in words.", "small red rubber cube")
    x: Share = part("Of its middle, as a share of the ground's width.")
    y: Share = part("Of its middle, as a share of the ground's height, down.")
    radius: Share = part("As a share of the ground's width.")


class ExampleQuestion(Message):
    """A question with its true answer."""

    question: str = part("In English.", "How many cubes are there?")
    answer: str = part("The true one.", "2")


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
    width: float = part("Of the ground that is shown, in units of length.")
    height: float = part("Of the ground that is shown, in units of length.")


def scene_line(number: int, asked: AskedScene) -> SceneLine:
    return SceneLine(id=number, objects=len(asked.scene.things))


def scene_view(number: int, asked: AskedScene, misread: Example | None) -> SceneView:
    places = seen_from_above(asked.scene)
    (left, right), (top, bottom) = ((min(each), max(each)) for each in zip(*places, strict=True))
    width, height = right - left + 2 * MARGIN, bottom - top + 2 * MARGIN
    objects = [
        SceneObject(
            number=k,
            **{name: getattr(thing, name) for name in ATTRIBUTES},
            text=description(thing),
            x=(x - left + MARGIN) / width,
            y=(y - top + MARGIN) / height,
            radius=RADIUS[thing.size] / width,
        )
        for k, (thing, (x, y)) in enumerate(zip(asked.scene.things, places, strict=True))
    ]
    return SceneView(
        id=number,
        objects=objects,
        examples=[each.question for each in asked.examples],
        answers=[each.answer for each in asked.examples],
        misread=None if misread is None else ExampleQuestion.model_validate(misread),
        width=width,
        height=height,
    )
