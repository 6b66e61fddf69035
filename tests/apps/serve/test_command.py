"""`ngs serve` as it is started: what it prints, what it finds, and that nothing else needs its packages."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from ngs.apps.serve.command import address, listen
from ngs.apps.serve.playground import Playground
from ngs.errors import NGSError
from ngs.tasks.finding import find
from ngs.tasks.run_folder import CONFIG, Configured
from tests.apps.commands import refused
from tests.apps.serve.client import drawing
from tests.apps.serve.made_runs import DIGIT_SUMS, made, write_run


@pytest.mark.usefixtures("interruptible")
def test_it_serves_the_newest_run_on_a_free_port_and_those_of_a_task_in_a_file(tmp_path) -> None:
    write_run(tmp_path / "old", accuracy=0.5, finished=100)
    write_run(tmp_path / "new", accuracy=0.75, finished=200)
    task = find(str(DIGIT_SUMS))
    made(tmp_path, "sums", 1, Configured(task, task.settings()).as_facts())
    command = [sys.executable, "-m", "ngs.apps.cli", "serve", "--port", "0", "--runs", str(tmp_path)]
    command += ["--task", str(DIGIT_SUMS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None and child.stderr is not None
            line = child.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+/", line)
            assert found, line
            with urllib.request.urlopen(f"{found[0]}api/networks", timeout=20) as answer:
                networks = json.load(answer)["networks"]
                assert "server" not in answer.headers and "content-security-policy" in answer.headers
            with urllib.request.urlopen(f"{found[0]}api/runs", timeout=20) as answer:
                listed = json.load(answer)
            assert "questions cannot be asked" in child.stdout.readline()
            child.send_signal(signal.SIGINT)
            assert child.wait(10) == 130, child.stderr.read()  # as for any command that Ctrl-C ends
            assert child.stderr.read() == ""
        finally:
            child.kill()
    assert networks["trained"]["ready"] and networks["trained"]["accuracy"] == 0.75
    assert {each["id"] for each in listed["runs"]} == {"old", "new", "sums"} and not listed["skipped"]


@pytest.mark.parametrize("options", [[], ["--task"]], ids=["run", "task"])
def test_what_cannot_be_loaded_ends_it_with_a_message(options, tmp_path) -> None:
    given = [*options, str(tmp_path / "missing.py")]
    command = [sys.executable, "-m", "ngs.apps.cli", "serve", "--port", "0", *given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert re.match("ngs: .*missing.py.*; give the ", done.stderr)


def test_nothing_that_is_slow_to_load_is_loaded_before_it_is_needed() -> None:
    """Neither by other commands nor by the page that stands while the endpoints load."""
    loaded = "import sys, {}; print({{'torch', 'fastapi', *{}}} & set(sys.modules))"
    for modules, more in (
        ("ngs.apps.cli", ["starlette", "uvicorn"]),
        ("ngs.apps.serve.command, ngs.apps.serve.front", []),
    ):
        command = [sys.executable, "-c", loaded.format(modules, more)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn"])
def test_without_them_it_says_what_to_install(missing, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    told = refused("serve")
    assert "pip install -e '.[serve]'" in told and f"{missing} is missing" in told


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(NGSError, match=f"port {port}: .*--port"):
            listen("127.0.0.1", port)
        assert "--port" in refused("serve", "--port", str(port))


def test_an_address_can_be_opened() -> None:
    with listen("127.0.0.1", 0) as listening:
        assert address(listening) == f"http://127.0.0.1:{listening.getsockname()[1]}/"


def test_a_given_run_counts_and_a_bad_one_is_an_error(tmp_path) -> None:
    write_run(tmp_path / "runs" / "newest", accuracy=0.9, finished=200)
    given = write_run(tmp_path / "given", accuracy=0.8)
    playground = Playground(runs_root=tmp_path / "runs")
    playground.load([given])
    trained = drawing(playground).networks["trained"]
    assert trained is not None and trained.accuracy == 0.8
    (line,) = playground.missing()
    assert "ngs train clevr" in line and "questions cannot be asked" in line
    with pytest.raises(NGSError, match="ngs train"):
        playground.load([tmp_path / "missing"])
    facts = json.loads((given / CONFIG).read_text())
    (given / CONFIG).write_text(json.dumps({**facts, "task": "scenes"}))
    with pytest.raises(NGSError, match=r"'scenes', which has nothing to try.*ngs train hwf"):
        playground.load([given])


def test_without_runs_the_page_offers_to_train(tmp_path) -> None:
    playground = Playground(runs_root=tmp_path / "runs")
    playground.load([])
    assert not any(view.ready for view in playground.views.values())
    assert "offers to train" in playground.missing()[0]
