"""What the playground has to offer, and training a first network where there is none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import asdict

from fastapi import APIRouter, HTTPException, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ngs.apps.serve.live_rows import EventStream
from ngs.apps.serve.networks import TRAINED, Shared
from ngs.apps.serve.playground import Playground
from ngs.apps.serve.training import AlreadyThere, FirstTraining
from ngs.errors import NGSError

LOOK_SECONDS = 0.5
"""Between looks at the progress of a training."""


class NetworkStatus(BaseModel):
    """One of the networks that all visitors share."""

    ready: bool = Field(description="Whether it can be read with.", examples=[True])
    accuracy: float | None = Field(
        description="The share of formulas it gives the right answer for, where that was measured.",
        examples=[0.98],
    )
    symbols: float | None = Field(
        description="The share of made-up handwritten symbols it reads rightly; null while it is not ready.",
        examples=[1.0],
    )


class TrainingStatus(BaseModel):
    """A training that is going on."""

    model_config = ConfigDict(from_attributes=True)

    step: int = Field(description="Steps done.", examples=[70])
    steps: int = Field(description="Steps in all.", examples=[150])
    accuracy: float | None = Field(
        description="The share of right answers at the last validation, once there was one.", examples=[0.97]
    )


class Status(BaseModel):
    """What there is."""

    networks: dict[str, NetworkStatus] = Field(
        description="By name: `trained`, and `weak`, the same with noise on its weights."
    )
    training: TrainingStatus | None = Field(description="The first training, while it is going on.")
    failure: str | None = Field(description="Why the last training left no network.", examples=[None])
    questions: bool = Field(description="Whether questions about scenes can be asked.", examples=[True])
    runs: bool = Field(description="Whether there is a folder of runs to show.", examples=[True])
    limits: dict[str, int | float] = Field(description="What is refused above.", examples=[{"strokes": 200}])


class Started(BaseModel):
    """A training has begun."""

    started: bool = Field(description="Always true; otherwise the request is refused.", examples=[True])


def status_router(playground: Playground) -> APIRouter:
    """`/status`, `/train`, `/train/events`."""
    router = APIRouter(prefix="/api", tags=["status"])

    @router.get("/status", summary="What there is")
    def status() -> Status:
        return Status(
            networks={name: _network(playground.networks.shared(name)) for name in playground.networks},
            training=_going_on(playground.training),
            failure=playground.training.failure if playground.training else None,
            questions=playground.reader is not None,
            runs=playground.runs_root is not None and playground.runs_root.is_dir(),
            limits=asdict(playground.limits),
        )

    @router.post(
        "/train",
        summary="Train a first network",
        status_code=202,
        responses={409: {"description": "A network is there, or being trained."}},
    )
    def train() -> Started:
        if playground.training is None:
            raise NGSError("there is no folder to train into; start `ngs serve` with --runs")
        try:
            playground.training.start()
        except AlreadyThere as error:
            raise HTTPException(409, str(error)) from None
        return Started(started=True)

    @router.get(
        "/train/events",
        summary="Follow the training of a first network",
        description="Server-sent events: `data: {step, steps, accuracy}` as it goes; the last one is "
        "`event: done` with `{accuracy, error}`.",
        response_class=Response,
        responses={200: {"content": {"text/event-stream": {}}}},
    )
    def train_events() -> EventStream:
        held = ExitStack()
        held.enter_context(playground.streams)
        return EventStream(_events(playground), held)

    return router


def _network(shared: Shared | None) -> NetworkStatus:
    if shared is None:
        return NetworkStatus(ready=False, accuracy=None, symbols=None)
    return NetworkStatus(ready=True, accuracy=shared.accuracy, symbols=shared.symbols)


def _going_on(training: FirstTraining | None) -> TrainingStatus | None:
    progress = training.progress() if training else None
    return None if progress is None else TrainingStatus.model_validate(progress)


async def _events(playground: Playground) -> AsyncIterator[str]:
    training, last = playground.training, None
    while (now := await run_in_threadpool(_going_on, training)) is not None:
        if now != last:
            yield f"data: {now.model_dump_json()}\n\n"
            last = now
        await asyncio.sleep(LOOK_SECONDS)
    trained = playground.networks.shared(TRAINED)
    done = {
        "accuracy": None if trained is None else trained.accuracy,
        "error": training.failure if training else None,
    }
    yield f"event: done\ndata: {json.dumps(done)}\n\n"
