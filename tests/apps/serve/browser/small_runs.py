"""Runs that were really trained, for a page to look at."""

from __future__ import annotations

from pathlib import Path

from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf.settings import TrainHWF
from tests.experiments.training import train

HANDWRITING = TrainHWF(steps=200, lengths=(1, 3))
"""Reads nearly everything. Short formulas take less time."""
QUESTIONS = TrainCLEVR(steps=30, validate_every=30, batch_size=32, fraction=0.1)
"""Answers about half of the questions: some are wrong, to be corrected."""


def trained_runs(folder: Path) -> Path:
    """A folder with a run of each task."""
    for name, config in {"handwriting": HANDWRITING, "questions": QUESTIONS}.items():
        for _ in train(config, folder / name):
            pass
    return folder
