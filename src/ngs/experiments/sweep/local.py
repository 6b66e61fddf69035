"""The jobs of a sweep on this machine, several at a time."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from multiprocessing.connection import wait

import torch

from ngs.errors import NGSError
from ngs.experiments.job import Job
from ngs.experiments.sweep.attempt import attempt, failed
from ngs.experiments.sweep.event import Died, Event
from ngs.experiments.sweep.plan import Plan
from ngs.experiments.sweep.store import Addressed, Store
from ngs.experiments.sweep.worker import Worker

ATTEMPTS = 3
"""A job whose process has died this often is the reason for it, and counts as failed."""


def run_here(
    jobs: Iterable[Job], store: Store, *, workers: int | None = None, poll: float = 1.0
) -> Iterator[Event]:
    """Do what is missing of the jobs and of what they need, as it is iterated; tells what happens.

    `workers` processes share the cores, and the GPUs in turn; by default there is one for each GPU. One
    alone is this process itself. Other calls, here or on other machines, may fill the same store at the
    same time; what they do is looked at every `poll` seconds. A job that fails stops those that need it
    and no others. Interrupted, the sweep goes on from the checkpoints of its jobs when it is run again.
    """
    if workers is not None and workers < 1:
        raise NGSError(f"a sweep with {workers} workers would never end; give at least 1")
    devices = gpus()
    workers = workers or max(1, len(devices))
    plan = Plan(jobs, store)
    if workers == 1:
        return _alone(plan, poll)
    return _together(plan, workers, devices, poll)


def gpus() -> list[str]:
    """The GPUs this process may use, as CUDA_VISIBLE_DEVICES names them."""
    count = torch.cuda.device_count()
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return named.split(",")[:count] if named else [str(number) for number in range(count)]


def _alone(plan: Plan, poll: float) -> Iterator[Event]:
    while plan.left:
        yield from plan.survey()
        if (entry := plan.begin()) is not None:
            with closing(attempt(entry, plan.store)) as events:
                for event in events:
                    yield plan.note(entry, event)
        elif plan.left:
            time.sleep(poll)


def _together(plan: Plan, places: int, devices: list[str], poll: float) -> Iterator[Event]:
    team = _Team(plan, places, devices)
    try:
        while plan.left:
            yield from plan.survey()
            team.employ()
            yield from team.listen(poll)
    finally:
        team.dismiss()


class _Team:
    """The workers, at most one at each place; they come when there is something to do."""

    def __init__(self, plan: Plan, places: int, devices: list[str]) -> None:
        self.plan, self.places, self.devices = plan, places, devices
        self.threads = max(1, torch.get_num_threads() // places)
        self.workers: dict[int, Worker] = {}
        self.deaths: Counter[str] = Counter()

    def employ(self) -> None:
        """Give what is ready to whoever is free."""
        for place in range(self.places):
            if place in self.workers and self.workers[place].entry is not None:
                continue
            entry = self.plan.begin()
            if entry is None:
                return
            if place not in self.workers:
                self.workers[place] = Worker(self.plan.store, self.threads, self._variables(place))
            self.workers[place].give(entry)

    def _variables(self, place: int) -> dict[str, str]:
        return {"CUDA_VISIBLE_DEVICES": self.devices[place % len(self.devices)]} if self.devices else {}

    def listen(self, seconds: float) -> Iterator[Event]:
        """What the workers tell, until one of them gets free or some time has passed."""
        end, busy = time.monotonic() + seconds, self._busy()
        while self._busy() == busy and (left := end - time.monotonic()) > 0:
            wait([sign for worker in self.workers.values() for sign in worker.signs], left)
            for place, worker in list(self.workers.items()):
                death = worker.death()  # before the last words are read
                for entry, event in worker.told():
                    yield self.plan.note(entry, event)
                if death is not None:
                    del self.workers[place]
                    worker.wait_until_gone()
                    if worker.entry is not None:
                        yield self._count_death(worker.entry, death)

    def _busy(self) -> int:
        return sum(worker.entry is not None for worker in self.workers.values())

    def _count_death(self, entry: Addressed, death: str) -> Event:
        self.deaths[entry.address] += 1
        if self.deaths[entry.address] < ATTEMPTS:
            self.plan.put_back(entry)
            return Died(entry.job, death)
        error = f"the process that did it died {ATTEMPTS} times, last {death}; is there memory enough for it?"
        return self.plan.note(entry, failed(entry, self.plan.store, error))

    def dismiss(self) -> None:
        for worker in self.workers.values():
            worker.ask_to_stop()
        for worker in self.workers.values():
            worker.wait_until_gone()
