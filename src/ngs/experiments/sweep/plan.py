"""What is left of a sweep, and what of it can be begun now."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from ngs.experiments.job import Job
from ngs.experiments.sweep.event import Done, Event, Failed, Found, Waiting
from ngs.experiments.sweep.store import Addressed, Store, addressed


class Plan:
    """The state of a sweep in the process that leads it."""

    def __init__(self, jobs: Iterable[Job], store: Store) -> None:
        self.store = store
        self.left = {entry.address: entry for entry in addressed(jobs, store.has)}
        """what is neither done nor failed, in order"""
        self.ready: deque[Addressed] = deque()
        """what can be begun, as of the last survey"""
        self._begun: set[str] = set()
        self._failed: set[str] = set()
        self._awaited: set[str] = set()
        """what others had when we came to it"""

    def survey(self) -> Iterator[Event]:
        """Look what others have done, what they do, and what is `ready`."""
        self.ready.clear()
        for name, entry in list(self.left.items()):
            if name in self._begun:
                continue
            if self.store.has(name):
                yield self.note(entry, Found(entry.job))
            elif failed := self._failed.intersection(entry.needs):
                places = ", ".join(str(self.store.at(need)) for need in sorted(failed))
                yield self.note(entry, Failed(entry.job, f"what it needs has failed: {places}"))
            elif self.left.keys().isdisjoint(entry.needs):
                yield from self._look_at(entry)

    def _look_at(self, entry: Addressed) -> Iterator[Event]:
        name = entry.address
        if self.store.claimed(name):
            if name not in self._awaited:
                yield self.note(entry, Waiting(entry.job))
        # An attempt begins with forgetting the error of the last one: this one is new.
        elif name in self._awaited and (error := self.store.error_at(name)) is not None:
            yield self.note(entry, Failed(entry.job, error))
        else:
            self.ready.append(entry)

    def begin(self) -> Addressed | None:
        """The next of what is ready, which it is not any more; None where all that is left has to wait.

        A job that has to be alone waits until nothing else goes on here, and then all others wait for it.
        """
        out = [entry.job for name, entry in self.left.items() if name in self._begun]
        if any(job.alone for job in out):
            return None
        allowed = [entry for entry in self.ready if not entry.job.alone or not out]
        if not allowed:
            return None
        entry = min(allowed, key=lambda entry: entry.job.alone)  # the first of those that need not be alone
        self.ready.remove(entry)
        self._begun.add(entry.address)
        return entry

    def note(self, entry: Addressed, event: Event) -> Event:
        """Know what happened; returns the event."""
        name = entry.address
        match event:
            case Done() | Found():
                del self.left[name]
            case Failed():
                del self.left[name]
                self._failed.add(name)
            case Waiting():
                self._begun.discard(name)
                self._awaited.add(name)
        return event

    def put_back(self, entry: Addressed) -> None:
        """It was begun and has to be begun again."""
        self._begun.discard(entry.address)
