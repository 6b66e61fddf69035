"""Training, evaluating, comparing and reporting, run as a user runs them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ngs.apps.cli import app
from ngs.tasks.hwf import packed
from ngs.tasks.hwf.embedded import embedded

RUNNER = CliRunner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A short run on a small packed data set."""
    folder = tmp_path_factory.mktemp("runs")
    packed.write(folder / "small.ngs", embedded(train=120, test=40))
    result = RUNNER.invoke(app, [*train(folder), "--out", str(folder / "run-0")])
    assert result.exit_code == 0, result.output
    return folder


def train(folder: Path) -> list[str]:
    options = ["--steps", "12", "--validate-every", "4", "--batch-size", "16", "--test-curve"]
    return ["train", "hwf", "--data", str(folder / "small.ngs"), *options, "--threads", "1"]


def test_a_run_says_where_it_is_and_how_good(folder) -> None:
    result = RUNNER.invoke(app, [*train(folder), "--out", str(folder / "spoken")])
    assert result.exit_code == 0, result.output
    for step in ("4", "8", "12"):
        assert f"posterior, step {step:>5}" in result.output
    assert "the validation part has fewer than 20 examples (7)" in result.output.split("posterior on")[0]
    assert "answers right" in result.output and f"ngs report {folder / 'spoken'}" in "".join(
        result.output.split("\n")
    )


def test_the_seed_promises_no_other_data() -> None:
    """Runs with other seeds are to be compared on the same data, and are."""
    for task in ("hwf", "clevr", "scenes"):
        shown = RUNNER.invoke(app, ["train", task, "--help"], env={"COLUMNS": "300"}).output
        assert "Seeds every random number but those that make and divide the data" in shown


def test_a_run_leaves_what_it_promises(folder) -> None:
    names = {path.name for path in (folder / "run-0").iterdir()}
    assert names == {
        *("config.json", "environment.json", "metrics.jsonl", "result.json", "tensorboard"),
        *("checkpoint.safetensors", "best.safetensors", "early.safetensors"),
    }
    facts = json.loads((folder / "run-0" / "config.json").read_text())
    assert facts["task"] == "hwf" and facts["batch_size"] == 16 and facts["lengths"] == []


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["train", "hwf", "--method", "guess"], 1, "method is 'guess'; choose from posterior,"),
        (["train", "hwf", "--steps", "many"], 2, "Invalid value for '--steps'"),
        (["train", "hwf", "--data", "nowhere.ngs", "--out", "OUT"], 1, "nowhere.ngs: there is no such file"),
        (["train", "hwf", "--lengths", "2", "--out", "OUT"], 1, "no formulas are left to train on"),
        (["train", "hwf", "--resume", "nowhere"], 1, "config.json cannot be read: No such file"),
        (
            ["train", "hwf", "--resume", "x", "--steps", "9"],
            1,
            "--resume goes on with the run's own settings",
        ),
        (
            ["train", "hwf", "--data", ".", "--out", "OUT"],
            1,
            ". is not packed yet; first `ngs data import .`",
        ),
        (["train", "hwf", "--colour", "red"], 2, "No such option"),
        (["evaluate", "nowhere"], 1, "give the folder of a run"),
        (["evaluate", __file__], 1, "give the folder of a run, or a file that `ngs weights` made"),
        (["report", "nowhere"], 1, "nowhere is no folder; give the folder of a run"),
        (["compare", "nowhere"], 1, "give the folder of a run"),
    ],
)
def test_bad_arguments_are_told_in_one_line(tmp_path, arguments, code, message) -> None:
    result = RUNNER.invoke(app, [str(tmp_path / "out") if a == "OUT" else a for a in arguments])
    assert result.exit_code == code, result.output
    assert message in " ".join(result.output.split())
    assert not (tmp_path / "out").exists()
    if code == 1:
        assert len(result.stderr.splitlines()) == 1, result.stderr


def test_a_run_is_not_written_over_unasked(folder) -> None:
    result = RUNNER.invoke(app, [*train(folder), "--out", str(folder / "run-0")])
    again = f"already holds a run; go on with: ngs train hwf --resume {folder / 'run-0'}; or give --overwrite"
    assert result.exit_code == 1 and again in result.output
    (folder / "run-0" / "notes.txt").write_text("mine")
    result = RUNNER.invoke(app, [*train(folder), "--out", str(folder / "run-0"), "--overwrite"])
    assert result.exit_code == 0, result.output
    assert (folder / "run-0" / "notes.txt").read_text() == "mine"
    (folder / "run-0" / "notes.txt").unlink()


@pytest.mark.usefixtures("interruptible")
def test_a_run_stopped_by_the_keyboard_says_how_to_go_on_and_does(folder) -> None:
    out = folder / "stopped"
    options = [*train(folder), "--out", str(out), "--steps", "120"]
    run = subprocess.Popen(
        [sys.executable, "-m", "ngs.apps.cli", *options],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ},
    )
    limit = time.monotonic() + 60
    while not (out / "checkpoint.safetensors").exists():
        assert run.poll() is None and time.monotonic() < limit
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 130
    assert f"go on with: ngs train hwf --resume {out}" in output
    resumed = RUNNER.invoke(app, ["train", "hwf", "--resume", str(out), "--threads", "1"])
    assert resumed.exit_code == 0, resumed.output
    rows = [json.loads(line)["step"] for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert rows == sorted(rows) and rows[-1] == 120


def test_a_changed_configuration_is_not_resumed(folder) -> None:
    copy = folder / "changed"
    shutil.copytree(folder / "run-0", copy)
    facts = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(facts | {"steps": 99}))
    refused = RUNNER.invoke(app, ["train", "hwf", "--resume", str(copy)])
    assert refused.exit_code == 1 and "is of another configuration (steps differ)" in refused.output
