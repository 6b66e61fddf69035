"""`ngs serve` as it is started: what it prints, what it finds, and that nothing else needs its packages."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
from typer.testing import CliRunner

from ngs.apps.cli import app
from ngs.apps.serve.command import address, furnished, listen, told
from ngs.apps.serve.visitors import Visitors
from ngs.errors import NGSError
from tests.apps.serve.small_run import write_run

RUNNER = CliRunner()


@pytest.mark.usefixtures("interruptible")
def test_it_serves_the_newest_run_on_a_free_port(tmp_path) -> None:
    write_run(tmp_path / "old", accuracy=0.5, finished=100)
    write_run(tmp_path / "new", accuracy=0.75, finished=200)
    command = [sys.executable, "-m", "ngs.apps.cli", "serve", "--port", "0", "--runs", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None and child.stderr is not None
            line = child.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+/", line)
            assert found, line
            with urllib.request.urlopen(f"{found[0]}api/status", timeout=20) as answer:
                status = json.load(answer)
                assert "server" not in answer.headers and "content-security-policy" in answer.headers
            assert "questions cannot be asked" in child.stdout.readline()
            child.send_signal(signal.SIGINT)
            assert child.wait(10) == 130, child.stderr.read()  # as for any command that Ctrl-C ends
            assert child.stderr.read() == ""
        finally:
            child.kill()
    assert status["networks"]["trained"]["ready"] and status["networks"]["trained"]["accuracy"] == 0.75


def test_what_cannot_be_loaded_ends_it_with_a_message(tmp_path) -> None:
    command = [sys.executable, "-m", "ngs.apps.cli", "serve", "--port", "0", str(tmp_path / "missing")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("ngs: ") and "ngs train hwf" in done.stderr and done.stderr.count("\n") == 1


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
    result = RUNNER.invoke(app, ["serve"])
    assert result.exit_code == 1
    assert "pip install 'ngs[serve]'" in result.output and f"{missing} is missing" in result.output


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(NGSError, match=f"port {port}: .*--port"):
            listen("127.0.0.1", port)
        result = RUNNER.invoke(app, ["serve", "--port", str(port)])
        assert result.exit_code == 1 and "--port" in result.output


def test_an_address_can_be_opened() -> None:
    with listen("127.0.0.1", 0) as listening:
        assert address(listening) == f"http://127.0.0.1:{listening.getsockname()[1]}/"


def test_a_given_run_counts_and_a_bad_one_is_an_error(tmp_path) -> None:
    write_run(tmp_path / "runs" / "newest", accuracy=0.9, finished=200)
    given = write_run(tmp_path / "given", accuracy=0.8)
    playground = furnished(given, None, tmp_path / "runs", tmp_path / "results", Visitors())
    trained = playground.networks["trained"]
    assert trained is not None and trained.accuracy == 0.8 and playground.reader is None
    assert len(told(playground)) == 1
    with pytest.raises(NGSError, match="ngs train hwf"):
        furnished(tmp_path / "missing", None, tmp_path / "runs", tmp_path / "results", Visitors())
    with pytest.raises(NGSError, match="ngs train clevr"):
        furnished(None, given, tmp_path / "runs", tmp_path / "results", Visitors())


def test_without_runs_the_page_offers_to_train(tmp_path) -> None:
    playground = furnished(None, None, tmp_path / "runs", tmp_path / "results", Visitors())
    assert playground.networks["trained"] is None
    assert "offers to train" in told(playground)[0]
