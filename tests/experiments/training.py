"""Runs of the tasks that come along, by their settings alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ngs.experiments import run
from ngs.tasks import finding
from ngs.tasks.results.job import Trained
from ngs.tasks.run_folder import Configured
from ngs.tasks.settings import RunSettings
from ngs.tasks.trainable import Trainable


def task_of(settings: RunSettings) -> Trainable:
    """The task that has settings of this kind."""
    tasks = (finding.find(name) for name in finding.names())
    return next(task for task in tasks if task.settings is type(settings))


def train(settings: RunSettings, folder: Path, **options: Any) -> Iterator[run.Progress]:
    return run.training(task_of(settings), settings, folder, **options)


def trained(settings: RunSettings) -> Trained:
    return Trained(task_of(settings).name, settings)


def as_facts(settings: RunSettings) -> dict[str, Any]:
    """What a run with these settings writes down of them."""
    return Configured(task_of(settings), settings).as_facts()
