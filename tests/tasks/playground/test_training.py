"""Training a first network in a child process, and following it."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ngs.apps.serve.playground import Playground
from ngs.tasks.hwf import packed
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.playground.networks import HALF
from ngs.tasks.playground.training import AlreadyThere, FirstTraining, Progress
from ngs.tasks.run_folder import METRICS
from tests.apps.serve.client import connected as client_of
from tests.apps.serve.client import drawing
from tests.apps.serve.made_runs import write_run

A_CHILD = "import sys; sys.stdin.close(); import time; time.sleep(60)"


def training_in(runs: Path) -> FirstTraining:
    return drawing(Playground(runs_root=runs)).training


def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.02)


def does(monkeypatch, training: FirstTraining, *command: str) -> None:
    monkeypatch.setattr(training, "command", lambda: [sys.executable, *command])


def test_a_first_network_is_trained_and_loaded(tmp_path, monkeypatch) -> None:
    packed.write(tmp_path / "small.ngs", embedded(train=40, test=10))
    view = drawing(Playground(runs_root=tmp_path / "runs"))
    training, networks = view.training, view.networks
    fewer = ["--data", str(tmp_path / "small.ngs"), "--steps", "2", "--batch-size", "8"]
    does(monkeypatch, training, *training.command()[1:], *fewer)
    training.start()
    until(lambda: training.progress() is None)
    assert training.failure is None
    assert networks["trained"] is not None and networks["weak"] is not None
    with pytest.raises(AlreadyThere, match="trained network already"):
        training.start()


def test_the_progress_is_that_of_the_run(tmp_path, monkeypatch) -> None:
    training = training_in(tmp_path)
    assert training.progress() is None
    does(monkeypatch, training, "-c", A_CHILD)
    training.start()
    assert training.progress() == Progress(step=0, steps=150, accuracy=None)
    training.folder.mkdir()
    rows = [
        {"step": 35, "seconds": 1.0, "validation": {"calculation": 0.25}},
        {"step": 40, "seconds": 1.2, "lesson": "a", "loss": 1.0},
    ]
    (training.folder / METRICS).write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"step": 5')
    assert training.progress() == Progress(step=40, steps=150, accuracy=0.25)
    with pytest.raises(AlreadyThere, match="being trained"):
        training.start()
    training.stop()
    until(lambda: training.progress() is None, 5)


def test_a_training_that_fails_says_why_and_can_be_tried_again(tmp_path, monkeypatch) -> None:
    training = training_in(tmp_path)
    for _ in range(2):
        does(monkeypatch, training, "-c", "import sys; sys.exit('no room on the disk')")
        training.start()
        until(lambda: training.progress() is None)
        assert training.failure is not None and "no room on the disk" in training.failure
    does(monkeypatch, training, "-c", "")  # says that it is done, and left nothing
    training.start()
    until(lambda: training.progress() is None)
    assert training.failure is not None and "best.safetensors" in training.failure


def test_the_page_sees_it_go_and_end(tmp_path, monkeypatch) -> None:
    playground = Playground(runs_root=tmp_path)
    training, client = drawing(playground).training, client_of(playground)
    ready = write_run(tmp_path / "ready", accuracy=0.97)
    script = f"""
import shutil, time
from pathlib import Path
from typing import Any

limit = time.monotonic() + 60

def wait_for(name):
    while not Path({str(tmp_path)!r}, name).exists() and time.monotonic() < limit:
        time.sleep(0.01)

wait_for("go")
shutil.copytree({str(ready)!r}, {str(training.folder)!r})
wait_for("end")
"""

    def seen() -> dict[str, Any]:
        return client.get("/api/networks").json()

    does(monkeypatch, training, "-c", script)
    assert seen()["networks"]["trained"] == {"ready": False, "accuracy": None, "symbols": None}
    started = client.post("/api/train")
    assert (started.status_code, started.json()) == (202, {"started": True})
    assert client.post("/api/train").status_code == 409
    assert seen()["training"] == {"step": 0, "steps": 150, "accuracy": None}
    (tmp_path / "go").touch()
    until(lambda: seen()["training"] == {"step": 150, "steps": 150, "accuracy": 0.9})
    (tmp_path / "end").touch()
    until(lambda: seen()["training"] is None)
    networks = seen()["networks"]
    assert networks["trained"]["accuracy"] == 0.97
    assert networks["weak"]["ready"] and networks["weak"]["symbols"] <= HALF


def test_what_there_is_where_nothing_is_trained(tmp_path) -> None:
    client = client_of(Playground(runs_root=tmp_path / "none"))
    status = client.get("/api/status").json()
    assert not status["runs"] and status["views"] == {"draw": False, "ask": False}
    assert status["limits"]["jobs"] == 4
