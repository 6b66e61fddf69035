"""A scene as the page gets it: its objects with their places, and questions to ask."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from ngs.apps.serve.asked_scenes import AskedScene, Example
from ngs.experiments.report.scene_drawing import MARGIN, seen_from_above
from ngs.tasks.clevr.program_text import description
from ngs.tasks.clevr.scene_sampling import RADIUS
from ngs.tasks.clevr.scenes import Scene


class SceneLine(BaseModel):
    """A scene in the list of scenes."""

    model_config = ConfigDict(extra="forbid")

    id: int = Field(description="What to ask for it by.", examples=[0])
    objects: int = Field(description="How many objects it has.", examples=[5])


class SceneObject(BaseModel):
    """An object of a scene, seen from above; what is in front is below."""

    model_config = ConfigDict(extra="forbid")

    number: int = Field(description="What steps of programs call it; counted from 0.", examples=[0])
    color: str = Field(examples=["red"], description="One of eight.")
    shape: str = Field(examples=["cube"], description="cube, sphere or cylinder.")
    size: str = Field(examples=["small"], description="small or large.")
    material: str = Field(examples=["rubber"], description="rubber or metal.")
    text: str = Field(examples=["small red rubber cube"], description="All of that in words.")
    x: float = Field(ge=0, le=1, description="Of its middle, as a share of the ground's width.")
    y: float = Field(ge=0, le=1, description="Of its middle, as a share of the ground's height, down.")
    radius: float = Field(ge=0, le=1, description="As a share of the ground's width.")


class PictureBox(BaseModel):
    """Around what shows of an object in the picture of its scene."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)

    left: float = Field(ge=0, le=1, description="As a share of the picture's width.", examples=[0.4])
    top: float = Field(ge=0, le=1, description="As a share of the picture's height, down.", examples=[0.5])
    width: float = Field(ge=0, le=1, description="As a share of the picture's width.", examples=[0.1])
    height: float = Field(ge=0, le=1, description="As a share of the picture's height.", examples=[0.2])


class ExampleQuestion(BaseModel):
    """A question with its true answer."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(examples=["How many cubes are there?"], description="In English.")
    answer: str = Field(examples=["2"], description="The true one.")


class SceneView(BaseModel):
    """A scene to ask about."""

    model_config = ConfigDict(extra="forbid")

    id: int = Field(description="What to ask for it by.", examples=[0])
    objects: list[SceneObject] = Field(description="In the order of their numbers.")
    examples: list[str] = Field(description="Questions that have an answer, the simplest first.")
    answers: list[str] = Field(description="The true answers of the examples.")
    misread: ExampleQuestion | None = Field(
        description="A question that the reader answers wrongly, to see it corrected; null where it answers "
        "all that were tried, or where there is no reader."
    )
    width: float = Field(description="Of the ground that is shown, in units of length.")
    height: float = Field(description="Of the ground that is shown, in units of length.")


def scene_line(number: int, asked: AskedScene) -> SceneLine:
    return SceneLine(id=number, objects=len(asked.scene.things))


def scene_view(number: int, asked: AskedScene, misread: Example | None) -> SceneView:
    examples = asked.examples
    width, height = _size(asked.scene)
    return SceneView(
        id=number,
        objects=_objects(asked.scene),
        examples=[each.question for each in examples],
        answers=[each.answer for each in examples],
        misread=None
        if misread is None
        else ExampleQuestion(question=misread.question, answer=misread.answer),
        width=width,
        height=height,
    )


def _objects(scene: Scene) -> list[SceneObject]:
    places, (width, height) = seen_from_above(scene), _size(scene)
    left, top = min(x for x, _ in places) - MARGIN, min(y for _, y in places) - MARGIN
    return [
        SceneObject(
            number=number,
            color=thing.color,
            shape=thing.shape,
            size=thing.size,
            material=thing.material,
            text=description(thing),
            x=(x - left) / width,
            y=(y - top) / height,
            radius=RADIUS[thing.size] / width,
        )
        for number, (thing, (x, y)) in enumerate(zip(scene.things, places, strict=True))
    ]


def _size(scene: Scene) -> tuple[float, float]:
    """Of the ground that is shown."""
    xs, ys = zip(*seen_from_above(scene), strict=True)
    return max(xs) - min(xs) + 2 * MARGIN, max(ys) - min(ys) + 2 * MARGIN
