"""Sweeps in several processes: nothing is lost and nothing is done twice, whoever is killed."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from ngs.experiments.config import TrainHWF
from ngs.experiments.folder import ENVIRONMENT
from ngs.experiments.job import Trained, address
from ngs.experiments.sweep import local
from ngs.experiments.sweep.event import Died, Done, Event, Failed, WentOn
from ngs.experiments.sweep.local import run_here
from ngs.experiments.sweep.plan import Plan
from ngs.experiments.sweep.store import CLAIMS, Store
from ngs.tasks.hwf import packed
from ngs.tasks.hwf.embedded import embedded
from tests.experiments.finished_runs import facts_of, finished
from tests.experiments.sweep.jobs import Sum, attempts, ends
from tests.experiments.sweep.other_sweep import start
from tests.experiments.sweep.outcome import litter, of

POLL = 0.05


@dataclass(frozen=True)
class Swept:
    store: Store
    log: str
    trained: Trained
    events: list[Event]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Swept:
    """A sweep of two workers with a training run that is killed in the middle, and jobs of all kinds.

    1 and 2 are what 3 needs; 4 fails, 5 needs 4; 6 kills whoever does it.
    """
    place = tmp_path_factory.mktemp("swept")
    store, log, data = Store(place / "store"), str(place / "log"), place / "tiny.ngs"
    packed.write(data, embedded(train=80, test=20, lengths={1: 0.5, 3: 0.5}))
    config = TrainHWF(data=str(data), steps=30, validate_every=5, batch_size=8, validation=0.2)
    trained = Trained(config)
    sums = [Sum(1, log, seconds=0.2), Sum(2, log)]
    bad = Sum(4, log, error="too hot")
    jobs = [trained, Sum(3, log, needs=tuple(sums)), bad, Sum(5, log, needs=(bad,)), Sum(6, log, deaths=9)]
    events: list[Event] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(local, "ATTEMPTS", 2)
        for event in run_here(jobs, store, workers=2, poll=POLL):
            events.append(event)
            first_life = not any(isinstance(event, Died) and event.job == trained for event in events)
            if (
                first_life
                and isinstance(event, WentOn)
                and event.job == trained
                and event.progress.step >= 10
            ):
                (claim,) = (store.root / CLAIMS).glob(f"{address(trained)}.*")
                os.kill(json.loads(claim.read_text())["pid"], signal.SIGKILL)
    return Swept(store, log, trained, events)


def test_a_killed_training_run_ends_as_if_nothing_had_happened(swept: Swept, tmp_path: Path) -> None:
    told = [event for event in swept.events if event.job == swept.trained]
    died = next(index for index, event in enumerate(told) if isinstance(event, Died))
    steps = [event.progress.step for event in told[died:] if isinstance(event, WentOn)]
    assert steps[0] > 5 and steps[-1] == 30  # from a checkpoint
    assert isinstance(told[-1], Done)
    finished(swept.trained.config, tmp_path / "straight")
    assert facts_of(swept.store.folder(swept.trained)) == facts_of(tmp_path / "straight")


def test_each_job_is_done_once_and_after_what_it_needs(swept: Swept) -> None:
    assert sorted(of(Done, swept.events)) == sorted(ends(swept.log)) == [1, 2, 3]
    assert ends(swept.log)[-1] == 3
    assert [attempts(swept.log, number) for number in (1, 2, 3, 4, 5)] == [1, 1, 1, 1, 0]


def test_what_fails_or_kills_does_not_stop_the_others(swept: Swept) -> None:
    why = {event.job.facts["number"]: event.error for event in swept.events if isinstance(event, Failed)}
    assert sorted(why) == [4, 5, 6]
    assert why[4].startswith("RuntimeError: too hot\n") and "signal 9" in why[6]
    assert of(Died, swept.events) == [6] and attempts(swept.log, 6) == 2
    assert swept.store.error(Sum(6, swept.log)) == why[6]


def test_workers_share_the_threads_of_this_process(swept: Swept) -> None:
    facts = json.loads((swept.store.folder(swept.trained) / ENVIRONMENT).read_text())
    assert facts["threads"] == 1
    told = [event.progress.row for event in swept.events if isinstance(event, WentOn)]
    assert {row["threads"] for row in told if "threads" in row} == {"1"}  # before torch was loaded
    assert not multiprocessing.active_children()


def test_workers_take_the_gpus_in_turn(tmp_path: Path) -> None:
    store = Store(tmp_path)
    team = local._Team(Plan([], store), 3, ["5", "GPU-a"])
    devices = [team._variables(place)["CUDA_VISIBLE_DEVICES"] for place in range(3)]
    assert devices == ["5", "GPU-a", "5"]
    assert local._Team(Plan([], store), 3, [])._variables(0) == {}


def test_a_sweep_that_is_interrupted_leaves_no_processes_and_can_go_on(tmp_path: Path) -> None:
    store, log = Store(tmp_path / "store"), str(tmp_path / "log")
    with pytest.raises(KeyboardInterrupt):
        for event in run_here([Sum(1, log, seconds=60)], store, workers=2, poll=POLL):
            if isinstance(event, WentOn):
                assert multiprocessing.active_children()
                raise KeyboardInterrupt
    assert not multiprocessing.active_children()
    assert attempts(log, 1) == 1 and ends(log) == []
    assert of(Done, run_here([Sum(1, log)], store, workers=1)) == [1]
    assert litter(store) == []


def test_workers_do_not_outlive_the_process_that_leads_them(tmp_path: Path) -> None:
    store, log = Store(tmp_path / "store"), str(tmp_path / "log")
    with start(store, log, [1], workers=2, seconds=60) as other:
        assert other.stdout is not None
        while (line := other.stdout.readline()) != "WentOn 1\n":
            assert line, "it ended too soon"
        other.kill()
        assert other.stdout.read() == ""  # until the worker is gone too: it has the same output
    events = list(run_here([Sum(1, log)], store, workers=1, poll=POLL))
    assert of(Done, events) == ends(log) == [1] and attempts(log, 1) == 2
    assert litter(store) == []
