"""The tab to ask about scenes in."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter

from ngs.tasks.clevr.playground.asking_api import asking_router
from ngs.tasks.clevr.preparation import load_reader
from ngs.tasks.clevr.reading import QuestionReader
from ngs.tasks.playground.view import View


class AskingView(View):
    """Answer questions, and correct their programs."""

    tab = "ask"
    otherwise = "questions cannot be asked"
    reader: QuestionReader | None = None

    @property
    def ready(self) -> bool:
        return self.reader is not None

    def load(self, run: Path) -> None:
        self.reader = load_reader(run)

    def router(self) -> APIRouter:
        return asking_router(lambda: self.reader, self.server.jobs)
