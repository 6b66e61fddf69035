"""What the pages of `ngs serve` share: the networks, the visitors, the runs, and the limits of it all."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from pathlib import Path

from ngs.apps.serve.limits import Limits, Slots
from ngs.apps.serve.networks import Networks
from ngs.apps.serve.training import FirstTraining
from ngs.apps.serve.visitors import Visitors
from ngs.tasks.clevr.reading import QuestionReader


@dataclass(eq=False)
class Playground:
    """Given to every router."""

    networks: Networks = field(default_factory=Networks)
    """`networks["trained"]`, `networks["weak"]`: None while there is none; never change one, copy it"""
    runs_root: Path | None = None
    """the folder whose runs are shown, and that a first network is trained into"""
    results: Path | None = None
    """the folder with records of `ngs reproduce`"""
    reader: QuestionReader | None = None
    """of questions about scenes"""
    limits: Limits = field(default_factory=Limits)
    known: InitVar[Visitors | None] = None
    """who is on the page already"""
    visitors: Visitors = field(init=False)
    jobs: Slots = field(init=False)
    """`with playground.jobs: ...` around all that computes"""
    learners: Slots = field(init=False)
    """around what learns, before `jobs`"""
    streams: Slots = field(init=False)
    """`with playground.streams: ...` while events are sent"""
    training: FirstTraining | None = field(init=False)
    """None without a folder to train into"""

    def __post_init__(self, known: Visitors | None) -> None:
        self.visitors = Visitors(self.limits) if known is None else known
        self.jobs = Slots(self.limits.jobs, self.limits.job_wait_seconds)
        self.learners = Slots(self.limits.learners, self.limits.job_wait_seconds)
        self.streams = Slots(self.limits.streams, 0.0)  # events are sent by the one loop, which never waits
        self.training = None if self.runs_root is None else FirstTraining(self.networks, self.runs_root)
