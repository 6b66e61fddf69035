"""What may go on at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ngs.experiments.sweep.driver import Event, drive
from ngs.experiments.sweep.store import Addressed, Store
from ngs.tasks.results.job import Job
from tests.experiments.sweep.jobs import Sum


@dataclass
class Recorder:
    """Takes jobs and ends the oldest; notes what was going on when it took each."""

    places: int
    out: list[Addressed] = field(default_factory=list)
    begun: list[tuple[int, list[int]]] = field(default_factory=list)

    def submit(self, entry: Addressed) -> None:
        number, *others = (each.job.facts["number"] for each in (entry, *self.out))
        self.begun.append((number, others))
        self.out.append(entry)

    def events(self) -> Iterator[Event]:
        yield Event(self.out.pop(0), "done")

    def close(self) -> None:
        assert not self.out


def begun(jobs: list[Job], store: Store, places: int) -> list[tuple[int, list[int]]]:
    recorder = Recorder(places)
    list(drive(jobs, store, lambda: recorder))
    return recorder.begun


def test_what_has_to_be_alone_waits_and_is_waited_for(store: Store, log: str) -> None:
    alone = Sum(1, log, alone=True)
    jobs = [alone, Sum(2, log), Sum(3, log), Sum(4, log, alone=True), Sum(5, log, needs=(alone,))]
    assert begun(jobs, store, 9) == [(2, []), (3, [2]), (1, []), (5, []), (4, [])]


def test_as_many_go_on_as_there_are_places_and_none_before_what_it_needs(store: Store, log: str) -> None:
    one, two, three = (Sum(number, log) for number in (1, 2, 3))
    jobs = [Sum(4, log, needs=(one, two)), three, Sum(5, log)]
    assert begun(jobs, store, 2) == [(1, []), (2, [1]), (3, [2]), (4, [3]), (5, [4])]
    assert begun(jobs, store, 9) == [(1, []), (2, [1]), (3, [1, 2]), (5, [1, 2, 3]), (4, [3, 5])]
