"""What the networks of a run misread, and what back-search makes of it, for a page to show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ngs.experiments import clevr, hwf
from ngs.experiments.config import TrainCLEVR, TrainHWF
from ngs.experiments.course import Marks
from ngs.experiments.folder import BEST, EARLY, check_data, step_of
from ngs.experiments.report.corrections import Searches
from ngs.experiments.report.formula_readings import FormulaReadings, FormulaSearches
from ngs.experiments.report.question_readings import QuestionReadings, QuestionSearches
from ngs.experiments.report.readings import Mistakes, Readings
from ngs.search.back_search import ChainSettings

PRACTICE = 300
"""Training examples that are corrected, at most."""


@dataclass(frozen=True)
class Ways:
    """How the networks of a task are read anew."""

    parts_of: Callable[[Any, torch.device], Any]
    readings: type[Readings[Any]]
    searches: type[Searches[Any]]
    exam: int | None
    """test examples that are read, at most"""
    shown: int
    """mistakes, at most"""
    lucky: int
    """places among them for right answers"""

    def corrected(self, readings: Readings[Any], chain: ChainSettings, seed: int) -> Searches[Any]:
        return self.searches.of(readings, chain, torch.Generator().manual_seed(seed))


WAYS = {
    "hwf": Ways(hwf.parts_of, FormulaReadings, FormulaSearches, exam=None, shown=24, lucky=6),
    "clevr": Ways(clevr.parts_of, QuestionReadings, QuestionSearches, exam=5_000, shown=12, lucky=4),
}


@dataclass(frozen=True, eq=False)
class Gallery:
    data: str
    """the name of the data set"""
    step: int
    """of the best network"""
    exam: Any
    """`Readings` of the test part by it"""
    mistakes: Mistakes[Any]
    early_step: int
    """of a network that has much to learn"""
    practice: Readings[Any]
    """of training examples by it"""
    corrections: Any
    """`Searches` from there; None where there was nothing to correct"""

    @property
    def scores(self) -> Marks:
        scores: Marks = self.exam.scores
        return scores


def gallery(folder: Path, config: TrainHWF | TrainCLEVR) -> Gallery:
    """Read test and training examples anew, with the networks of a run.

    Training examples by the network of the first validation; by the best if that has nothing to learn.
    """
    ways = WAYS[config.task]
    parts = ways.parts_of(config, torch.device("cpu"))
    check_data(folder / BEST, config.data, parts.data.digest)
    exam = ways.readings.read(folder, BEST, config, parts, "test", ways.exam)
    for name in [EARLY] * (folder / EARLY).exists() + [BEST]:
        practice = ways.readings.read(folder, name, config, parts, "train", PRACTICE)
        if practice.wrong:
            break
    return Gallery(
        parts.data.name,
        step_of(folder / BEST, config.task),
        exam,
        exam.mistakes(ways.shown, ways.lucky),
        step_of(folder / name, config.task),
        practice,
        ways.corrected(practice, config.chain, config.seed) if practice.wrong else None,
    )
