"""Drawings over HTTP: read, correct, learn, and the score of what a visitor drew."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from time import monotonic
from typing import Annotated, Literal
from zlib import crc32

import torch
from fastapi import APIRouter, Depends, HTTPException
from pydantic import FailFast, Field, field_validator
from torch import nn

from ngs.errors import NGSError
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.formula_reading import as_answer
from ngs.tasks.hwf.playground.correcting import Corrected, correct
from ngs.tasks.hwf.playground.learning import Score, Taken, Taught, drawn_of, learn, own_copy
from ngs.tasks.hwf.playground.networks import TRAINED, Networks
from ngs.tasks.hwf.playground.reading import Reading, reading_of
from ngs.tasks.hwf.playground.strokes import seen_in, written
from ngs.tasks.playground.messages import Message, part
from ngs.tasks.playground.view import Server
from ngs.tasks.playground.visitors import Visitor, current_visitor
from ngs.tasks.report.sections import SIGNS

LEARN_SECONDS = 3.0  # no step begins later
MOST_STROKES, MOST_POINTS, MOST_STEPS = 200, 20_000, 50
"""In a drawing, in all its strokes, and gradient steps in one request."""
LARGEST, LONGEST_ANSWER, LONGEST_WRITTEN = 4096, 32, 64  # pixels of a canvas's side, and characters
EXAMPLE = [
    [[20, 25], [65, 23], [40, 98]],
    [[110, 40], [110, 85]],
    [[88, 62], [132, 62]],
    [[170, 22], [170, 98]],
]
"""7 + 1"""

Coordinate = Annotated[float, Field(ge=-LARGEST, le=2 * LARGEST, allow_inf_nan=False)]
"""A pen may leave the canvas."""
Point = Annotated[list[Coordinate], Field(min_length=2, max_length=2)]
Side = Annotated[float, Field(ge=1, le=LARGEST, allow_inf_nan=False)]
Typed = Annotated[str, Field(max_length=LONGEST_WRITTEN, examples=["3 × 4"])]
CurrentVisitor = Annotated[Visitor, Depends(current_visitor)]


class Drawing(Message):
    """Strokes on a canvas, and who is to read them."""

    # The first fault is enough: a body of nothing but faults would be gone through while everyone waits.
    strokes: Annotated[list[Annotated[list[Point], Field(min_length=1), FailFast()]], FailFast()] = part(
        f"Strokes of the pen: [x, y] in pixels, y downwards; at most {MOST_POINTS:,} points in all.",
        EXAMPLE,
        max_length=MOST_STROKES,
    )
    width: Side = part("Of the canvas, in pixels.", 600)
    height: Side = part("Of the canvas, in pixels.", 200)
    network: Literal["trained", "weak", "mine"] = part(
        "Who reads: the trained network, a weakened copy of it, or the visitor's own.", default="trained"
    )

    @field_validator("strokes")
    @classmethod
    def _not_too_many_points(cls, strokes: list[list[list[float]]]) -> list[list[list[float]]]:
        count = sum(map(len, strokes))
        if count > MOST_POINTS:
            raise ValueError(f"{count:,} points are in it, and at most {MOST_POINTS:,} are read")
        return strokes


class AnsweredDrawing(Drawing):
    """A drawing with its true answer."""

    answer: Annotated[str, Field(min_length=1, max_length=LONGEST_ANSWER)] = part(
        "A whole number, a decimal or a fraction.", "8", "-3", "0.75", "7/3"
    )


class Lesson(AnsweredDrawing):
    """A drawing to learn from. The network it names is copied first: `mine` goes on with the own one."""

    steps: int = part("Gradient steps at most.", 10, default=10, ge=1, le=MOST_STEPS)


class Learned(Message):
    """What learning changed."""

    before: Reading = part("What the network read.")
    after: Reading = part("What it reads now.")
    probabilities: list[tuple[float, float]] = part(
        "p(answer | drawing) before and after each step.", [(0.1, 0.4), (0.4, 0.8)]
    )
    losses: list[float] = part("-log p(answer | drawing), the mean over what a step sees.", [2.3, 0.9])
    found: bool = part("Whether a formula of this length gives the answer; otherwise nothing was learned.")
    score: Score = part("After learning.")


class WithScore(Message):
    """The score alone."""

    score: Score = part("Of the visitor.")


class Written(Message):
    """A formula written by the page, for those who cannot or do not want to draw."""

    strokes: list[list[list[float]]] = part("As those of a drawing.", EXAMPLE)


def drawing_router(networks: Networks, server: Server) -> APIRouter:
    router = APIRouter(prefix="/api", tags=["drawing"])

    @router.get("/written", summary="The strokes of a formula, in a neat hand")
    def write(formula: Typed, width: Side, height: Side) -> Written:
        return Written(strokes=written(_symbols(formula), width, height))

    @router.post("/read", summary="What a drawing shows")
    def read(drawing: Drawing, visitor: CurrentVisitor) -> Reading:
        network = _network(networks, visitor, drawing.network)
        with server.jobs:
            return reading_of(seen_in(drawing.strokes, network))

    @router.post("/correct", summary="What was misread, if the answer should be another")
    def correct_drawing(drawing: AnsweredDrawing, visitor: CurrentVisitor) -> Corrected:
        target, network = as_answer(drawing.answer), _network(networks, visitor, drawing.network)
        with server.jobs:
            return correct(seen_in(drawing.strokes, network), target)

    @router.post("/learn", summary="Learn from a drawing and its answer alone")
    def learn_drawing(lesson: Lesson, visitor: CurrentVisitor) -> Learned:
        answer = as_answer(lesson.answer)
        with _alone(visitor), server.learners, server.jobs:
            return _learned(_network(networks, visitor, lesson.network), lesson, answer, visitor)

    @router.post("/reset", summary="Forget what was drawn and learned")
    def reset(visitor: CurrentVisitor) -> WithScore:
        with _alone(visitor):
            visitor.kept.pop(Taught, None)
        return WithScore(score=Score())

    @router.get("/score", summary="How much of what was drawn is read correctly")
    def score(visitor: CurrentVisitor) -> WithScore:
        return WithScore(score=_taught(visitor).score)

    return router


def _symbols(formula: str) -> str:
    symbols = "".join(formula.split()).translate({ord(sign): symbol for symbol, sign in SIGNS.items()})
    if not symbols or not set(symbols) <= set(GRAMMAR.symbols):
        raise NGSError(f"{formula!r} cannot be written; use the digits and + − × ÷ (or * and /)")
    return symbols


def _taught(visitor: Visitor) -> Taught:
    found: Taught = visitor.kept.get(Taught, Taught())
    return found


def _network(networks: Networks, visitor: Visitor, name: str) -> nn.Module:
    own = _taught(visitor).network
    if name == "mine" and own is not None:
        return own
    shared = networks[TRAINED if name == "mine" else name]
    if shared is None:
        raise NGSError(f"there is no {name} network yet; train one, on the page or by POST /api/train")
    return shared.network


@contextmanager
def _alone(visitor: Visitor) -> Iterator[None]:
    """Refuse a visitor who presses twice: waiting would take a thread from others."""
    if not visitor.lock.acquire(blocking=False):
        raise HTTPException(409, "your network is learning; wait until it is done, then ask again")
    try:
        yield
    finally:
        visitor.lock.release()


def _learned(network: nn.Module, lesson: Lesson, answer: Fraction, visitor: Visitor) -> Learned:
    """A copy learns, and takes the place of the visitor's own network when it is done."""
    seen, taught = seen_in(lesson.strokes, network), _taught(visitor)
    drawn, own = drawn_of(seen, answer), own_copy(network)
    earlier = [each for each in taught.drawn if not each.same_as(drawn)]
    generator = torch.Generator().manual_seed(crc32(visitor.id.encode()) + len(taught.drawn))
    end = monotonic() + LEARN_SECONDS
    taken: list[Taken] = []
    for step in learn(own, drawn, earlier, lesson.steps, generator):
        taken.append(step)
        if monotonic() > end:
            break
    own.zero_grad(set_to_none=True)  # as large as the network, and needed no more
    if taken:
        taught = visitor.kept[Taught] = taught.with_lesson(drawn, own)
    return Learned(
        before=reading_of(seen),
        after=reading_of(seen_in(lesson.strokes, own)),
        probabilities=[(step.before, step.after) for step in taken],
        losses=[step.loss for step in taken],
        found=bool(taken),
        score=taught.score,
    )
