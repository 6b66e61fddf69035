"""A task's part of the playground: endpoints, and the tab of the page that calls them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from fastapi import APIRouter

from ngs.tasks.playground.limits import Slots
from ngs.tasks.playground.visitors import Visitors
from ngs.tasks.trainable import Trainable


@dataclass(eq=False)
class Server:
    """The state that all views share."""

    runs_root: Path = Path("runs")  # folder of the runs shown, also for the first network
    visitors: Visitors = field(default_factory=Visitors)
    jobs: Slots = field(init=False)  # `with server.jobs: ...` around all that computes
    learners: Slots = field(init=False)  # around what learns, before `jobs`

    def __post_init__(self) -> None:
        limits = self.visitors.limits
        self.jobs = Slots(limits.jobs, limits.job_wait_seconds)
        self.learners = Slots(limits.learners, limits.job_wait_seconds)


class View(ABC):
    """A task's part of the playground, made once for a server."""

    tab: ClassVar[str]  # the tab of the page that calls the endpoints, if the page has it
    otherwise: ClassVar[str]  # the state while no run is loaded

    def __init__(self, task: Trainable, server: Server) -> None:
        self.task, self.server = task, server

    @property
    @abstractmethod
    def ready(self) -> bool:
        """Whether there is a network."""

    @abstractmethod
    def load(self, run: Path) -> None:
        """Take the network of a run of the task."""

    @abstractmethod
    def router(self) -> APIRouter:
        """The endpoints; their paths begin with /api."""

    def prepare(self) -> None:  # noqa: B027 - most have nothing to prepare
        """Compute ahead in a thread of its own, so that visitors need not wait."""

    def stop(self) -> None:  # noqa: B027 - nor to stop
        """Stop for good: the server ends."""
