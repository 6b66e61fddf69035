"""The tab to ask about scenes in: scenes, the program and the answer of a question, and its correction."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Response
from fastapi import Path as InPath

from ngs.tasks.clevr.correction import ProgramCorrection, correct
from ngs.tasks.clevr.execution import Step
from ngs.tasks.clevr.playground.asked_scenes import (
    SCENES,
    AskedScene,
    PictureBox,
    SceneLine,
    SceneView,
    asked_scenes,
)
from ngs.tasks.clevr.preparation import load_reader
from ngs.tasks.clevr.program_text import Executed, objects_of, shown_value
from ngs.tasks.clevr.reading import QuestionReader
from ngs.tasks.clevr.scenes import ANSWERS, Scene
from ngs.tasks.playground.messages import Message, part
from ngs.tasks.playground.view import View

ALTERNATIVES = 5  # other programs of a question that are shown
LISTED = 10  # neighbours and right programs that are shown
NO_READER = "no network reads questions yet; train one with `ngs train clevr`, and start `ngs serve` again"
LONGEST_QUESTION, LONGEST_ANSWER = 300, 32  # characters
PROGRAM = "Modules in prefix notation."

KEPT = {"Cache-Control": "private, max-age=3600"}  # by a browser: a scene is always the same

UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such scene."}}
UNREAD: dict[int | str, dict[str, Any]] = {409: {"description": "No network reads questions yet."}}


def _scene(id: Annotated[int, InPath(ge=0, description="Of the scene.", examples=[0])]) -> AskedScene:
    if id >= SCENES:
        raise HTTPException(404, f"there is no scene {id}; choose from 0 to {SCENES - 1}")
    return asked_scenes()[id]


CurrentScene = Annotated[AskedScene, Depends(_scene)]


class Question(Message):
    """A question about a scene."""

    scene: int = part("Its id.", 0, ge=0, lt=SCENES)
    question: str = part(
        "In English.",
        "How many red cubes are left of the big sphere?",
        min_length=1,
        max_length=LONGEST_QUESTION,
    )


class QuestionAndAnswer(Question):
    """A question with its true answer."""

    answer: str = part(f"One of {', '.join(ANSWERS)}.", "2", min_length=1, max_length=LONGEST_ANSWER)


class Phrase(Message):
    """What the dictionary makes of some words."""

    phrase: str = part("As it was asked.", "shiny")
    module: str = part("What it says.", "filter_material[metal]")


class StepNode(Message):
    """A step of a program, with the steps that it works on."""

    id: int = part("The place of its module in the prefix notation, from 0.", 0)
    module: str = part("What it does.", "filter_color[red]")
    value: str = part("What it gives, in words; `undefined` too.", "2")
    objects: list[int] | None = part(
        "The numbers of the objects that it gives; null where it gives something else.", [0, 3]
    )
    arguments: list[StepNode] = part("None, one or two.")


class ProgramLine(Message):
    """A program on one line."""

    program: str = part(PROGRAM, "count filter_color[red] scene")
    probability: float = part("p(program | question)", 0.02)
    answer: str | None = part("What it gives; null where it gives nothing.", "2")


class NeighbourLine(ProgramLine):
    """A program one step of back-search away."""

    change: str = part("What the step did.", "filter_shape[sphere] and filter_shape[cube] change places")
    right: bool = part("Whether it gives the answer.")
    chosen: bool = part("Whether it is the correction: the likeliest of those that are right.")


class RightLine(Message):
    """One of the meanings that give the answer."""

    program: str = part(f"{PROGRAM} The likeliest with this meaning.")
    probability: float = part("p(meaning | question, answer)", 0.8)
    corrected: bool = part("Whether the corrected program means this.")


class Outcome(Message):
    """What a program gives, and how."""

    answer: str | None = part("Null where there is none; `fault` says why.", "2")
    fault: str | None = part(
        "Why there is no answer.", "the scene has no large cube, which `unique` looks for"
    )
    program: StepNode | None = part("The last step first; null where it does not type-check.")


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


class AskingView(View):
    """Answers questions, and corrects their programs."""

    tab = "ask"
    otherwise = "questions cannot be asked"
    reader: QuestionReader | None = None

    @property
    def ready(self) -> bool:
        return self.reader is not None

    def load(self, run: Path) -> None:
        self.reader = load_reader(run)

    def _there(self) -> QuestionReader:
        if self.reader is None:
            raise HTTPException(409, NO_READER)
        return self.reader

    def router(self) -> APIRouter:
        router = APIRouter(prefix="/api", tags=["questions"])

        @router.get("/scenes", summary="The scenes that one may ask about")
        def scenes() -> list[SceneLine]:
            return [SceneLine(id=each.number, objects=len(each.scene.things)) for each in asked_scenes()]

        @router.get("/scenes/{id}", summary="A scene, and questions to ask about it", responses=UNKNOWN)
        def scene(asked: CurrentScene) -> SceneView:
            with self.server.jobs:
                return asked.view(self.reader)

        @router.get(
            "/scenes/{id}/picture",
            summary="A picture of a scene",
            description="A PNG of 480 x 320 pixels, rendered from the scene's annotation.",
            response_class=Response,
            responses={**UNKNOWN, 200: {"content": {"image/png": {}}}},
        )
        def picture(asked: CurrentScene) -> Response:
            with self.server.jobs:
                return Response(asked.picture()[0], media_type="image/png", headers=KEPT)

        @router.get(
            "/scenes/{id}/boxes", summary="Where the objects of a scene are in its picture", responses=UNKNOWN
        )
        def boxes(asked: CurrentScene) -> list[PictureBox | None]:
            """In the order of their numbers; null for what is hidden behind others."""
            with self.server.jobs:
                return asked.picture()[1]

        @router.post("/ask", summary="Answer a question about a scene, and show how", responses=UNREAD)
        def ask(given: Question) -> Asked:
            with self.server.jobs:
                return _asked(self._there(), given.question, asked_scenes()[given.scene].scene)

        @router.post("/ask/correct", summary="What was misread, if this is the answer", responses=UNREAD)
        def ask_correct(given: QuestionAndAnswer) -> QuestionCorrected:
            with self.server.jobs:
                scene = asked_scenes()[given.scene].scene
                return _corrected(correct(self._there(), given.question, scene, given.answer.strip().lower()))

        return router


def _asked(reader: QuestionReader, question: str, scene: Scene) -> Asked:
    # The program is that which /ask/correct starts from: the first, not the best that a wider beam finds.
    reading = reader.read(question)
    first = reading.programs[0]
    wider = reader.read(question, ALTERNATIVES + 1).programs
    others = [each for each in wider if each.program != first.program]
    return Asked(
        **_outcome(Executed.of(first.program, scene, reader.unique)),
        probability=first.probability,
        understood=[Phrase(phrase=phrase, module=module) for module, phrase in reading.understood.reading],
        unseen=list(reading.unseen),
        alternatives=[
            ProgramLine(**_line(Executed.of(each.program, scene, reader.unique), each.log_prob))
            for each in others[:ALTERNATIVES]
        ],
    )


def _corrected(correction: ProgramCorrection) -> QuestionCorrected:
    right, corrected = correction.alternatives, correction.corrected
    place = None if corrected is None else right.place(corrected.program)
    return QuestionCorrected(
        right=correction.search.is_right,
        **_outcome(correction.first),
        neighbours=list(_neighbours(correction)),
        neighbours_in_all=len(correction.neighbours),
        change=correction.search.change,
        corrected=None if corrected is None else _tree(corrected),
        posterior=[
            RightLine(program=" ".join(each.program), probability=share, corrected=k == place)
            for k, (each, share) in enumerate(zip(right.programs[:LISTED], right.shares, strict=False))
        ],
        evidence=exp(right.log_evidence) if right.programs else 0.0,
        exact=right.exact,
        looked_at=right.of,
    )


def _neighbours(correction: ProgramCorrection) -> Iterator[NeighbourLine]:
    """The likeliest, and the chosen one wherever it is."""
    log_prob, chosen = correction.reading.programs[0].log_prob, correction.search.edit
    edits = [(event.edit, log_prob + event.log_priority) for event in correction.neighbours if event.edit]
    if further := [pair for pair in edits[LISTED:] if pair[0] is chosen]:
        edits[LISTED - 1 :] = further
    for edit, edit_log_prob in edits[:LISTED]:
        executed = Executed.of(edit.sentence, correction.scene, correction.unique)
        yield NeighbourLine(
            **_line(executed, edit_log_prob),
            change=edit.text,
            right=executed.answer == correction.answer,
            chosen=edit is chosen,
        )


def _line(executed: Executed, log_prob: float) -> dict[str, Any]:
    program = " ".join(executed.program)
    return {"program": program, "probability": exp(log_prob), "answer": executed.answer}


def _outcome(executed: Executed) -> dict[str, Any]:
    return {"answer": executed.answer, "fault": executed.fault, "program": _tree(executed)}


def _tree(executed: Executed) -> StepNode | None:
    def node(step: Step) -> StepNode:
        objects = objects_of(step)
        return StepNode(
            id=step.position,
            module=step.module,
            value=shown_value(step, executed.scene),
            objects=None if objects is None else sorted(objects),
            arguments=list(map(node, step.arguments)),
        )

    return None if executed.steps is None else node(executed.steps)
