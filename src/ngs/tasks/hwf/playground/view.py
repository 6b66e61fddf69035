"""The tab to draw formulas in: who can read there, and the training of a first network."""

from pathlib import Path

import torch
from fastapi import APIRouter

from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.compiled import BUDGET, value_circuit
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.playground.drawing_api import drawing_router
from ngs.tasks.hwf.playground.learning import familiar
from ngs.tasks.hwf.playground.networks import TRAINED, Networks, Shared
from ngs.tasks.hwf.preparation import LONGEST_TABLED
from ngs.tasks.playground.messages import Message, part
from ngs.tasks.playground.training import FirstTraining, Progress
from ngs.tasks.playground.view import Server, View
from ngs.tasks.trainable import Trainable


class NetworkStatus(Message):
    """One of the networks that all visitors share."""

    ready: bool = part("Whether it can be read with.", True)
    accuracy: float | None = part(
        "The share of formulas it answers correctly, where it was measured.", 0.98, default=None
    )
    symbols: float | None = part(
        "The share of made-up symbols it reads correctly; null while not ready.", 1.0, default=None
    )


class Readers(Message):
    """Who can read."""

    networks: dict[str, NetworkStatus] = part("`trained`, and `weak`, the same with noise on its weights.")
    training: Progress | None = part("The first training, while it is going on.")
    failure: str | None = part("Why the last training left no network.", None)


class Started(Message):
    """A training has begun."""

    started: bool = part("Always true; otherwise the request is refused.", True)


def _status(shared: Shared | None) -> NetworkStatus:
    known = {} if shared is None else {"accuracy": shared.accuracy, "symbols": shared.symbols}
    return NetworkStatus(ready=bool(known), **known)


class DrawingView(View):
    """Read, correct and learn drawings; train a first network where there is none."""

    tab = "draw"
    otherwise = "the page offers to train one"

    def __init__(self, task: Trainable, server: Server) -> None:
        super().__init__(task, server)
        self.networks = Networks()
        self.training = FirstTraining(self)

    @property
    def ready(self) -> bool:
        return self.networks[TRAINED] is not None

    def load(self, run: Path) -> None:
        self.networks.load(run)

    def router(self) -> APIRouter:
        router = drawing_router(self.networks, self.server)

        @router.get("/networks", summary="Who can read drawings, and how far a training is")
        def readers() -> Readers:
            return Readers(
                networks={name: _status(shared) for name, shared in self.networks.items()},
                training=self.training.progress(),
                failure=self.training.failure,
            )

        @router.post(
            "/train",
            summary="Train a first network",
            status_code=202,
            responses={409: {"description": "A network is there, or being trained."}},
        )
        def train() -> Started:
            self.training.start()
            return Started(started=True)

        return router

    def prepare(self) -> None:
        """Make what visitors would wait for, the shortest tables first; some seconds, beside serving."""
        familiar()
        for length in range(1, LONGEST_TABLED + 1, 2):
            value_circuit(GRAMMAR, Arithmetic, length, BUDGET, torch.device("cpu"))

    def stop(self) -> None:
        self.training.stop()
