"""The jobs of a sweep on a Ray cluster, whose machines need not share a file system.

NGS must be installed on every machine of the cluster, and data files that a job reads must lie there
under the path that it names; a relative one would be looked for elsewhere. Everything else travels: a job
and the files of what it needs go out, the files of its result come back. Where a machine dies, the job begins
anew on another, as its checkpoint is gone.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from ngs.errors import NGSError
from ngs.experiments.folder import RESULT
from ngs.experiments.job import Job
from ngs.experiments.sweep.attempt import failed, text_of
from ngs.experiments.sweep.claim import Claim
from ngs.experiments.sweep.event import Began, Done, Event, Found, Waiting
from ngs.experiments.sweep.plan import Plan
from ngs.experiments.sweep.store import Addressed, Store
from ngs.experiments.sweep.travel import do_there, pack, unpack

RETRIES = 2
"""How often Ray does a job again whose process or machine died, from its beginning."""


def run_on_ray(
    jobs: Iterable[Job], store: Store, *, address: str = "auto", per_gpu: int = 1, poll: float = 1.0
) -> Iterator[Event]:
    """Do what is missing of the jobs and of what they need, as it is iterated; tells what happens.

    Uses the cluster this process is connected to, or else connects to the one at `address`. Where the
    cluster has GPUs, `per_gpu` jobs share one; elsewhere a job has a core. As many are given out as have
    a place. This process claims them in the store, so local sweeps and others may fill it as well.
    """
    if per_gpu < 1:
        raise NGSError(f"{per_gpu} jobs cannot share a GPU; give at least 1")
    try:
        import ray
    except ImportError:
        raise NGSError("Ray is not installed; install the extra: pip install 'ngs[ray]'") from None
    return _lead(ray, Plan(jobs, store), address, per_gpu, poll)


def _lead(ray: Any, plan: Plan, address: str, per_gpu: int, poll: float) -> Iterator[Event]:
    with ExitStack() as leaving:
        if not ray.is_initialized():
            _connect(ray, address)
            leaving.callback(ray.shutdown)
        cluster = _Cluster(ray, plan, per_gpu)
        leaving.callback(cluster.call_back)
        while plan.left:
            yield from plan.survey()
            yield from cluster.give_out()
            yield from cluster.collect(poll)


def _connect(ray: Any, address: str) -> None:
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING)
    except ConnectionError as error:
        raise NGSError(
            f"no Ray cluster can be reached at {address!r} ({error}); start one with `ray start --head` or "
            f"give the address of one, and its token if it has one (RAY_AUTH_MODE=token, RAY_AUTH_TOKEN)"
        ) from error


@dataclass(frozen=True)
class _Given:
    """A job that is out."""

    entry: Addressed
    claim: Claim


class _Cluster:
    """What is out at the cluster, each with the claim that this process holds for it."""

    def __init__(self, ray: Any, plan: Plan, per_gpu: int) -> None:
        self.ray, self.plan, self.store, self.per_gpu = ray, plan, plan.store, per_gpu
        self.out: dict[Any, _Given] = {}  # by Ray's reference to what comes back
        self.sent: dict[str, Any] = {}  # Ray's reference to the files of what others need, by address

    def give_out(self) -> Iterator[Event]:
        resources = self.ray.cluster_resources()  # each time: machines come and go
        gpus = resources.get("GPU", 0.0)
        share = {"num_gpus": 1 / self.per_gpu} if gpus else {"num_cpus": 1}
        places = int(gpus * self.per_gpu if gpus else resources.get("CPU", 0.0))
        places = max(1, places)  # a cluster that grows on demand has to see some
        task = self.ray.remote(**share, max_retries=RETRIES)(do_there)
        while len(self.out) < places and (entry := self.plan.begin()) is not None:
            yield self.plan.note(entry, self._give(entry, task))

    def _give(self, entry: Addressed, task: Any) -> Event:
        claim = self.store.claim(entry.address)
        if claim is None:
            return Waiting(entry.job)
        if self.store.has(entry.address):
            claim.release()
            return Found(entry.job)
        self.store.forget_error(entry.address)
        for need in entry.needs:
            if need not in self.sent:
                self.sent[need] = self.ray.put(pack(self.store.at(need)))
        # Ray replaces references that are arguments by what they stand for.
        needed = (self.sent[need] for need in entry.needs)
        self.out[task.remote(entry.job, entry.address, *needed)] = _Given(entry, claim)
        return Began(entry.job)

    def collect(self, seconds: float) -> Iterator[Event]:
        """What has come back, after waiting for some time for the first."""
        if not self.out:
            time.sleep(seconds)  # for what others do
            return
        back, _ = self.ray.wait(list(self.out), timeout=seconds)
        for reference in back:
            given = self.out.pop(reference)
            with given.claim:
                event = (
                    self._receive(given.entry, reference) if given.claim.held else Waiting(given.entry.job)
                )
            yield self.plan.note(given.entry, event)

    def _receive(self, entry: Addressed, reference: Any) -> Event:
        try:
            files = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:  # its processes or machines died, or Ray itself
            return failed(entry, self.store, text_of(error))
        if isinstance(files, str):
            return failed(entry, self.store, files)
        if RESULT not in files:
            return failed(entry, self.store, f"it ended without writing {RESULT}")
        unpack(files, self.store.at(entry.address))
        return Done(entry.job)

    def call_back(self) -> None:
        """Stop what is out."""
        for reference, given in self.out.items():
            given.claim.release()
            self.ray.cancel(reference, force=True)
