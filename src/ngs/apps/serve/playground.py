"""What the pages of `ngs serve` share: the networks, the visitors, the runs, and the limits of it all."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ngs.apps.serve.limits import Slots
from ngs.apps.serve.networks import Networks
from ngs.apps.serve.training import FirstTraining
from ngs.apps.serve.visitors import Visitors
from ngs.tasks.clevr.reading import QuestionReader


@dataclass(eq=False)
class Playground:
    """Given to every router."""

    networks: Networks = field(default_factory=Networks)
    runs_root: Path = Path("runs")
    """the folder whose runs are shown, and that a first network is trained into"""
    results: Path = Path("docs/results")
    """the folder with records of `ngs reproduce`"""
    reader: QuestionReader | None = None
    """of questions about scenes"""
    visitors: Visitors = field(default_factory=Visitors)
    jobs: Slots = field(init=False)
    """`with playground.jobs: ...` around all that computes"""
    learners: Slots = field(init=False)
    """around what learns, before `jobs`"""
    streams: Slots = field(init=False)
    """`with playground.streams: ...` while events are sent"""
    training: FirstTraining = field(init=False)

    def __post_init__(self) -> None:
        limits = self.visitors.limits
        self.jobs = Slots(limits.jobs, limits.job_wait_seconds)
        self.learners = Slots(limits.learners, limits.job_wait_seconds)
        self.streams = Slots(limits.streams, 0.0)  # events are sent by the one loop, which never waits
        self.training = FirstTraining(self.networks, self.runs_root)
