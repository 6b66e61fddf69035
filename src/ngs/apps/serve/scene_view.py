"""A scene as the page gets it: its objects with their places, and a drawing that can be marked."""

from __future__ import annotations

from xml.etree import ElementTree

from pydantic import BaseModel, ConfigDict, Field

from ngs.apps.serve.asked_scenes import AskedScene, Example
from ngs.experiments.report.scene_drawing import LABEL, MARGIN, UNIT, drawing, seen_from_above
from ngs.reasoning.scenes import Scene
from ngs.tasks.clevr.program_text import description
from ngs.tasks.clevr.scene_sampling import RADIUS


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
    x: float = Field(ge=0, le=1, description="Of its middle, as a share of the drawing's width.")
    y: float = Field(ge=0, le=1, description="Of its middle, as a share of the drawing's height, down.")
    radius: float = Field(ge=0, le=1, description="As a share of the drawing's width.")


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
    width: float = Field(description="Of the drawing, in pixels.")
    height: float = Field(description="Of the drawing, in pixels.")
    svg: str = Field(
        description='The drawing. Each object is a `<g data-object="0">`, numbered from 0; the label that is '
        "written on it counts from 1."
    )


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
        width=round(UNIT * width, 1),
        height=round(UNIT * height, 1),
        svg=_numbered(drawing(asked.scene, {})),
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
    """Of the drawing, in units of length."""
    xs, ys = zip(*seen_from_above(scene), strict=True)
    return max(xs) - min(xs) + 2 * MARGIN, max(ys) - min(ys) + 2 * MARGIN + LABEL


def _numbered(svg: str) -> str:
    """The drawing with the number of each object, so that a page can find it."""
    root = ElementTree.fromstring(svg)
    for number, thing in enumerate(root.iter("g")):
        thing.set("data-object", str(number))
    return ElementTree.tostring(root, encoding="unicode")
