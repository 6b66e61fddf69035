"""A piece of work whose result is worth keeping: known by what it depends on, and done once, wherever."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import torch

from ngs.experiments.environment import environment
from ngs.experiments.record import Record
from ngs.experiments.run import Progress, train
from ngs.tasks.finding import find
from ngs.tasks.run_folder import CONFIG, ENVIRONMENT, RESULT

DEFAULTS = 1
"""To be counted up when a default of a training run changes: runs that relied on it are others then."""


class Job(Protocol):
    """Some work. A frozen value that can be sent to another process."""

    @property
    def facts(self) -> dict[str, Any]:
        """All that the result depends on, for JSON, without places on this machine."""

    @property
    def needs(self) -> tuple[Job, ...]:
        """Jobs that must be done before, and whose folders it reads."""
        return ()

    @property
    def alone(self) -> bool:
        """Whether it measures time, so that no other job of a sweep may go on meanwhile."""
        return False

    def do(self, folder: Path, needed: Sequence[Path]) -> Iterator[Progress]:
        """Do it, or go on with what an earlier attempt left in `folder`, as it is iterated.

        `needed` are the folders of what it needs. Last of all it writes result.json, whole or not at all,
        and before that environment.json.
        """


def finish(folder: Path, device: torch.device, result: Mapping[str, Any]) -> None:
    """How a job that is no training run ends: with what it ran on, and then its result."""
    record = Record(folder, writes=True)
    record.write(ENVIRONMENT, environment(device))
    record.write(RESULT, result)


def address(job: Job) -> str:
    """The name of a job's folder: the same on every machine, another as soon as a setting differs."""
    text = json.dumps(job.facts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def data_facts(task: str, source: str) -> str:
    """What stands for a data set in the facts of a job: its contents, wherever they lie."""
    return source if source == find(task).settings.data else _digest(task, str(Path(source).resolve()))


@lru_cache(maxsize=64)
def _digest(task: str, source: str) -> str:
    return find(task).digest(source)


@dataclass(frozen=True)
class Trained(Job):
    """A training run."""

    task: str
    """what `ngs train` takes: the name of a task, or where it is"""
    settings: Any

    @property
    def facts(self) -> dict[str, Any]:
        """Without what has its default, so that a setting which is added later changes no address."""
        settings = {
            name: list(value) if isinstance(value, tuple) else value  # as JSON gives it back
            for name, value in self.settings.given.items()
        }
        task = find(self.task)
        file = {} if task.file is None else {"task_file": task.file.sha256}
        data = data_facts(self.task, self.settings.data)
        return {"task": task.name, **file, **settings, "data": data, "defaults": DEFAULTS}

    def do(self, folder: Path, needed: Sequence[Path]) -> Iterator[Progress]:
        return train(find(self.task), self.settings, folder, resume=(folder / CONFIG).exists())
