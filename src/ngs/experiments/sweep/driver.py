"""The order of the jobs of a sweep: whatever is ready goes to an executor, which does it somewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Protocol

from ngs.experiments.job import Job
from ngs.experiments.sweep.attempt import Event
from ngs.experiments.sweep.store import Addressed, Store, addressed


class Executor(Protocol):
    """Where jobs are done."""

    @property
    def places(self) -> float:
        """How many at a time."""

    def submit(self, entry: Addressed) -> None:
        """Take a job."""

    def events(self) -> Iterator[Event]:
        """What happens to the jobs it has, until one of them has ended or some time has passed."""

    def close(self) -> None:
        """Stop the jobs it has."""


def drive(jobs: Iterable[Job], store: Store, executor: Executor) -> Iterator[Event]:
    """Do what is missing of the jobs and of what they need, as it is iterated; tells what happens."""
    out: dict[str, Addressed] = {}
    failed: set[str] = set()
    with closing(executor):
        left = {entry.address: entry for entry in addressed(jobs, store.has)}
        while left:
            entry = _next(left, out) if len(out) < executor.places else None
            if entry is None:
                events = executor.events()
            elif store.has(entry.address):
                events = iter([Event(entry, "found")])
            elif bad := failed.intersection(entry.needs):
                places = ", ".join(str(store.at(need)) for need in sorted(bad))
                events = iter([Event(entry, "failed", f"what it needs has failed: {places}")])
            else:
                out[entry.address] = entry
                executor.submit(entry)
                continue
            for event in events:
                if event.state != "running":
                    name = event.entry.address
                    del left[name]
                    if event.state == "failed":
                        failed.add(name)
                    if out.pop(name, None):
                        store.note_error(name, event.text)
                yield event


def _next(left: Mapping[str, Addressed], out: Mapping[str, Addressed]) -> Addressed | None:
    """The next to begin while others are out; None where all that is left has to wait.

    A job that has to be alone waits until nothing else goes on, and then all others wait for it.
    """
    if any(entry.job.alone for entry in out.values()):
        return None
    ready = (entry for name, entry in left.items() if name not in out and left.keys().isdisjoint(entry.needs))
    entry = min(ready, key=lambda entry: entry.job.alone, default=None)
    return None if entry and entry.job.alone and out else entry
