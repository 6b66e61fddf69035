"""Runs of the tasks that come along, by their settings alone, and what they leave, to be compared."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ngs.experiments import run
from ngs.experiments.record import read_rows
from ngs.learning import tensor_file
from ngs.tasks import finding
from ngs.tasks.results.job import Trained
from ngs.tasks.run_folder import A_CHECKPOINT, BEST, CHECKPOINT, CONFIG, EARLY, METRICS, RESULT, Configured
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


def finished(config: RunSettings, folder: Path, *, resume: bool = False) -> dict[str, Any]:
    """Run to the end; the result."""
    *_, last = train(config, folder, resume=resume)
    return dict(last.row)


def facts_of(folder: Path) -> dict[str, Any]:
    """All that a run leaves, but for its seconds and its memory."""
    tensors, facts = tensor_file.load(folder / CHECKPOINT, A_CHECKPOINT, "")
    result = json.loads((folder / RESULT).read_text())
    rows = read_rows(folder / METRICS)
    return {
        "rows": [{k: v for k, v in row.items() if k != "seconds"} for row in rows],
        "result": {k: v for k, v in result.items() if k not in ("training_seconds", "peak_memory_mb")},
        "best": (folder / BEST).read_bytes(),
        "early": (folder / EARLY).read_bytes(),
        "config": (folder / CONFIG).read_bytes(),
        "checkpoint": tensor_file.checksum(tensors, {}),
        "place": facts["place"],
        "choice": facts["best"],
    }
