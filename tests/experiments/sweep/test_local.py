"""Sweeps in one process: what is done, in which order, and beside others."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from ngs.errors import NGSError
from ngs.experiments.folder import RESULT
from ngs.experiments.job import address
from ngs.experiments.sweep.event import Began, Done, Event, Failed, Found, Waiting, WentOn
from ngs.experiments.sweep.local import gpus, run_here
from ngs.experiments.sweep.store import Store, addressed
from tests.experiments.sweep.jobs import Sum, attempts, ends, lines
from tests.experiments.sweep.other_sweep import start
from tests.experiments.sweep.outcome import litter, of

POLL = 0.05


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
    assert of(Done, run_here([two, three], store, workers=1)) == [3]
    assert ends(log) == [1, 2, 3]


def test_needs_are_done_and_read(store: Store, log: str) -> None:
    one, two = Sum(1, log), Sum(2, log)
    three = Sum(3, log, needs=(one, two))
    events = list(run_here([Sum(4, log, needs=(three,)), two], store, workers=1))
    assert of(Done, events) == ends(log) == [1, 2, 3, 4]
    assert json.loads((store.folder(three) / RESULT).read_text()) == {"sum": 6}
    assert [type(event) for event in events if event.job == two] == [Began, WentOn, WentOn, Done]
    assert litter(store) == []


def test_only_what_is_missing_is_done(store: Store, log: str) -> None:
    jobs = [Sum(number, log) for number in range(4)]
    events: list[Event] = []
    for event in run_here(jobs, store, workers=1):
        events.append(event)
        if of(WentOn, events)[-1:] == [1]:
            break  # in the middle of the second
    assert litter(store) == [f"{address(jobs[1])}", f"{address(jobs[1])}.1"]
    events = list(run_here([*jobs, Sum(4, log)], store, workers=1))
    assert of(Found, events) == [0] and of(Done, events) == [1, 2, 3, 4]
    assert of(Found, run_here([*jobs, Sum(4, log)], store, workers=1)) == ends(log) == [0, 1, 2, 3, 4]
    assert [attempts(log, number) for number in range(5)] == [1, 2, 1, 1, 1]
    assert litter(store) == []


def test_a_failing_job_stops_only_what_needs_it(store: Store, log: str) -> None:
    bad = Sum(1, log, error="too hot")
    jobs = [bad, Sum(2, log, needs=(bad,)), Sum(3, log)]
    events = list(run_here(jobs, store, workers=1))
    assert of(Failed, events) == [1, 2] and of(Done, events) == [3]
    why = {event.job.facts["number"]: event.error for event in events if isinstance(event, Failed)}
    assert why[1].splitlines()[0] == "RuntimeError: too hot" and "jobs.py" in why[1]
    assert why[1] == store.error(bad) and address(bad) in why[2]
    events = list(run_here([replace(bad, error=""), jobs[1]], store, workers=1))  # next time it goes well
    assert of(Done, events) == [1, 2] and store.error(bad) is None
    assert litter(store) == []


def test_a_job_that_leaves_no_result_has_failed(
    store: Store, log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sum, "do", lambda self, folder, needed: iter(()))
    _, event = run_here([Sum(1, log)], store, workers=1)
    assert isinstance(event, Failed) and RESULT in event.error


def test_a_sweep_needs_workers(store: Store) -> None:
    with pytest.raises(NGSError, match="0 workers"):
        run_here([], store, workers=0)


def test_gpus_go_by_the_names_this_process_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert gpus() == ["0", "1"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,GPU-a")
    assert gpus() == ["5", "GPU-a"]


def test_what_others_do_is_waited_for(store: Store, log: str) -> None:
    held = store.claim(address(Sum(1, log)))
    assert held is not None
    events: list[Event] = []
    for event in run_here([Sum(1, log), Sum(2, log)], store, workers=1, poll=POLL):
        events.append(event)
        if of(Done, events) == [2]:
            held.release()
    assert of(Waiting, events) == [1] and of(Done, events) == [2, 1]


def test_what_failed_at_others_is_not_tried_again_at_once(store: Store, log: str) -> None:
    name = address(Sum(1, log))
    held = store.claim(name)
    assert held is not None
    sweep = run_here([Sum(1, log)], store, workers=1, poll=POLL)
    assert isinstance(next(sweep), Waiting)
    store.note_error(name, "too cold")
    held.release()
    assert list(sweep) == [Failed(Sum(1, log), "too cold")]


def test_who_lost_its_claim_stops(tmp_path: Path, log: str) -> None:
    store = Store(tmp_path / "store")
    job = Sum(1, log)
    sweep = run_here([job], store, workers=1, poll=POLL)
    assert isinstance(next(sweep), Began)
    (store.root / ".claims" / f"{address(job)}.2").touch()  # somebody took this process for dead
    assert isinstance(next(sweep), Waiting)
    assert ends(log) == []


def test_two_sweeps_on_one_folder_do_each_job_once(store: Store, log: str) -> None:
    numbers = list(range(10))
    with start(store, log, numbers[::-1], workers=1, seconds=0.15) as other:
        assert other.stdout is not None
        first = other.stdout.readline()
        jobs = [Sum(number, log, seconds=0.15) for number in numbers]
        ours = list(run_here(jobs, store, workers=1, poll=POLL))
        theirs = Counter([first.strip(), *other.stdout.read().splitlines()])
    assert other.returncode == 0
    assert sorted(ends(log)) == numbers and len(lines(log)) == 2 * len(numbers)
    assert of(Done, ours) and of(Found, ours)
    assert sorted(of(Done, ours)) == [number for number in numbers if theirs[f"Found {number}"]]
    assert sorted(of(Found, ours)) == [number for number in numbers if theirs[f"Done {number}"]]
    assert litter(store) == []
