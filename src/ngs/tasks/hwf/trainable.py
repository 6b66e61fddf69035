"""The task: reading handwritten formulas. Light: it is imported to show its options."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ngs.tasks.hwf.settings import SHARES, TrainHWF
from ngs.tasks.trainable import MetricsView, Source, Trainable

if TYPE_CHECKING:
    import torch

    from ngs.learning.metrics import Scores
    from ngs.tasks.costs.step_cost import StepCost
    from ngs.tasks.hwf.playground.view import DrawingView
    from ngs.tasks.hwf.preparation import PreparedFormulas
    from ngs.tasks.playground.view import Server
    from ngs.tasks.report.gallery import Page
    from ngs.tasks.results.experiment import Experiment

FORMULAS = Source("hwf", "HWF", "data/HWF.ngs")
CLEAN_FORMULAS = Source("hwf-clean", "HWF-clean", "data/HWF-clean.ngs")


class ReadingFormulas(Trainable):
    """Learn to read handwritten formulas.

    The network sees images of symbols and is told the value of each formula, never what the symbols are
    (except with the methods that need labels: supervised, --pretrain). Without --data it learns from
    synthetic handwriting that is made on the spot.
    """

    name = "hwf"
    about = __doc__ or ""
    settings = TrainHWF
    experiment_data = (FORMULAS, CLEAN_FORMULAS)
    metrics = MetricsView(
        examples="formulas",
        shares=dict(zip(SHARES, ("answers right", "formulas right", "symbols right"), strict=True)),
        progress={"calculation": "answers", "symbol": "symbols"},
        compared={"calculation": "answers", "symbol": "symbols"},
    )

    commands: Mapping[str, str] = {
        "tour": "ngs.tasks.hwf.reading_commands:tour",
        "predict": "ngs.tasks.hwf.reading_commands:predict",
        "explain": "ngs.tasks.hwf.reading_commands:explain",
        "data import": "ngs.tasks.hwf.data_commands:bring_in",
        "data inspect": "ngs.tasks.hwf.data_commands:show",
    }
    sources = "HWF.zip or the folder with its content (data/expr_train.json, ...)"

    def prepare(self, settings: TrainHWF, device: torch.device) -> PreparedFormulas:
        from ngs.tasks.hwf.preparation import PreparedFormulas

        return PreparedFormulas(settings, device)

    def evaluate(
        self, settings: TrainHWF, run: Path, data: str | None, device: torch.device
    ) -> tuple[str, Scores]:
        from ngs.tasks.hwf.preparation import evaluate

        return evaluate(settings, run, data, device)

    def digest(self, source: str) -> str:
        from ngs.tasks.hwf.packed import load

        return load(source).digest

    def holds(self, source: Path, options: Collection[str]) -> bool:
        from ngs.tasks.hwf import archive, packed

        if source.is_dir() and not any(source.iterdir()):
            return False
        return archive.is_archive(source) or packed.FORMAT.is_at(source)

    def page(self) -> Page:
        from ngs.tasks.hwf.preparation import readings
        from ngs.tasks.hwf.report.report import FormulaReport
        from ngs.tasks.report.gallery import Page, ReadAgain

        return Page(FormulaReport, ReadAgain(self, FormulaReport, readings))

    def experiments(self) -> Sequence[Experiment]:
        from ngs.tasks.hwf.paper import EXPERIMENTS

        return EXPERIMENTS

    def costs(self, *, quick: bool) -> Mapping[str, StepCost]:
        from ngs.tasks.hwf.paper.workloads import FULL, QUICK

        return QUICK if quick else FULL

    def playground(self, server: Server) -> DrawingView:
        from ngs.tasks.hwf.playground.view import DrawingView

        return DrawingView(self, server)


HWF = ReadingFormulas()
