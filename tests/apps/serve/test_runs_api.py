"""Runs over HTTP: lists, curves as they grow, reports and results; and folders that are no runs."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from ngs.apps.serve.app import endpoints
from ngs.apps.serve.live_rows import KEEP_ALIVE, Pace, live_rows
from ngs.apps.serve.playground import Playground
from ngs.apps.serve.run_folders import ALIVE_SECONDS, RunFolder, run_folder, thinned
from ngs.experiments.catalogue.index import EXPERIMENTS
from ngs.experiments.record import Record
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.playground.limits import Limits
from ngs.tasks.playground.visitors import Visitors
from ngs.tasks.run_folder import CHECKPOINT, CONFIG, METRICS, REPORT, RESULT
from tests.apps.serve.client import connected
from tests.experiments.training import as_facts

QUICK = Pace(poll=0.01, keep_alive=60.0, longest=60.0)
HOSTILE = [
    "..",
    ".",
    "%2e%2e",
    "%2e%2e%2f%2e%2e%2fetc",
    "..%2fsecret",
    "%2fetc%2fpasswd",
    "%00",
    "demo%00",
    "demo%0a",
    "C:%5Cwindows",
    "~",
    "*",
    "a" * 81,
    "a" * 5000,
    "%ff%fe",
    "d%C3%A9mo",
]


def client_of(root: Path, **more: Any) -> TestClient:
    return connected(Playground(runs_root=root, **more))


def row(step: int, **more: Any) -> dict[str, Any]:
    return {"step": step, "lesson": "m-bs", "loss": 1 / (1 + step), "seconds": step / 10, **more}


def made(root: Path, name: str, rows: int = 0, config: Mapping[str, Any] | None = None) -> Path:
    """The folder of a run that wrote some rows."""
    folder = root / name
    folder.mkdir(parents=True)
    facts = as_facts(TrainHWF(method="m-bs", steps=100)) if config is None else config
    (folder / CONFIG).write_text(json.dumps(facts))
    (folder / METRICS).write_text("".join(json.dumps(row(10 * k)) + "\n" for k in range(1, rows + 1)))
    return folder


def finish(folder: Path, share: str = "calculation") -> None:
    (folder / RESULT).write_text(json.dumps({"method": "m-bs", "test": {share: 0.75, "examples": 4}}))


def age(folder: Path, seconds: float = 2 * ALIVE_SECONDS) -> None:
    past = time.time() - seconds
    for path in folder.iterdir():
        os.utime(path, (past, past))


def events_of(text: str) -> list[tuple[str, Any]]:
    """(kind, data) of every event; comments and hints are none."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            found.append((fields.get("event", "message"), json.loads(fields["data"])))
    return found


class Listener:
    """Listens to the events of a run; others can wait for what it hears."""

    def __init__(self) -> None:
        self.text = ""
        self._more = threading.Condition()

    def hear(self, run: RunFolder, after: int | None = 0, pace: Pace = QUICK) -> str:
        """All that is sent."""

        async def listen() -> None:
            async for event in live_rows(run, after, pace):
                with self._more:
                    self.text += event
                    self._more.notify_all()

        asyncio.run(listen())
        return self.text

    def wait_for(self, number: int) -> None:
        """Until it has heard so many events."""
        with self._more:
            assert self._more.wait_for(lambda: len(events_of(self.text)) >= number, timeout=60)


def collected(run: RunFolder, after: int | None = 0, pace: Pace = QUICK) -> str:
    return Listener().hear(run, after, pace)


@contextmanager
def meanwhile(work: Callable[[], None]) -> Iterator[None]:
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        thread.join()


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
    assert {id: each["state"] for id, each in found.items()} == {
        "finished": "finished",
        "running": "running",
        "stopped": "stopped",
        "asked": "finished",
    }
    assert found["finished"] == {
        "id": "finished",
        "task": "hwf",
        "method": "m-bs",
        "steps": 100,
        "state": "finished",
        "accuracy": 0.75,
        "report": True,
    }
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


@pytest.mark.parametrize(
    "config",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"task": "tea", "method": "m-bs", "steps": 1}',
        '{"task": ["hwf"], "method": "m-bs", "steps": 1}',
        '{"task": "hwf", "method": 7, "steps": 1}',
        '{"task": "hwf", "method": "m-bs", "steps": 1e999}',
        "[" * 100_000,
        '{"task": "hwf"' + " " * 2**20 + "}",
        "\xff",
    ],
    ids=lambda text: repr(text[:40]),
)
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
    assert listed["runs"] == [] and [each["name"] for each in listed["skipped"]] == [
        "bad\\udcff",
        "good\\udcff",
    ]


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


@pytest.mark.parametrize("what", ["", "/events", "/report"])
def test_hostile_names_reach_no_file(what, tmp_path) -> None:
    made(tmp_path, "secret")
    made(tmp_path / "runs", "demo", 1)
    (tmp_path / "runs" / CONFIG).write_text((tmp_path / "secret" / CONFIG).read_text())
    client = client_of(tmp_path / "runs")
    for id in HOSTILE:
        refused = client.get(f"/api/runs/{id}{what}")
        if refused.status_code == 200:  # `..` and `.` are taken out of an address before it is sent
            assert id in (".", "..") and refused.request.url.path.strip("/") == "api/runs", id
        else:
            assert refused.status_code in (404, 422) and refused.json()["error"], (id, refused.text)


@pytest.mark.parametrize(
    "id", ["..", ".", "", "/", "../runs/demo", "demo/", "demo/../demo", "demo\0", "a" * 9999]
)
def test_only_names_that_are_there_are_found(id, tmp_path) -> None:
    made(tmp_path / "runs", "demo")
    shutil.copy(tmp_path / "runs" / "demo" / CONFIG, tmp_path / CONFIG)
    assert run_folder(tmp_path / "runs", "demo") is not None
    assert run_folder(tmp_path / "runs", id) is None


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


# Events


def test_a_live_run_is_followed_to_its_end(tmp_path) -> None:
    folder = made(tmp_path, "demo", 2)
    client = client_of(tmp_path)
    known = client.get("/api/runs/demo").json()

    def train() -> None:
        with (folder / METRICS).open("a", buffering=1) as file:
            file.write('{"step": 30, "le')
            file.flush()
            time.sleep(0.7)
            file.write('sson": "m-bs"}\n')
            for step in (40, 50, 60):
                file.write(json.dumps(row(step)) + "\n")
                time.sleep(0.2)
        finish(folder)

    with meanwhile(train):
        answer = client.get(f"/api/runs/demo/events?after={known['position']}")
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = events_of(answer.text)
    assert [data["step"] for kind, data in events if kind == "message"] == [30, 40, 50, 60]
    assert events[-1] == ("done", {"state": "finished"}) and events[1][1] == row(40)
    ids = [int(line[4:]) for line in answer.text.splitlines() if line.startswith("id: ")]
    assert ids[-1] == (folder / METRICS).stat().st_size
    again = client.get("/api/runs/demo/events", headers={"Last-Event-ID": str(ids[1])})
    assert [data["step"] for kind, data in events_of(again.text) if kind == "message"] == [50, 60]


def test_a_run_that_stops_writing_is_told_and_one_that_goes_on_too(tmp_path) -> None:
    folder = made(tmp_path, "demo", 1)
    run = run_folder(tmp_path, "demo")
    assert run is not None
    listener = Listener()

    def crash_and_resume() -> None:
        listener.wait_for(1)
        age(folder)
        listener.wait_for(2)
        with (folder / METRICS).open("a") as file:
            file.write(json.dumps(row(20)) + "\n")
        listener.wait_for(4)
        finish(folder)

    with meanwhile(crash_and_resume):
        events = events_of(listener.hear(run))
    assert events == [
        ("message", row(10)),
        ("state", {"state": "stopped"}),
        ("message", row(20)),
        ("state", {"state": "running"}),
        ("done", {"state": "finished"}),
    ]


def test_without_a_position_only_new_rows_are_sent(tmp_path) -> None:
    finish(made(tmp_path, "demo", 2))
    client = client_of(tmp_path)
    assert events_of(client.get("/api/runs/demo/events").text) == [("done", {"state": "finished"})]
    for odd in ("x", "-1", "1" * 400, "²"):
        answer = client.get("/api/runs/demo/events", headers={"Last-Event-ID": odd.encode()})
        assert events_of(answer.text)[-1] == ("done", {"state": "finished"}), odd
    for odd in ("x", "-1", "1" * 400):
        assert client.get(f"/api/runs/demo/events?after={odd}").status_code == 422


def test_a_resumed_run_starts_again(tmp_path) -> None:
    folder = made(tmp_path, "demo", 3)
    run = run_folder(tmp_path, "demo")
    assert run is not None
    listener = Listener()

    def resume() -> None:
        listener.wait_for(3)
        record = Record(folder, writes=True)
        record.open(after=20)
        record.add(row(25))
        record.close()
        finish(folder)

    with meanwhile(resume):
        events = events_of(listener.hear(run))
    kinds = [kind for kind, _ in events]
    assert kinds == ["message"] * 3 + ["restart"] + ["message"] * 3 + ["done"]
    assert [data["step"] for kind, data in events[4:] if kind == "message"] == [10, 20, 25]


def test_a_run_that_is_deleted_ends(tmp_path) -> None:
    folder = made(tmp_path, "demo", 1)
    run = run_folder(tmp_path, "demo")
    shutil.rmtree(folder)
    assert events_of(collected(run, None)) == [("done", {"state": "gone"})]


def test_a_silent_run_is_kept_alive_and_left_after_a_while(tmp_path) -> None:
    made(tmp_path, "demo", 1)
    run = run_folder(tmp_path, "demo")
    text = collected(run, pace=Pace(poll=0.01, keep_alive=0.05, longest=1.0))
    assert [kind for kind, _ in events_of(text)] == ["message"]  # and no `done`: a browser comes back
    assert 1 <= text.count(KEEP_ALIVE) <= 20


def test_a_line_without_an_end_does_not_stop_the_rest(tmp_path) -> None:
    folder = made(tmp_path, "demo")
    (folder / METRICS).write_bytes(b"x" * 600_000 + b"\n" + json.dumps(row(10)).encode() + b"\n")
    finish(folder)
    assert events_of(collected(run_folder(tmp_path, "demo"))) == [
        ("message", row(10)),
        ("done", {"state": "finished"}),
    ]


def listen(app: Any, path: str, hear: Callable[[str], bool]) -> str:
    """What an application sends to a client that goes away as soon as `hear` has heard enough."""
    heard = asyncio.Event()
    text = ""

    async def receive() -> dict[str, Any]:
        if not requested:
            requested.append(True)
            return {"type": "http.request", "body": b"", "more_body": False}
        await heard.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        nonlocal text
        text += message.get("body", b"").decode()
        if hear(text):
            heard.set()

    requested: list[bool] = []
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"after=0",
        "headers": [(b"host", b"localhost")],
        "server": ("localhost", 80),
        "client": ("127.0.0.1", 1),
    }
    asyncio.run(asyncio.wait_for(app(scope, receive, send), 10))
    return text


def test_few_may_watch_and_who_goes_makes_room(tmp_path) -> None:
    made(tmp_path, "demo", 1)
    playground = Playground(runs_root=tmp_path, visitors=Visitors(Limits(streams=2)))
    client = connected(playground)
    for _ in range(5):  # more than there is room for at once
        text = listen(client.app, "/api/runs/demo/events", lambda text: "data: " in text)
        assert events_of(text) == [("message", row(10))]
    with playground.streams, playground.streams:
        refused = client.get("/api/runs/demo/events")
        assert refused.status_code == 503 and refused.headers["Retry-After"] and refused.json()["error"]
        assert client.get("/api/runs/none/events").status_code == 404
    with playground.streams, playground.streams:
        pass


# Reports and results


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


def test_results_are_those_with_a_record(tmp_path) -> None:
    recorded = Path(__file__).parents[3] / "docs" / "results"
    client = client_of(tmp_path, results=recorded)
    found = {each["name"]: each for each in client.get("/api/results").json()}
    assert found.keys() == {name for name in EXPERIMENTS if (recorded / f"{name}.json").exists()}
    assert "|---|" in found["clevr-table"]["text"].replace(" ", "")
    assert 0 < found["clevr-table"]["done"] <= found["clevr-table"]["wanted"]
    assert not any("![" in each["text"] or "{hwf" in each["text"] for each in found.values())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"experiment": "cost", "quick": false, "places": [{}]}',
        '{"experiment": "cost", "quick": false, "places": [{"row": 1, "column": 2, "wanted": "x"}]}',
    ],
)
def test_a_damaged_record_does_not_hide_the_others(text, tmp_path) -> None:
    recorded = Path(__file__).parents[3] / "docs" / "results" / "clevr-table.json"
    shutil.copy(recorded, tmp_path / "clevr-table.json")
    (tmp_path / "cost.json").write_text(text)
    (tmp_path / "hwf-table.json").mkdir()
    found = {each["name"]: each for each in client_of(tmp_path, results=tmp_path).get("/api/results").json()}
    assert found["clevr-table"]["done"] > 0
    assert "cannot be shown" in found["cost"]["text"] and "cannot be shown" in found["hwf-table"]["text"]


def test_a_record_with_more_in_it_is_shown_anew(tmp_path) -> None:
    recorded = Path(__file__).parents[3] / "docs" / "results" / "clevr-table.json"
    facts = json.loads(recorded.read_text())
    client = client_of(tmp_path, results=tmp_path)
    for places in ([], facts["places"]):
        (tmp_path / "clevr-table.json").write_text(json.dumps({**facts, "places": places}))
        os.utime(tmp_path / "clevr-table.json", ns=(len(places), len(places)))
        (found,) = client.get("/api/results").json()
        assert found["wanted"] == sum(place["wanted"] for place in places)


def test_every_field_is_described() -> None:
    schema = endpoints(Playground()).openapi()
    for name in ("RunLine", "RunView", "ResultText"):
        fields = schema["components"]["schemas"][name]["properties"]
        assert all("description" in each for each in fields.values()), name
