"""The order of the jobs of a sweep: whatever is ready goes to an executor, which does it somewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from typing import Protocol

from ngs.experiments.sweep.attempt import Event, Events, failed
from ngs.experiments.sweep.store import Addressed, Store, addressed
from ngs.tasks.results.job import Job


class Executor(Protocol):
    """Does jobs somewhere."""

    @property
    def places(self) -> int:
        """The number of jobs it takes at a time."""

    def submit(self, entry: Addressed) -> None:
        """Begin a job. Where that raises an error, the job has failed."""

    def events(self) -> Iterator[Event]:
        """Tell what happens to its jobs, until one of them has ended or some time has passed."""

    def close(self) -> None:
        """Stop its jobs."""


def drive(jobs: Iterable[Job], store: Store, start: Callable[[], Executor]) -> Events:
    """Do what is missing of the jobs and of what they need, as it is iterated; tells what happens.

    The executor starts with the iteration and is closed with it.
    """
    running: dict[str, Addressed] = {}
    failures: set[str] = set()
    with closing(start()) as executor:
        remaining = {entry.address: entry for entry in addressed(jobs, store.has)}
        while remaining:
            entry = _next(remaining, running) if len(running) < executor.places else None
            if entry is None:
                events = executor.events()
            elif store.has(entry.address):
                events = iter([Event(entry, "found")])
            elif bad := failures.intersection(entry.needs):
                places = ", ".join(str(store.at(need)) for need in sorted(bad))
                events = iter([Event(entry, "failed", f"what it needs has failed: {places}")])
            else:
                running[entry.address] = entry
                try:
                    executor.submit(entry)
                    continue
                except Exception as error:
                    events = iter([failed(entry, error)])
            for event in events:
                if event.state != "running":
                    name = event.entry.address
                    del remaining[name]
                    if event.state == "failed":
                        failures.add(name)
                    if running.pop(name, None):
                        store.note_error(name, event.text)
                yield event


def _next(remaining: Mapping[str, Addressed], running: Mapping[str, Addressed]) -> Addressed | None:
    """Choose the next job to begin beside the running ones; None where all that remain have to wait.

    A job that has to be alone waits until nothing else goes on, and then all others wait for it.
    """
    if any(entry.job.alone for entry in running.values()):
        return None
    waiting = (entry for name, entry in remaining.items() if name not in running)
    ready = (entry for entry in waiting if remaining.keys().isdisjoint(entry.needs))
    entry = min(ready, key=lambda entry: entry.job.alone, default=None)
    return None if entry and entry.job.alone and running else entry
