"""A piece of work whose result is worth keeping: known by what it depends on, and done once, wherever."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Protocol

from ngs.tasks.finding import find
from ngs.tasks.settings import CHANGES_NO_RESULT

DEFAULTS = 1
"""To be counted up when a default of a training run changes: runs that relied on it are others then."""


@dataclass(frozen=True)
class Progress:
    """Where a run or another job is: after some steps, or after a validation."""

    step: int
    steps: int  # at most
    row: Mapping[str, Any]  # the measurements


class Measurement(Protocol):
    """A job that is no training run. A frozen value that can be sent to another process."""

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

    @property
    def runs_on(self) -> str:
        """The device: cpu or cuda."""
        return "cpu"

    def measure(self, folder: Path, needed: Sequence[Path]) -> Measuring:
        """The result, at the end. `needed` are the folders of what it needs; drawings go into `folder`."""


@dataclass(frozen=True)
class Trained:
    """A training run."""

    task: str  # its name, file or module, as for `ngs train`
    settings: Any
    needs: ClassVar[tuple[Job, ...]] = ()
    alone: ClassVar[bool] = False

    def __reduce__(self) -> tuple[Any, ...]:
        """As its task makes it in another process, where the file of a task is another module."""
        return _trained, (type(self), self.task, self.settings.given)

    @property
    def facts(self) -> dict[str, Any]:
        """What the result depends on: no setting that has its default, so that one which is added later
        changes no address, and none that changes only when the test part is looked at."""
        settings = {
            name: list(value) if isinstance(value, tuple) else value  # as JSON gives it back
            for name, value in self.settings.given.items()
            if name not in CHANGES_NO_RESULT
        }
        task = find(self.task)
        file = {} if task.file is None else {"task_file": task.file.sha256}
        data = data_facts(self.task, self.settings.data)
        return {"task": task.name, **file, **settings, "data": data, "defaults": DEFAULTS}


def _trained(kind: type[Trained], task: str, given: Mapping[str, Any]) -> Trained:
    return kind(task, find(task).settings(**given))


Job = Trained | Measurement
Measuring = Generator[Progress, None, dict[str, Any]]  # its progress, then its result


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
