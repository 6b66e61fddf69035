"""Questions about scenes: the scenes, the program and the answer of a question, and its correction."""

from __future__ import annotations

from functools import lru_cache
from math import exp
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Response

from ngs.apps.serve.asked_scenes import SCENES, AskedScene, Example, asked_scenes
from ngs.apps.serve.limits import Limits
from ngs.apps.serve.messages import Message, part
from ngs.apps.serve.playground import Playground
from ngs.apps.serve.program_view import (
    NeighbourLine,
    Outcome,
    ProgramLine,
    RightLine,
    StepNode,
    line,
    neighbour_lines,
    outcome,
    right_lines,
    tree,
)
from ngs.apps.serve.scene_picture import PictureBox, scene_picture
from ngs.apps.serve.scene_view import SceneLine, SceneView, scene_line, scene_view
from ngs.tasks.clevr.correction import ProgramCorrection, correct
from ngs.tasks.clevr.program_text import Executed
from ngs.tasks.clevr.reading import QuestionReader, QuestionReading
from ngs.tasks.clevr.scenes import ANSWERS

ALTERNATIVES = 5
"""Other programs of a question that are shown."""
LISTED = 10
"""Neighbours and right programs that are shown."""
NO_READER = "no network reads questions yet; train one with `ngs train clevr`, and start `ngs serve` again"

KEPT = {"Cache-Control": "private, max-age=3600"}
"""By a browser: a scene is always the same."""

UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such scene."}}
UNREAD: dict[int | str, dict[str, Any]] = {409: {"description": "No network reads questions yet."}}


SceneId = Annotated[int, Path(ge=0, description="Of the scene.", examples=[0])]


class Question(Message):
    """A question about a scene."""

    scene: int = part("Its id.", 0, ge=0, lt=SCENES)
    question: str = part(
        "In English.",
        "How many red cubes are left of the big sphere?",
        min_length=1,
        max_length=Limits.question,
    )


class QuestionAndAnswer(Question):
    """A question with its true answer."""

    answer: str = part(f"One of {', '.join(ANSWERS)}.", "2", min_length=1, max_length=Limits.answer)


class Phrase(Message):
    """What the dictionary makes of some words."""

    phrase: str = part("As it was asked.", "shiny")
    module: str = part("What it says.", "filter_material[metal]")


class Asked(Outcome):
    """What a question was understood as, and its answer."""

    probability: float = part("p(program | question)", 0.97)
    understood: list[Phrase] = part("In the order of the question.")
    unseen: list[str] = part("Words that did not occur in training.")
    alternatives: list[ProgramLine] = part("Other programs, the likeliest first.")


class QuestionCorrected(Outcome):
    """What back-search makes of a question with a known answer."""

    right: bool = part("Whether the program gives the answer as it stands.")
    neighbours: list[NeighbourLine] = part(
        "Programs one step away, the likeliest first, with the chosen one; none where the program is right."
    )
    neighbours_in_all: int = part("How many there are.")
    change: str | None = part("What the chosen step does; null where there is none.")
    corrected: StepNode | None = part("Null where no neighbour gives the answer.")
    posterior: list[RightLine] = part("What gives the answer at all, the likeliest first.")
    evidence: float = part("p(answer | question), or what is known of it at least.")
    exact: bool = part("Whether all programs were looked at, not only likely ones.")
    looked_at: int = part("How many programs were looked at.")


def asking_router(playground: Playground) -> APIRouter:
    """Everything under /api/scenes and /api/ask."""
    router = APIRouter(prefix="/api", tags=["questions"])

    @router.get("/scenes", summary="The scenes that one may ask about")
    def scenes() -> list[SceneLine]:
        return [scene_line(number, asked) for number, asked in enumerate(asked_scenes())]

    @router.get("/scenes/{id}", summary="A scene, and questions to ask about it", responses=UNKNOWN)
    def scene(id: SceneId) -> SceneView:
        asked = _scene(id)
        with playground.jobs:
            return scene_view(id, asked, _misread(id, playground.reader))

    @router.get(
        "/scenes/{id}/picture",
        summary="A picture of a scene",
        description="A PNG of 480 x 320 pixels, rendered from the scene's annotation.",
        response_class=Response,
        responses={**UNKNOWN, 200: {"content": {"image/png": {}}}},
    )
    def picture(id: SceneId) -> Response:
        _scene(id)
        with playground.jobs:
            return Response(scene_picture(id).png, media_type="image/png", headers=KEPT)

    @router.get(
        "/scenes/{id}/boxes", summary="Where the objects of a scene are in its picture", responses=UNKNOWN
    )
    def boxes(id: SceneId) -> list[PictureBox | None]:
        """In the order of their numbers; null for what is hidden behind others."""
        _scene(id)
        with playground.jobs:
            return list(scene_picture(id).boxes)

    @router.post("/ask", summary="Answer a question about a scene, and show how", responses=UNREAD)
    def ask(given: Question) -> Asked:
        reader = _reader(playground)
        with playground.jobs:
            return _asked(reader, given, asked_scenes()[given.scene])

    @router.post("/ask/correct", summary="What was misread, if this is the answer", responses=UNREAD)
    def ask_correct(given: QuestionAndAnswer) -> QuestionCorrected:
        reader = _reader(playground)
        with playground.jobs:
            scene = asked_scenes()[given.scene].scene
            return _corrected(correct(reader, given.question, scene, given.answer.strip().lower()))

    return router


def _scene(id: int) -> AskedScene:
    if id >= SCENES:
        raise HTTPException(404, f"there is no scene {id}; choose from 0 to {SCENES - 1}")
    return asked_scenes()[id]


def _reader(playground: Playground) -> QuestionReader:
    if playground.reader is None:
        raise HTTPException(409, NO_READER)
    return playground.reader


@lru_cache(maxsize=2 * SCENES)
def _misread(number: int, reader: QuestionReader | None) -> Example | None:
    return None if reader is None else asked_scenes()[number].misread(reader)


def _asked(reader: QuestionReader, given: Question, asked: AskedScene) -> Asked:
    # The program is that which /ask/correct starts from: the first, not the best that a wider beam finds.
    reading = reader.read(given.question)
    first = reading.programs[0]
    executed = Executed.of(first.program, asked.scene, reader.unique)
    return Asked(
        **outcome(executed),
        probability=first.probability,
        understood=[Phrase(phrase=phrase, module=module) for module, phrase in reading.understood.reading],
        unseen=list(reading.unseen),
        alternatives=_alternatives(reader, reading, asked),
    )


def _alternatives(reader: QuestionReader, reading: QuestionReading, asked: AskedScene) -> list[ProgramLine]:
    """Likely programs, without the one that is told anyway."""
    wider = reader.read(reading.text, ALTERNATIVES + 1).programs
    others = [each for each in wider if each.program != reading.programs[0].program]
    return [
        line(each.program, each.log_prob, Executed.of(each.program, asked.scene, reader.unique))
        for each in others[:ALTERNATIVES]
    ]


def _corrected(correction: ProgramCorrection) -> QuestionCorrected:
    right = correction.alternatives
    return QuestionCorrected(
        right=correction.search.is_right,
        **outcome(correction.first),
        neighbours=neighbour_lines(correction, LISTED),
        neighbours_in_all=len(correction.neighbours),
        change=correction.search.change,
        corrected=None if correction.corrected is None else tree(correction.corrected),
        posterior=right_lines(correction, LISTED),
        evidence=exp(right.log_evidence) if right.programs else 0.0,
        exact=right.exact,
        looked_at=right.of,
    )
