"""The task: turning questions about scenes into programs. Light: it is imported to show its options."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.trainable import MetricsView, Source, Trainable

if TYPE_CHECKING:
    import torch

    from ngs.tasks.clevr.playground.asking_api import AskingView
    from ngs.tasks.clevr.preparation import PreparedQuestions
    from ngs.tasks.clevr.scores import ProgramScores
    from ngs.tasks.costs.step_cost import StepCost
    from ngs.tasks.playground.view import Server
    from ngs.tasks.report.gallery import Page
    from ngs.tasks.results.experiment import Experiment

QUESTIONS = Source("clevr", "CLEVR-25k", "data/CLEVR-25k.ngs")


class ReadingQuestions(Trainable):
    """Learn to turn questions about scenes into programs.

    The network sees the words of a question and the modules that a dictionary finds in it, and is told the
    answer, never the program (except with the method supervised). Without --data it learns from questions
    about synthetic scenes that are made on the spot.
    """

    name = "clevr"
    about = __doc__ or ""
    settings = TrainCLEVR
    experiment_data = (QUESTIONS,)
    metrics = MetricsView(
        examples="questions",
        shares={"answers": "answers right", "programs": "programs right", "equivalent": "up to equivalence"},
        groups={"by_kind": "kind", "by_length": "length"},
        progress={"answers": "answers", "equivalent": "programs, up to equivalence,"},
        compared={"answers": "answers", "programs": "programs", "equivalent": "equivalent"},
    )

    commands: Mapping[str, str] = {
        "ask": "ngs.tasks.clevr.asking_commands:ask",
        "explain": "ngs.tasks.clevr.asking_commands:explain",
        "data import": "ngs.tasks.clevr.data_commands:bring_in",
        "data inspect": "ngs.tasks.clevr.data_commands:show",
    }
    sources = "a folder with scenes and questions in the format of CLEVR v1.0"

    def prepare(self, settings: TrainCLEVR, device: torch.device) -> PreparedQuestions:
        from ngs.tasks.clevr.preparation import PreparedQuestions

        return PreparedQuestions(settings, device)

    def evaluate(
        self, settings: TrainCLEVR, run: Path, data: str | None, device: torch.device
    ) -> tuple[str, ProgramScores]:
        from ngs.tasks.clevr.preparation import evaluate

        return evaluate(settings, run, data, device)

    def digest(self, source: str) -> str:
        from ngs.tasks.clevr.packed import load

        return load(source).digest

    def holds(self, source: Path, options: Collection[str]) -> bool:
        from ngs.tasks.clevr import official, packed

        return official.is_official(source) or official.is_zipped(source) or packed.FORMAT.is_at(source)

    def page(self) -> Page:
        from ngs.tasks.clevr.preparation import readings
        from ngs.tasks.clevr.report.report import QuestionReport
        from ngs.tasks.report.gallery import Page, ReadAgain

        return Page(QuestionReport, ReadAgain(self, QuestionReport, readings))

    def experiments(self) -> Sequence[Experiment]:
        from ngs.tasks.clevr.paper import EXPERIMENTS

        return EXPERIMENTS

    def costs(self, *, quick: bool) -> Mapping[str, StepCost]:
        from ngs.tasks.clevr.paper.workloads import FULL, QUICK

        return QUICK if quick else FULL

    def playground(self, server: Server) -> AskingView:
        from ngs.tasks.clevr.playground.asking_api import AskingView

        return AskingView(server)


CLEVR = ReadingQuestions()
