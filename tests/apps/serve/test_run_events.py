"""The curves of runs over HTTP as they grow, and what is said when a run stops, goes on or ends."""

import asyncio
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi import routing

from ngs.apps.serve.live_rows import Pace, live_rows
from ngs.apps.serve.playground import Playground
from ngs.apps.serve.run_folders import RunFolder, RunFolders
from ngs.experiments.record import Record
from ngs.tasks.playground.limits import Limits
from ngs.tasks.playground.visitors import Visitors
from ngs.tasks.run_folder import METRICS
from tests.apps.serve.client import body, connected, heard
from tests.apps.serve.made_runs import age, client_of, events_of, finish, made, row

QUICK = Pace(poll=0.01, longest=60.0)

Events = list[tuple[str, Any]]
"""(kind, data) of each"""


class Listener:
    """Listens to the events of a run; others can wait for what it hears."""

    def __init__(self) -> None:
        self.events: Events = []
        self._more = threading.Condition()

    def hear(self, run: RunFolder, after: int | None = 0, pace: Pace = QUICK) -> Events:
        """All that is sent."""

        async def listen() -> None:
            async for event in live_rows(run, after, pace):
                if event.data is not None:
                    with self._more:
                        self.events.append((event.event or "message", event.data))
                        self._more.notify_all()

        asyncio.run(listen())
        return self.events

    def wait_for(self, number: int) -> None:
        """Until it has heard so many events."""
        with self._more:
            assert self._more.wait_for(lambda: len(self.events) >= number, timeout=60)


def demo(root: Path) -> RunFolder:
    run = RunFolders(root).named("demo")
    assert run is not None
    return run


@contextmanager
def meanwhile(work: Callable[[], None]) -> Iterator[None]:
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        thread.join()


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
        events = listener.hear(demo(tmp_path))
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
    listener = Listener()

    def resume() -> None:
        listener.wait_for(3)
        record = Record(folder, writes=True)
        record.open(after=20)
        record.add(row(25))
        record.close()
        finish(folder)

    with meanwhile(resume):
        events = listener.hear(demo(tmp_path))
    kinds = [kind for kind, _ in events]
    assert kinds == ["message"] * 3 + ["restart"] + ["message"] * 3 + ["done"]
    assert [data["step"] for kind, data in events[4:] if kind == "message"] == [10, 20, 25]


def test_a_run_that_is_deleted_ends(tmp_path) -> None:
    folder = made(tmp_path, "demo", 1)
    run = demo(tmp_path)
    shutil.rmtree(folder)
    assert Listener().hear(run, None) == [("done", {"state": "gone"})]


def test_a_silent_run_is_left_after_a_while(tmp_path) -> None:
    made(tmp_path, "demo", 1)
    events = Listener().hear(demo(tmp_path), pace=Pace(poll=0.01, longest=0.2))
    assert [kind for kind, _ in events] == ["message"]  # and no `done`: a browser comes back


def test_a_silent_run_is_kept_alive(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing, "_PING_INTERVAL", 0.05)
    made(tmp_path, "demo", 1)
    text = listen(client_of(tmp_path).app, ": ping")
    assert "retry: 2000\n" in text and events_of(text) == [("message", row(10))]


def test_a_line_without_an_end_does_not_stop_the_rest(tmp_path) -> None:
    folder = made(tmp_path, "demo")
    (folder / METRICS).write_bytes(b"x" * 600_000 + b"\n" + json.dumps(row(10)).encode() + b"\n")
    finish(folder)
    assert Listener().hear(demo(tmp_path)) == [("message", row(10)), ("done", {"state": "finished"})]


def listen(app: Any, word: str) -> str:
    """What is sent of the run to a client that goes away as soon as it has heard this."""
    asking = {"method": "GET", "path": "/api/runs/demo/events", "query_string": b"after=0"}
    said = heard(app, [{"type": "http.request"}], enough=lambda sent: word in body(sent), **asking)
    return body(asyncio.run(said))


def test_few_may_watch_and_who_goes_makes_room(tmp_path) -> None:
    made(tmp_path, "demo", 1)
    playground = Playground(runs_root=tmp_path, visitors=Visitors(Limits(streams=2)))
    client = connected(playground)
    for _ in range(5):  # more than there is room for at once
        text = listen(client.app, "data: ")
        assert events_of(text) == [("message", row(10))]
    with playground.streams, playground.streams:
        refused = client.get("/api/runs/demo/events")
        assert refused.status_code == 503 and refused.headers["Retry-After"] and refused.json()["error"]
        assert client.get("/api/runs/none/events").status_code == 404
    with playground.streams, playground.streams:
        pass
