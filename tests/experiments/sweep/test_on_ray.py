"""Sweeps on a real Ray, started here: the same jobs, the same results, whoever is killed."""

from __future__ import annotations

import builtins
import json
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import ray

from ngs.errors import NGSError
from ngs.experiments.sweep import on_ray
from ngs.experiments.sweep.local import run_here
from ngs.experiments.sweep.on_ray import Cluster, pack, run_on_ray, unpack
from ngs.experiments.sweep.store import ERROR, Store, addressed
from ngs.tasks.results.job import address
from ngs.tasks.run_folder import BEST, CHECKPOINT, CONFIG, EARLY, ENVIRONMENT, METRICS, RESULT
from tests.experiments.short_runs import of_formulas
from tests.experiments.sweep.jobs import Sum, attempts, ends, of, unfinished, why
from tests.experiments.training import trained


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Two workers. Ray's own files go to a folder with a short name, as its sockets need, none go home."""
    with pytest.MonkeyPatch.context() as patched, TemporaryDirectory(ignore_cleanup_errors=True) as place:
        patched.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        patched.setattr(on_ray, "RETRIES", 1)
        quiet = {"include_dashboard": False, "log_to_driver": False, "configure_logging": False}
        ray.init(num_cpus=2, _temp_dir=place, **quiet)
        yield
        ray.shutdown()


@pytest.mark.usefixtures("cluster")
def test_what_a_killed_worker_did_is_done_elsewhere(store: Store, log: str) -> None:
    one, two = Sum(1, log, deaths=1), Sum(2, log, seconds=0.2)
    bad = Sum(4, log, error="too hot")
    jobs = [Sum(3, log, needs=(one, two)), bad, Sum(5, log, needs=(bad,)), Sum(6, log), Sum(7, log, deaths=9)]
    events = list(run_on_ray(jobs, store))
    assert sorted(of("done", events)) == sorted(ends(log)) == [1, 2, 3, 6]
    assert [attempts(log, number) for number in (1, 2, 3, 4, 5, 6)] == [2, 1, 1, 1, 0, 1]
    assert json.loads((store.folder(jobs[0]) / RESULT).read_text()) == {"sum": 6}
    told = why(events)
    assert sorted(told) == [4, 5, 7]
    assert told[4].startswith("RuntimeError: too hot\n") and "jobs.py" in told[4]
    assert told[4] == (store.folder(bad) / ERROR).read_text()
    assert told[7].startswith("WorkerCrashedError") and attempts(log, 7) == 2
    assert unfinished(store) == sorted([address(bad), address(jobs[4])])
    again = list(run_on_ray([jobs[0], Sum(8, log)], store))
    assert of("found", again) == [3] and of("done", again) == [8]


@pytest.mark.usefixtures("cluster")
def test_a_stop_calls_everything_back(store: Store, log: str) -> None:
    sweep = run_on_ray([Sum(1, log), Sum(2, log, seconds=60), Sum(3, log, seconds=60)], store)
    assert next(sweep).state == "done"
    sweep.close()
    stopped = time.monotonic()
    assert sorted(of("done", run_on_ray([Sum(2, log), Sum(3, log)], store))) == [2, 3]
    assert time.monotonic() < stopped + 60 and sorted(ends(log)) == [1, 2, 3]
    assert unfinished(store) == []


@pytest.mark.usefixtures("cluster")
def test_a_job_on_the_cluster_is_locked_and_a_result_is_never_replaced(store: Store, log: str) -> None:
    (entry,) = addressed([Sum(1, log)])
    cluster = Cluster(ray, store, "auto", per_gpu=1)
    cluster.submit(entry)
    assert "another process is at it" in why(run_here([Sum(1, log)], store, workers=1))[1]
    assert not (store.at(entry.address) / ERROR).exists()
    (store.at(entry.address) / RESULT).write_text('{"sum": 100}')  # by a machine that sees no locks
    assert of("found", cluster.events()) == [1]
    assert json.loads((store.at(entry.address) / RESULT).read_text()) == {"sum": 100}
    cluster.close()


@pytest.mark.usefixtures("cluster")
def test_what_another_process_does_is_not_given_out(store: Store, log: str) -> None:
    with store.writing(address(Sum(1, log))):
        events = list(run_on_ray([Sum(1, log), Sum(2, log)], store))
    assert "another process is at it" in why(events)[1] and of("done", events) == ends(log) == [2]


@pytest.mark.usefixtures("cluster")
def test_what_several_jobs_need_is_packed_once(
    store: Store, log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders: list[Path] = []

    def noting(folder: Path) -> on_ray.Files:
        folders.append(folder)
        return pack(folder)

    monkeypatch.setattr(on_ray, "pack", noting)
    one = Sum(1, log)
    events = list(run_on_ray([Sum(number, log, needs=(one,)) for number in (2, 3, 4)], store))
    assert sorted(of("done", events)) == [1, 2, 3, 4]
    assert folders == [store.folder(one)]


@pytest.mark.usefixtures("cluster")
def test_gpus_that_join_the_cluster_are_used(store: Store, log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[dict[str, float]] = []

    class Task:
        def options(self, **share: float) -> Task:
            shares.append(share)
            return self

        def remote(self, *_: object) -> object:
            return object()

    cluster = Cluster(ray, store, "auto", per_gpu=2)
    cluster.task = Task()
    for resources, entry in zip(
        ({"CPU": 2.0}, {"GPU": 1.0}), addressed([Sum(1, log), Sum(2, log)]), strict=True
    ):
        monkeypatch.setattr(ray, "cluster_resources", lambda found=resources: found)
        cluster.submit(entry)
    assert shares == [{"num_cpus": 1}, {"num_gpus": 0.5}]


@pytest.mark.usefixtures("cluster")
def test_a_training_run_comes_back_with_what_is_worth_keeping(tmp_path: Path, store: Store) -> None:
    job = trained(of_formulas(tmp_path).but(steps=4, validate_every=2).settings)
    store.folder(job).mkdir(parents=True)
    (store.folder(job) / CHECKPOINT).write_text("of an attempt that was given up")
    events = list(run_on_ray([job], store))
    assert events[-1].state == "done", events[-1]
    names = {path.name for path in store.folder(job).iterdir()}
    assert names == {CONFIG, ENVIRONMENT, METRICS, EARLY, BEST, RESULT}


def test_files_travel_unchanged_and_the_result_last(tmp_path: Path) -> None:
    files = {"result.json": b"{}", "a/b.bin": bytes(range(256)), "z.txt": b""}
    unpack(files, tmp_path / "there")
    assert pack(tmp_path / "there") == files
    times = {path.name: os.stat(path).st_mtime_ns for path in (tmp_path / "there").rglob("*.*")}
    assert times["result.json"] == max(times.values())


def test_without_ray_the_extra_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "ray":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(NGSError, match=r"pip install -e '.\[ray\]'"):
        run_on_ray([], store)


def test_a_cluster_that_cannot_be_reached_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise ConnectionError("nobody answers")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refuse)
    sweep = run_on_ray([], store, cluster="far:1")  # connects when it is iterated
    with pytest.raises(NGSError, match=r"'far:1' \(nobody answers\); start one"):
        next(sweep)


def test_at_least_one_job_has_a_gpu(store: Store) -> None:
    with pytest.raises(NGSError, match="at least 1"):
        run_on_ray([], store, per_gpu=0)
