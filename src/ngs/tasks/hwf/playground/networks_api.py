"""Who can read drawings, and training a first network where there is nobody."""

from __future__ import annotations

from fastapi import APIRouter

from ngs.tasks.hwf.playground.networks import Networks, Shared
from ngs.tasks.playground.messages import Message, part
from ngs.tasks.playground.training import FirstTraining, Progress


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


def networks_router(networks: Networks, training: FirstTraining) -> APIRouter:
    """`/networks` and `/train`."""
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

    return router


def _network(shared: Shared | None) -> NetworkStatus:
    accuracy, symbols = (shared.accuracy, shared.symbols) if shared else (None, None)
    return NetworkStatus(ready=shared is not None, accuracy=accuracy, symbols=symbols)
