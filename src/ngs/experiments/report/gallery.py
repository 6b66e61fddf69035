"""What the networks of a run misread, and what back-search makes of it, for a page to show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ngs.experiments.report.corrections import Searches
from ngs.experiments.report.formula_readings import FormulaSearches
from ngs.experiments.report.question_readings import QuestionSearches
from ngs.experiments.report.readings import Readings
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.run_folder import BEST, EARLY, check_data, step_of
from ngs.tasks.trainable import Metrics, Trainable

PRACTICE = 300
"""Training examples that are corrected, at most."""
SEARCHES: Mapping[str, type[Searches[Any]]] = {"hwf": FormulaSearches, "clevr": QuestionSearches}
"""By the task of a run."""


@dataclass(frozen=True, eq=False)
class Gallery:
    data: str
    """the name of the data set"""
    step: int
    """of the best network"""
    exam: Any
    """`Readings` of the test part by it"""
    wrong: tuple[Any, ...]
    lucky: tuple[Any, ...]
    """some of its mistakes, and some of its right answers for wrong reasons"""
    early_step: int
    """of a network that has much to learn"""
    practice: Readings
    """of training examples by it"""
    corrections: Any
    """`Searches` from there; None where there was nothing to correct"""

    @property
    def scores(self) -> Metrics:
        scores: Metrics = self.exam.scores
        return scores


def gallery(folder: Path, task: Trainable, config: TrainHWF | TrainCLEVR) -> Gallery:
    """Read test and training examples anew, with the networks of a run.

    Training examples by the network of the first validation; by the best if that has nothing to learn.
    """
    searches = SEARCHES[task.name]
    readings = searches.reads
    parts = task.prepare(config, torch.device("cpu")).parts
    check_data(folder / BEST, config.data, parts.data.digest)
    exam = readings.read(folder, BEST, config, parts, "test", readings.examined)
    for name in [EARLY] * (folder / EARLY).exists() + [BEST]:
        practice = readings.read(folder, name, config, parts, "train", PRACTICE)
        if practice.wrong:
            break
    return Gallery(
        parts.data.name,
        step_of(folder / BEST, task.name),
        exam,
        *exam.mistakes(*readings.places),
        step_of(folder / name, task.name),
        practice,
        searches.of(practice, config.chain, config.seed) if practice.wrong else None,
    )
