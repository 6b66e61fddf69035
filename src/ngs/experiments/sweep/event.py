"""What happens to the jobs of a sweep, one value at a time, for whoever watches."""

from __future__ import annotations

from dataclasses import dataclass

from ngs.experiments.job import Job
from ngs.experiments.run import Progress


@dataclass(frozen=True)
class Event:
    """Something that happened to a job."""

    job: Job


class Began(Event):
    """Somebody here took it up, from its start or from where an earlier attempt stopped."""


@dataclass(frozen=True)
class WentOn(Event):
    """It is being done here."""

    progress: Progress


class Done(Event):
    """It was done here."""


class Found(Event):
    """It need not be done here: its result was there before, or somebody else has made it meanwhile."""


class Waiting(Event):
    """Somebody else is doing it; told once."""


@dataclass(frozen=True)
class Died(Event):
    """The process that did it died; another goes on with it."""

    reason: str


@dataclass(frozen=True)
class Failed(Event):
    """It will not be done in this sweep. The first line of `error` says why."""

    error: str
