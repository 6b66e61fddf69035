"""Runs over HTTP: lists, curves, reports and results; and folders that are no runs."""

import json
import os
import sys
from itertools import pairwise

import pytest

from ngs.apps.serve.run_folders import thinned
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.finding import find
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.run_folder import CHECKPOINT, CONFIG, METRICS, REPORT, RESULT, Configured
from tests.apps.serve.made_runs import DIGIT_SUMS, age, client_of, events_of, finish, made, row
from tests.experiments.training import as_facts

# Lists


def test_runs_are_listed_with_their_states(tmp_path) -> None:
    finish(made(tmp_path, "finished", 3))
    made(tmp_path, "running", 3)
    age(made(tmp_path, "stopped", 3))
    finish(made(tmp_path, "asked", 1, as_facts(TrainCLEVR(steps=7))), "answers")
    (tmp_path / "finished" / REPORT).write_text("<p>")
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("no run")
    listed = client_of(tmp_path).get("/api/runs").json()
    found = {each["id"]: each for each in listed["runs"]}
    states = {name: name for name in ("finished", "running", "stopped")} | {"asked": "finished"}
    assert {id: each["state"] for id, each in found.items()} == states
    what = {"id": "finished", "task": "hwf", "method": "m-bs", "steps": 100}
    assert found["finished"] == what | {"state": "finished", "accuracy": 0.75, "report": True}
    assert (found["asked"]["task"], found["asked"]["accuracy"]) == ("clevr", 0.75)
    assert found["running"]["accuracy"] is None and not found["running"]["report"]
    assert listed["runs"][-1]["id"] == "stopped" and listed["skipped"] == []


def test_an_interrupted_run_that_goes_on_is_running(tmp_path) -> None:
    folder = made(tmp_path, "demo", 3)
    age(folder)
    client = client_of(tmp_path)
    assert client.get("/api/runs").json()["runs"][0]["state"] == "stopped"
    (folder / CHECKPOINT).write_bytes(b"")
    assert client.get("/api/runs").json()["runs"][0]["state"] == "running"


def test_without_a_folder_there_are_no_runs(tmp_path) -> None:
    client = client_of(tmp_path / "none", results=tmp_path / "none")
    assert client.get("/api/runs").json() == {"runs": [], "skipped": []}
    assert client.get("/api/results").json() == []
    assert client.get("/api/runs/demo").status_code == 404


FOREIGN = [
    *("", "{", "[]", "{}", "\xff", "[" * 100_000, '{"task": "hwf"' + " " * 2**20 + "}"),
    '{"task": "tea", "method": "m-bs", "steps": 1}',
    '{"task": ["hwf"], "method": "m-bs", "steps": 1}',
    '{"task": "hwf", "method": 7, "steps": 1}',
    '{"task": "hwf", "method": "m-bs", "steps": 1e999}',
]


@pytest.mark.parametrize("config", FOREIGN, ids=lambda text: repr(text[:40]))
def test_foreign_folders_are_skipped_and_named(config, tmp_path) -> None:
    made(tmp_path, "good", 1)
    (made(tmp_path, "bad", 1) / CONFIG).write_bytes(config.encode("latin-1"))
    client = client_of(tmp_path)
    listed = client.get("/api/runs").json()
    assert [each["id"] for each in listed["runs"]] == ["good"]
    assert [each["name"] for each in listed["skipped"]] == ["bad"]
    assert CONFIG in listed["skipped"][0]["why"]
    assert client.get("/api/runs/bad").status_code == 404


def test_names_that_are_no_text_are_shown_all_the_same(tmp_path) -> None:
    for name in (b"good\xff", b"bad\xff"):
        os.mkdir(os.fsencode(tmp_path) + b"/" + name)
    (tmp_path / os.fsdecode(b"good\xff") / CONFIG).write_text(json.dumps(as_facts(TrainHWF())))
    (tmp_path / os.fsdecode(b"bad\xff") / CONFIG).write_text("{")
    listed = client_of(tmp_path).get("/api/runs").json()
    assert listed["runs"] == []
    assert [each["name"] for each in listed["skipped"]] == ["bad\\udcff", "good\\udcff"]


def test_links_that_lead_outside_are_not_followed(tmp_path) -> None:
    secret = made(tmp_path / "outside", "secret", 2)
    (secret / REPORT).write_text("secret")
    root = tmp_path / "runs"
    inside = made(root, "inside", 1)
    (root / "link").symlink_to(secret)
    (root / "again").symlink_to(inside)
    (root / "round").symlink_to(root / "round")
    for name in (METRICS, REPORT, RESULT):
        (inside / name).unlink(missing_ok=True)
        (inside / name).symlink_to(secret / (REPORT if name == RESULT else name))
    client = client_of(root)
    listed = client.get("/api/runs").json()
    assert {each["id"] for each in listed["runs"]} == {"inside", "again"}
    assert [each["name"] for each in listed["skipped"]] == ["link"]
    assert "lies elsewhere" in listed["skipped"][0]["why"]
    assert client.get("/api/runs/link").status_code == 404
    found = client.get("/api/runs/inside").json()
    assert found["rows"] == [] and found["result"] is None
    assert client.get("/api/runs/inside/report").status_code == 404


def test_what_is_no_plain_file_is_not_read(tmp_path) -> None:
    folder = made(tmp_path, "demo")
    (folder / METRICS).unlink()
    os.mkfifo(folder / METRICS)
    (folder / REPORT).mkdir()
    client = client_of(tmp_path)
    assert client.get("/api/runs/demo").json()["rows"] == []
    assert client.get("/api/runs/demo/report").status_code == 404


# One run


def test_a_run_is_shown_with_its_curves(tmp_path) -> None:
    folder = made(tmp_path, "demo", 3)
    shares = {"examples": 9, "calculation": 0.5, "by_length": {"1": {"calculation": 1.0}}}
    with (folder / METRICS).open("a") as file:
        file.write(json.dumps({"step": 30, "seconds": 3.0, "validation": shares}) + "\n")
        whole = file.tell()
        file.write('{"step": 40, "lo')
    found = client_of(tmp_path).get("/api/runs/demo").json()
    assert found["config"]["steps"] == 100 and found["result"] is None and found["state"] == "running"
    assert found["rows"][:3] == [row(10), row(20), row(30)] and len(found["rows"]) == 4
    assert found["rows"][3]["validation"] == {"examples": 9, "calculation": 0.5}
    assert found["position"] == whole
    finish(folder)
    found = client_of(tmp_path).get("/api/runs/demo").json()
    assert found["state"] == "finished" and found["result"]["test"]["calculation"] == 0.75


def test_a_damaged_record_shows_what_is_left(tmp_path) -> None:
    folder = made(tmp_path, "demo", 1)
    with (folder / METRICS).open("ab") as file:
        for line in (
            b'{"step": 20, "loss": NaN, "found": Infinity, "seconds": 1e999}',
            b'{"step": "x"}',
            b"[1, 2]",
            b"\xff\xfe\x00",
            b"[" * 100_000,
            b'{"step": 30, "lesson": "\\ud800", "loss": ' + b"9" * 4000 + b"}",
            b'{"step": 40, "loss": ' + b"9" * 5000 + b"}",
            b"",
            b'{"step": 50}',
        ):
            file.write(line + b"\n")
    (folder / RESULT).write_text("{")
    client = client_of(tmp_path)
    found = client.get("/api/runs/demo").json()
    assert [each["step"] for each in found["rows"]] == [10, 20, 30, 50]
    assert found["rows"][1] == {"step": 20, "loss": None, "found": None, "seconds": None}
    assert found["rows"][2]["loss"] is None and found["result"] is None
    events = events_of(client.get("/api/runs/demo/events?after=0").text)
    assert [data["step"] for kind, data in events if kind == "message"] == [10, 20, 30, 50]
    assert events[-1] == ("done", {"state": "finished"})


def test_long_curves_are_thinned_out(tmp_path) -> None:
    made(tmp_path, "demo", 7000)
    found = client_of(tmp_path).get("/api/runs/demo").json()["rows"]
    steps = [each["step"] for each in found]
    assert len(steps) == 2000 and steps == sorted(set(steps)) and steps[-1] == 70_000
    assert max(b - a for a, b in pairwise(steps)) <= 40


@pytest.mark.parametrize(
    ("losses", "validations"), [(0, 90), (90, 0), (90, 3), (60, 60), (3, 90), (5, 4), (0, 0)]
)
def test_validations_are_kept_as_far_as_they_can_be(losses, validations) -> None:
    rows = [row(k) for k in range(losses)] + [{"step": k, "validation": {}} for k in range(validations)]
    kept = thinned(rows, 10)
    measured = sum("validation" in each for each in kept)
    assert len(kept) == min(10, len(rows)) and measured >= min(5, validations)
    assert len(kept) - measured >= min(5, losses) and kept[-1:] == rows[-1:]


# Reports


def test_a_report_may_load_nothing(tmp_path) -> None:
    folder = made(tmp_path / "runs", "demo")
    client = client_of(tmp_path / "runs")
    missing = client.get("/api/runs/demo/report")
    assert missing.status_code == 404 and "ngs report runs/demo" in missing.json()["error"]
    (folder / REPORT).write_text("<!doctype html><p>größer", encoding="utf-8")
    answer = client.get("/api/runs/demo/report")
    assert answer.text == "<!doctype html><p>größer"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"].split("; ")
    assert "default-src 'none'" in policy and "sandbox" in policy
    assert not any(part.startswith("script-src") for part in policy)


# Tasks of one's own


def test_runs_of_a_task_of_ones_own_are_shown_where_its_file_is_given(tmp_path) -> None:
    task = find(str(DIGIT_SUMS))
    config = Configured(task, task.settings(steps=40, method="m-bs")).as_facts()
    finish(made(tmp_path, "sums", 3, config), "answers")
    (line,) = client_of(tmp_path, tasks=[task]).get("/api/runs").json()["runs"]
    assert (line["task"], line["method"], line["accuracy"]) == ("digit-sums", "m-bs", 0.75)
    shown = client_of(tmp_path, tasks=[task]).get("/api/runs/sums").json()
    assert shown["config"]["task_file"]["name"] == DIGIT_SUMS.name and len(shown["rows"]) == 3
    assert (shown["answers"], shown["about_answers"]) == ("answers", "answers right")


def test_no_run_makes_the_server_import_its_task(tmp_path) -> None:
    """Neither by a file that it names, nor by a module: it is told what to do."""
    task = find(str(DIGIT_SUMS))
    loaded = tmp_path / "loaded"
    (tmp_path / "evil.py").write_text(f"open({str(loaded)!r}, 'w')")
    for name in ("digit-sums", "evil.py", str(tmp_path / "evil.py"), "antigravity:task"):
        facts = Configured(task, task.settings()).as_facts() | {"task": name}
        made(tmp_path / "runs", str(len(name)), 1, facts)
    found = client_of(tmp_path / "runs").get("/api/runs").json()
    assert found["runs"] == [] and len(found["skipped"]) == 4
    assert all("--task" in each["why"] for each in found["skipped"])
    assert not loaded.exists() and "antigravity" not in sys.modules
