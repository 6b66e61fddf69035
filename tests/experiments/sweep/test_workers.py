"""Sweeps in several processes: nothing is lost and nothing is done twice, whoever is killed."""

import json
import multiprocessing
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from ngs.experiments.sweep.driver import Event
from ngs.experiments.sweep.local import Workers, run_here
from ngs.experiments.sweep.store import ERROR, Store
from ngs.tasks.results.job import Trained
from ngs.tasks.run_folder import CHECKPOINT, RESULT
from tests.experiments.short_runs import of_formulas
from tests.experiments.sweep.jobs import BEFORE, Mortal, Sum, attempts, ends, of, unfinished, why
from tests.experiments.sweep.one_sweep import start
from tests.experiments.training import facts_of, finished


@dataclass(frozen=True)
class Swept:
    store: Store
    log: str
    trained: Mortal
    events: list[Event]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Swept:
    """A sweep of two workers, one of which is killed in the middle of a training run, with jobs of all kinds.

    1 and 2 are what 3 needs; 4 fails, 5 needs 4.
    """
    place = tmp_path_factory.mktemp("swept")
    store, log = Store(place / "store"), str(place / "log")
    config = of_formulas(place).but(steps=30).settings
    sums, bad = [Sum(1, log, seconds=1.0), Sum(2, log)], Sum(4, log, error="too hot")
    jobs = [Mortal(Trained("hwf", config)), Sum(3, log, needs=tuple(sums)), bad, Sum(5, log, needs=(bad,))]
    events = list(run_here(jobs, store, workers=2))
    assert not multiprocessing.active_children()
    return Swept(store, log, Mortal(Trained("hwf", config)), events)


def test_what_a_process_did_that_died_has_failed(swept: Swept) -> None:
    (end,) = [event for event in swept.events if event.entry.job == swept.trained and event.state == "failed"]
    folder = swept.store.folder(swept.trained)
    assert "killed" in end.text and (folder / ERROR).read_text() == end.text
    assert (folder / CHECKPOINT).exists() and not (folder / RESULT).exists()


def test_a_killed_training_run_ends_as_if_nothing_had_happened(swept: Swept, tmp_path: Path) -> None:
    *_, end = run_here([swept.trained], swept.store, workers=2)
    folder = swept.store.folder(swept.trained)
    assert end.state == "done" and not (folder / ERROR).exists()
    facts = json.loads((folder / BEFORE).read_text())
    assert len(facts["resumed"]) == 1 and facts["threads"] == 1  # they share those of this process
    finished(swept.trained.run.settings, tmp_path / "straight")
    assert facts_of(folder) == facts_of(tmp_path / "straight")


def test_each_job_is_done_once_and_after_what_it_needs(swept: Swept) -> None:
    assert sorted(of("done", swept.events)) == sorted(ends(swept.log)) == [1, 2, 3]
    assert ends(swept.log)[-1] == 3
    assert [attempts(swept.log, number) for number in (1, 2, 3, 4, 5)] == [1, 1, 1, 1, 0]


def test_what_fails_does_not_stop_the_others(swept: Swept) -> None:
    told = why(event for event in swept.events if event.entry.job != swept.trained)
    assert sorted(told) == [4, 5] and told[4].startswith("RuntimeError: too hot\n") and "jobs.py" in told[4]
    assert (swept.store.folder(Sum(4, swept.log)) / ERROR).read_text() == told[4]


def test_a_job_that_does_not_reach_its_process_has_failed(store: Store, log: str) -> None:
    class Local(Sum):
        """Cannot be pickled."""

    events = list(run_here([Local(1, log), Sum(2, log, exits=True), Sum(3, log)], store, workers=2))
    told = why(events)
    assert of("done", events) == [3] and sorted(told) == [1, 2]
    assert "pickle" in told[1] and told[2].startswith("SystemExit: enough\n")
    assert (store.folder(Sum(1, log)) / ERROR).read_text() == told[1]


def test_workers_tell_where_their_jobs_are(swept: Swept) -> None:
    told = [event.text for event in swept.events if event.entry.job.facts.get("number") == 1]
    assert told[0] == "step 1 of 2"


def test_workers_take_the_gpus_in_turn(store: Store) -> None:
    for devices, turns in ([["5", "GPU-a"], ["5", "GPU-a", "5"]], [[], [None] * 3]):
        workers = Workers(store, 3, devices)
        assert [worker.settings[-1] for worker in workers.idle] == turns
        workers.close()


def test_a_sweep_that_is_interrupted_leaves_no_processes_and_can_go_on(store: Store, log: str) -> None:
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        for event in run_here([Sum(1, log, seconds=60)], store, workers=2):
            if event.state == "running":
                assert multiprocessing.active_children()
                raise KeyboardInterrupt
    assert not multiprocessing.active_children() and time.monotonic() < began + 60
    assert attempts(log, 1) == 1 and ends(log) == []
    assert of("done", run_here([Sum(1, log)], store, workers=1)) == [1]
    assert unfinished(store) == []


def test_workers_do_not_outlive_the_process_that_leads_them(store: Store, log: str) -> None:
    with start(store, log, workers=2) as other:
        assert other.stdout is not None and other.stdout.readline().startswith("running")
        other.kill()
        other.stdout.read()  # until the workers are gone too: they have the same output
    assert sorted(of("done", run_here([Sum(1, log), Sum(2, log)], store, workers=1))) == [1, 2]
    assert sorted(ends(log)) == [1, 2]
