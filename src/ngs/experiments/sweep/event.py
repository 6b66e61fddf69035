"""What happens to the jobs of a sweep, one value at a time, for whoever watches."""

from __future__ import annotations

from dataclasses import dataclass

from ngs.experiments.job import Job
from ngs.experiments.run import Progress


@dataclass(frozen=True)
class Began:
    """Somebody here took it up, from its start or from where an earlier attempt stopped."""

    job: Job


@dataclass(frozen=True)
class WentOn:
    """It is being done here."""

    job: Job
    progress: Progress


@dataclass(frozen=True)
class Done:
    """It was done here."""

    job: Job


@dataclass(frozen=True)
class Found:
    """It need not be done here: its result was there before, or somebody else has made it meanwhile."""

    job: Job


@dataclass(frozen=True)
class Waiting:
    """Somebody else is doing it; told once."""

    job: Job


@dataclass(frozen=True)
class Died:
    """The process that did it died; another goes on with it."""

    job: Job
    reason: str


@dataclass(frozen=True)
class Failed:
    """It will not be done in this sweep. The first line of `error` says why."""

    job: Job
    error: str


Event = Began | WentOn | Done | Found | Waiting | Died | Failed
