"""A job: a piece of work addressed by what its result depends on, and done once."""

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

DEFAULTS = 1  # to be increased when a default of a training run changes, so that its runs get new addresses


@dataclass(frozen=True)
class Progress:
    """The progress of a job, with its latest measurements."""

    step: int
    steps: int  # at most
    row: Mapping[str, Any]  # the measurements


class Measurement(Protocol):
    """A job other than a training run: a frozen value that can be pickled."""

    @property
    def facts(self) -> dict[str, Any]:
        """Everything that the result depends on, for JSON, without paths on this machine."""

    @property
    def needs(self) -> tuple[Job, ...]:
        """Jobs that must be done before; it reads their folders."""
        return ()

    @property
    def alone(self) -> bool:
        """Whether no other job may run meanwhile, because it measures time."""
        return False

    @property
    def runs_on(self) -> str:
        """The device: cpu or cuda."""
        return "cpu"

    def measure(self, folder: Path, needed: Sequence[Path]) -> Measuring:
        """Returns the result. `needed` are the folders of its needs; drawings go into `folder`."""


@dataclass(frozen=True)
class Trained:
    """A training run."""

    task: str  # its name, file or module, as for `ngs train`
    settings: Any
    needs: ClassVar[tuple[Job, ...]] = ()
    alone: ClassVar[bool] = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by name: in another process, the file of a task is another module."""
        return _trained, (type(self), self.task, self.settings.given)

    @property
    def facts(self) -> dict[str, Any]:
        """Settings other than the default: new ones change no address. None of CHANGES_NO_RESULT."""
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
    """The name of a job's folder: a hash of its facts, the same on every machine."""
    text = json.dumps(job.facts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def data_facts(task: str, source: str) -> str:
    """The digest of a data set, or the name of the built-in one."""
    return source if source == find(task).settings.data else _digest(task, str(Path(source).resolve()))


@lru_cache(maxsize=64)
def _digest(task: str, source: str) -> str:
    return find(task).digest(source)
