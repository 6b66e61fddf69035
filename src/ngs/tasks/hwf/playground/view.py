"""The tab to draw formulas in."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter

from ngs.tasks.hwf.playground.drawing_api import drawing_router, prepare
from ngs.tasks.hwf.playground.networks import TRAINED, Networks
from ngs.tasks.hwf.playground.networks_api import networks_router
from ngs.tasks.playground.training import FirstTraining
from ngs.tasks.playground.view import Server, View
from ngs.tasks.trainable import Trainable


class DrawingView(View):
    """Read, correct and learn drawings; train a first network where there is none."""

    tab = "draw"
    otherwise = "the page offers to train one"

    def __init__(self, task: Trainable, server: Server) -> None:
        super().__init__(server)
        self.networks = Networks()
        self.training = FirstTraining(task, self)

    @property
    def ready(self) -> bool:
        return self.networks[TRAINED] is not None

    def load(self, run: Path) -> None:
        self.networks.load(run)

    def router(self) -> APIRouter:
        router = APIRouter()
        router.include_router(networks_router(self.networks, self.training))
        router.include_router(drawing_router(self.networks, self.server))
        return router

    def prepare(self) -> None:
        prepare()

    def stop(self) -> None:
        self.training.stop()
