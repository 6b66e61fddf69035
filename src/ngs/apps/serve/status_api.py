"""What the playground has to offer, and training a first network where there is none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from ngs.apps.serve.live_rows import EventStream, event
from ngs.apps.serve.messages import Message, part
from ngs.apps.serve.networks import TRAINED, Shared
from ngs.apps.serve.playground import Playground
from ngs.apps.serve.training import Progress

LOOK_SECONDS = 0.5
"""Between looks at the progress of a training."""


class NetworkStatus(Message):
    """One of the networks that all visitors share."""

    ready: bool = part("Whether it can be read with.", True)
    accuracy: float | None = part(
        "The share of formulas it gives the right answer for, where that was measured.", 0.98
    )
    symbols: float | None = part(
        "The share of made-up handwritten symbols it reads rightly; null while it is not ready.", 1.0
    )


class Status(Message):
    """What there is."""

    networks: dict[str, NetworkStatus] = part(
        "By name: `trained`, and `weak`, the same with noise on its weights."
    )
    training: Progress | None = part("The first training, while it is going on.")
    failure: str | None = part("Why the last training left no network.", None)
    questions: bool = part("Whether questions about scenes can be asked.", True)
    runs: bool = part("Whether there is a folder of runs to show.", True)
    limits: dict[str, int | float] = part("What is refused above.", {"strokes": 200})


class Started(Message):
    """A training has begun."""

    started: bool = part("Always true; otherwise the request is refused.", True)


def status_router(playground: Playground) -> APIRouter:
    """`/status`, `/train`, `/train/events`."""
    router = APIRouter(prefix="/api", tags=["status"])

    @router.get("/status", summary="What there is")
    def status() -> Status:
        training = playground.training
        return Status(
            networks={name: _network(shared) for name, shared in playground.networks.items()},
            training=training.progress(),
            failure=training.failure,
            questions=playground.reader is not None,
            runs=playground.runs_root.is_dir(),
            limits=asdict(playground.visitors.limits),
        )

    @router.post(
        "/train",
        summary="Train a first network",
        status_code=202,
        responses={409: {"description": "A network is there, or being trained."}},
    )
    def train() -> Started:
        playground.training.start()
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
        return EventStream(_events(playground), playground.streams)

    return router


def _network(shared: Shared | None) -> NetworkStatus:
    accuracy, symbols = (shared.accuracy, shared.symbols) if shared else (None, None)
    return NetworkStatus(ready=shared is not None, accuracy=accuracy, symbols=symbols)


async def _events(playground: Playground) -> AsyncIterator[str]:
    training, last = playground.training, None
    while now := await run_in_threadpool(training.progress):
        if now != last:
            yield event(now.model_dump())
            last = now
        await asyncio.sleep(LOOK_SECONDS)
    trained = playground.networks[TRAINED]
    done = {"accuracy": trained and trained.accuracy, "error": training.failure}
    yield event(done, "done")
