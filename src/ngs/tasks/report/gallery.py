"""Test and training examples of a run read anew, for its page and for experiments with corrections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch

from ngs.tasks.report.readings import Readings
from ngs.tasks.report.report import AnswersReport, Gallery, Report
from ngs.tasks.run_folder import BEST, EARLY, check_data, step_of
from ngs.tasks.trainable import Trainable

PRACTICE = 300
"""Training examples that are corrected, at most."""


class Page(NamedTuple):
    """How a page is made about the runs of a task."""

    report: type[Report]
    read: Callable[[Path, Any], Any]
    """(folder, settings) -> what the networks of a run make of the data, read anew"""


@dataclass(frozen=True)
class ReadAgain:
    """How the networks of runs that learned from answers read their data again, on the CPU."""

    task: Trainable
    report: type[AnswersReport]
    readings: Callable[..., Readings]
    """what a network of a run reads in at most so many examples of a part"""

    def __call__(self, folder: Path, settings: Any) -> Gallery:
        """What the networks of a run misread, and what back-search makes of it.

        Training examples by the network of the first validation; by the best if that has nothing to learn.
        """
        parts = self.task.prepare(settings, torch.device("cpu")).parts
        check_data(folder / BEST, settings.data or parts.data.name, parts.data.digest)
        exam = self.readings(folder, BEST, settings, parts, "test", self.report.examined)
        for name in [EARLY] * (folder / EARLY).exists() + [BEST]:
            practice = self.readings(folder, name, settings, parts, "train", PRACTICE)
            if practice.wrong:
                break
        found = self.report.searches.of(practice, settings.chain, settings.seed) if practice.wrong else None
        best, early = (step_of(folder / each, self.task.name) for each in (BEST, name))
        mistakes = exam.mistakes(*self.report.places)
        return Gallery(parts.data.name, best, exam, *mistakes, early, practice, found)
