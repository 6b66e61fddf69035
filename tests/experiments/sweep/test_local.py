"""Sweeps in one process: what is done, in which order, and what goes wrong."""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from filelock import Timeout

from ngs.errors import NGSError
from ngs.experiments.sweep.driver import Event, attempt, drive
from ngs.experiments.sweep.local import ThisProcess, gpus, run_here
from ngs.experiments.sweep.store import ERROR, Addressed, Store, addressed
from ngs.tasks.results.job import Job, Measuring, address
from ngs.tasks.run_folder import RESULT
from tests.experiments.sweep.jobs import Sum, attempts, ends, of, unfinished, why
from tests.experiments.sweep.one_sweep import start


def test_needs_come_first_and_each_address_once(log: str) -> None:
    one, two = Sum(1, log), Sum(2, log)
    three = Sum(3, log, needs=(one, two))
    four = Sum(4, log, needs=(three, one))
    assert [entry.job.facts["number"] for entry in addressed([four, two, Sum(1, log), three])] == [1, 2, 3, 4]


def test_what_is_done_needs_nothing_any_more(store: Store, log: str) -> None:
    one = Sum(1, log)
    two = Sum(2, log, needs=(one,))
    three = Sum(3, log, needs=(two,))
    list(run_here([two], store, workers=1))
    shutil.rmtree(store.folder(one))
    assert of("done", run_here([two, three], store, workers=1)) == [3]
    assert ends(log) == [1, 2, 3]


def test_needs_are_done_and_read(store: Store, log: str) -> None:
    one, two = Sum(1, log), Sum(2, log)
    three = Sum(3, log, needs=(one, two))
    events = list(run_here([Sum(4, log, needs=(three,)), two], store, workers=1))
    assert of("done", events) == ends(log) == [1, 2, 3, 4]
    assert json.loads((store.folder(three) / RESULT).read_text()) == {"sum": 6}
    told = [(event.state, event.text) for event in events if event.entry.job == two]
    assert told == [("running", "step 1 of 2"), ("running", "step 1 of 1"), ("done", "")]
    assert unfinished(store) == []


def test_only_what_is_missing_is_done(store: Store, log: str) -> None:
    jobs = [Sum(number, log) for number in range(4)]
    events: list[Event] = []
    for event in run_here(jobs, store, workers=1):
        events.append(event)
        if of("running", events)[-1:] == [1]:
            break  # in the middle of the second
    assert unfinished(store) == [address(jobs[1])]
    events = list(run_here([*jobs, Sum(4, log)], store, workers=1))
    assert of("found", events) == [0] and of("done", events) == [1, 2, 3, 4]
    assert of("found", run_here([*jobs, Sum(4, log)], store, workers=1)) == ends(log) == [0, 1, 2, 3, 4]
    assert [attempts(log, number) for number in range(5)] == [1, 2, 1, 1, 1]
    assert unfinished(store) == []


def test_a_failing_job_stops_only_what_needs_it(store: Store, log: str) -> None:
    bad = Sum(1, log, error="too hot")
    jobs = [bad, Sum(2, log, needs=(bad,)), Sum(3, log)]
    events = list(run_here(jobs, store, workers=1))
    assert of("failed", events) == [1, 2] and of("done", events) == [3]
    told, kept = why(events), store.folder(bad) / ERROR
    assert told[1].splitlines()[0] == "RuntimeError: too hot" and "jobs.py" in told[1]
    assert told[1] == kept.read_text(encoding="utf-8") and address(bad) in told[2]
    events = list(run_here([replace(bad, error=""), jobs[1]], store, workers=1))  # next time it goes well
    assert of("done", events) == [1, 2] and not kept.exists()
    assert unfinished(store) == []


def test_a_job_that_leaves_no_result_has_failed(
    store: Store, log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ngs.experiments.sweep.driver.do", lambda job, folder, needed: iter(()))
    assert RESULT in why(run_here([Sum(1, log)], store, workers=1))[1]


def test_a_job_that_was_finished_meanwhile_is_found(store: Store, log: str) -> None:
    (entry,) = addressed([Sum(1, log)])
    assert [event.state for event in attempt(entry, store)] == ["running", "running", "done"]
    assert [event.state for event in attempt(entry, store)] == ["found"]
    assert attempts(log, 1) == 1


@pytest.mark.parametrize("error", [SystemExit("enough"), Timeout("a lock of its own")])
def test_whatever_a_job_raises_is_its_own_failure(
    error: BaseException, store: Store, log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(self: Sum, folder: Path, needed: Sequence[Path]) -> Measuring:
        raise error

    monkeypatch.setattr(Sum, "measure", measure)
    assert why(run_here([Sum(1, log)], store, workers=1))[1].startswith(type(error).__name__)


def test_a_job_that_is_stopped_gives_its_folder_back(store: Store, log: str) -> None:
    (entry,) = addressed([Sum(1, log)])
    executor = ThisProcess(store)
    executor.submit(entry)
    events = executor.events()
    assert next(events).state == "running"
    executor.close()
    with store.writing(entry.address):
        assert list(events) == []


def test_an_error_is_written_only_where_a_job_of_this_sweep_failed(store: Store, log: str) -> None:
    (entry,) = addressed([Sum(1, log)])
    with store.writing(entry.address) as folder:
        store.note_error(entry.address, "another process is at it")
    assert not (folder / ERROR).exists()
    store.note_error(entry.address, "too hot")
    assert (folder / ERROR).read_text() == "too hot"
    (folder / RESULT).write_text("{}")
    store.note_error(entry.address, "another process was at it")
    assert not (folder / ERROR).exists()


def test_a_sweep_needs_workers(store: Store) -> None:
    with pytest.raises(NGSError, match="0 workers"):
        run_here([], store, workers=0)


def test_gpus_go_by_the_names_this_process_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert gpus() == ["0", "1"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,GPU-a")
    assert gpus() == ["5", "GPU-a"]


def test_what_another_process_does_is_left_to_it(store: Store, log: str, tmp_path: Path) -> None:
    """It is not done twice at a time, and can be done when that process is gone."""
    with start(store, log, workers=1) as other:
        assert other.stdout is not None and other.stdout.readline() == "running 1\n"
        events = list(run_here([Sum(1, log), Sum(2, log)], store, workers=1))
        assert of("done", events) == ends(log) == [2]
        assert "another process is at it" in why(events)[1] and attempts(log, 1) == 1
        assert not (store.folder(Sum(1, log)) / ERROR).exists()
        other.kill()
    events = list(run_here([Sum(1, log), Sum(2, log)], store, workers=1))
    assert of("done", events) == [1] and of("found", events) == [2]
    assert unfinished(store) == []


# What may go on at the same time


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
