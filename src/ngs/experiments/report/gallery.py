"""Test and training examples of a run read anew, for its page and for experiments with corrections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from ngs.experiments.config import TrainCLEVR, TrainHWF
from ngs.experiments.folder import BEST, EARLY, check_data, step_of
from ngs.experiments.run import COURSES
from ngs.tasks.report.readings import Readings
from ngs.tasks.report.report import AnswersReport, Gallery

PRACTICE = 300
"""Training examples that are corrected, at most."""


@dataclass(frozen=True)
class ReadAgain:
    """How the networks of runs that learned from answers read their data again, on the CPU."""

    report: type[AnswersReport]
    readings: Callable[..., Readings]
    """what a network of a run reads in at most so many examples of a part"""

    def __call__(self, folder: Path, config: TrainHWF | TrainCLEVR) -> Gallery:
        """What the networks of a run misread, and what back-search makes of it.

        Training examples by the network of the first validation; by the best if that has nothing to learn.
        """
        parts = COURSES[config.task].parts_of(config, torch.device("cpu"))
        check_data(folder / BEST, config.data, parts.data.digest)
        exam = self.readings(folder, BEST, config, parts, "test", self.report.examined)
        for name in [EARLY] * (folder / EARLY).exists() + [BEST]:
            practice = self.readings(folder, name, config, parts, "train", PRACTICE)
            if practice.wrong:
                break
        found = self.report.searches.of(practice, config.chain, config.seed) if practice.wrong else None
        best, early = (step_of(folder / each, config.task) for each in (BEST, name))
        mistakes = exam.mistakes(*self.report.places)
        return Gallery(parts.data.name, best, exam, *mistakes, early, practice, found)
