"""Who can read drawings, and training a first network where there is nobody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from ngs.tasks.hwf.playground.networks import TRAINED, Networks, Shared
from ngs.tasks.playground.events import EventStream, event
from ngs.tasks.playground.messages import Message, part
from ngs.tasks.playground.training import FirstTraining, Progress
from ngs.tasks.playground.view import Server

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


class Readers(Message):
    """Who can read."""

    networks: dict[str, NetworkStatus] = part(
        "By name: `trained`, and `weak`, the same with noise on its weights."
    )
    training: Progress | None = part("The first training, while it is going on.")
    failure: str | None = part("Why the last training left no network.", None)


class Started(Message):
    """A training has begun."""

    started: bool = part("Always true; otherwise the request is refused.", True)


def networks_router(networks: Networks, training: FirstTraining, server: Server) -> APIRouter:
    """`/networks`, `/train`, `/train/events`."""
    router = APIRouter(prefix="/api", tags=["drawing"])

    @router.get("/networks", summary="Who can read drawings")
    def readers() -> Readers:
        return Readers(
            networks={name: _network(shared) for name, shared in networks.items()},
            training=training.progress(),
            failure=training.failure,
        )

    @router.post(
        "/train",
        summary="Train a first network",
        status_code=202,
        responses={409: {"description": "A network is there, or being trained."}},
    )
    def train() -> Started:
        training.start()
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
        return EventStream(_events(networks, training), server.streams)

    return router


def _network(shared: Shared | None) -> NetworkStatus:
    accuracy, symbols = (shared.accuracy, shared.symbols) if shared else (None, None)
    return NetworkStatus(ready=shared is not None, accuracy=accuracy, symbols=symbols)


async def _events(networks: Networks, training: FirstTraining) -> AsyncIterator[str]:
    last = None
    while now := await run_in_threadpool(training.progress):
        if now != last:
            yield event(now.model_dump())
            last = now
        await asyncio.sleep(LOOK_SECONDS)
    trained = networks[TRAINED]
    done = {"accuracy": trained and trained.accuracy, "error": training.failure}
    yield event(done, "done")
