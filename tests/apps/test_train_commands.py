"""Training any task, and evaluating, comparing and reporting what came of it, as a user does it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ngs.apps.cli import app
from ngs.experiments import run as runs
from ngs.tasks.clevr import packed as packed_questions
from ngs.tasks.clevr.embedded import synthetic
from ngs.tasks.finding import find, names
from ngs.tasks.hwf import packed as packed_formulas
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.run_folder import BEST, CHECKPOINT
from ngs.tasks.trainable import MetricsView
from tests.apps.commands import done, facts, ngs, refused, table
from tests.experiments.training import facts_of

SHORT = ("--steps", "4", "--validate-every", "2", "--batch-size", "8", "--validation", "0.2")
SHORT = (*SHORT, "--threads", "1")
TESTED = 24


@dataclass(frozen=True)
class Runs:
    """Two runs of a task that differ in their seed."""

    task: str
    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / f"{self.task}.ngs"

    @property
    def both(self) -> list[Path]:
        return [self.folder / "run-0", self.folder / "run-1"]

    @property
    def view(self) -> MetricsView:
        return find(self.task).metrics

    @property
    def train(self) -> tuple[str | Path, ...]:
        return ("train", self.task, "--data", self.data, *SHORT)

    def tests(self) -> list[Any]:
        return [facts(path / "result.json")["test"] for path in self.both]


def made(task: str, folder: Path) -> Runs:
    found = Runs(task, folder)
    if task == "hwf":
        packed_formulas.write(found.data, embedded(train=80, test=TESTED))
    else:
        packed_questions.write(
            found.data, synthetic(scenes=6, per_scene=8, validation_scenes=3, validation_per_scene=8)
        )
    for seed, out in enumerate(found.both):
        done(*found.train, "--out", out, "--seed", str(seed), "--test-curve")
    return found


@pytest.fixture(scope="module")
def hwf(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return made("hwf", tmp_path_factory.mktemp("hwf"))


@pytest.fixture(scope="module")
def clevr(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return made("clevr", tmp_path_factory.mktemp("clevr"))


@pytest.fixture(params=["hwf", "clevr"])
def made_runs(request: pytest.FixtureRequest) -> Runs:
    found: Runs = request.getfixturevalue(request.param)
    return found


def assert_shown(text: str, view: MetricsView, test: Any) -> None:
    """A table has a row for each group of the test part, and one for all."""
    by = next(iter(view.groups))
    assert table(text) == {
        name: [str(score["examples"]), *(f"{score[share]:.2%}" for share in view.headings)]
        for name, score in {**test[by], "all": test}.items()
    }


# Training and what comes after it


def test_a_run_says_where_it_is_and_how_good(made_runs: Runs) -> None:
    output = done(*made_runs.train, "--out", "spoken", "--method", "m-bs").output
    for step in ("2", "4"):
        assert f"m-bs, step {step:>5}" in output
    assert "the validation part has fewer than 20 examples (" in output.split("m-bs on")[0]
    flat = " ".join(output.split())
    assert "m-bs on" in flat and "into spoken" in flat and "% of answers," in flat
    assert "see the whole story: ngs report spoken" in flat and f"is in spoken/{BEST}" in flat
    assert_shown(output, made_runs.view, facts(Path("spoken/result.json"))["test"])


def test_the_default_folder_is_named_after_task_method_and_seed(hwf: Runs) -> None:
    done(*hwf.train, "--method", "1-bs", "--seed", "7")
    assert facts(Path("runs/hwf-1-bs-7/config.json"))["seed"] == 7


def test_the_seed_promises_no_other_data() -> None:
    """Runs with other seeds are to be compared on the same data, and are."""
    for task in names():
        shown = CliRunner().invoke(app, ["train", task, "--help"], env={"COLUMNS": "300"}).output
        assert "Seeds every random number but those that make and divide the data" in shown


def test_a_run_leaves_what_it_promises(hwf: Runs) -> None:
    assert {path.name for path in hwf.both[0].iterdir()} == {
        *("config.json", "environment.json", "metrics.jsonl", "result.json", "tensorboard"),
        *("checkpoint.safetensors", "best.safetensors", "early.safetensors"),
    }
    kept = facts(hwf.both[0] / "config.json")
    assert kept["task"] == "hwf" and kept["batch_size"] == 8 and kept["lengths"] == []
    assert facts(hwf.both[0] / "environment.json")["command"][0] == "ngs"


def test_evaluate_repeats_the_result(made_runs: Runs) -> None:
    run, test = made_runs.both[0], made_runs.tests()[0]
    data = facts(run / "result.json")["data"]
    assert json.loads(done("evaluate", run, "--json").stdout) == {"data": data, **test}
    assert_shown(done("evaluate", run).output, made_runs.view, test)


def test_compare_makes_one_row_of_two_seeds(made_runs: Runs) -> None:
    (group,) = json.loads(done("compare", *made_runs.both, "--json", "--goal", "0").stdout)
    assert (group["task"], group["seeds"]) == (made_runs.task, [0, 1])
    assert group["settings"] == {"method": "posterior"}
    tests = made_runs.tests()
    for name in made_runs.view.shares:
        one, other = (test[name] for test in tests)
        assert group["test"][name]["values"] == [one, other]
        assert group["test"][name]["mean"] == pytest.approx((one + other) / 2)
        assert group["test"][name]["deviation"] == pytest.approx(abs(one - other) / 2**0.5)
    assert group["seconds_to"]["mean"] > 0  # any accuracy reaches 0 at the first validation
    mean = group["test"][made_runs.view.answers]["mean"]
    shown = done("compare", *made_runs.both).stdout
    assert f"{100 * mean:.2f} ± " in shown and group["data"] in shown


def test_compare_shows_each_task_in_a_table_of_its_own(hwf: Runs, clevr: Runs) -> None:
    mixed = [clevr.both[0], hwf.both[0], clevr.both[1]]
    shown = done("compare", *mixed, "--goal", "0").stdout
    first, second = shown.split("test part; mean and standard deviation over the seeds")[1:]
    for heading in ("answers %", "programs %", "equivalent %", "training s", "to 0.0%"):
        assert heading in first
    assert "symbols %" in second and "equivalent %" not in second
    assert "synthetic" in first and "embedded" in second
    groups = json.loads(done("compare", *mixed[:2], "--json").stdout)
    assert [group["task"] for group in groups] == ["clevr", "hwf"]


def test_compare_loses_no_digit_where_it_is_narrow(clevr: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    seconds = [facts(path / "result.json")["training_seconds"] for path in clevr.both]
    shown = done("compare", *clevr.both, "--goal", "0").stdout
    assert f" {sum(seconds) / 2:.1f} " in shown and "training s" in shown


def test_a_report_is_written(made_runs: Runs) -> None:
    assert "written to page.html" in done("report", made_runs.both[0], "--out", "page.html").stdout
    page = Path("page.html").read_text()
    assert page.lower().startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    assert all(group in page for group in made_runs.tests()[0][next(iter(made_runs.view.groups))])


def test_a_run_is_not_written_over_unasked(hwf: Runs) -> None:
    shutil.copytree(hwf.both[0], "run")
    again = "run already holds a finished run; give --overwrite, or another --out"
    assert again in refused(*hwf.train, "--out", "run")
    assert "this run is finished; to train longer" in done("train", "hwf", "--resume", "run").stdout
    Path("run/result.json").unlink()
    again = "run already holds a run; go on with: ngs train hwf --resume run; give --overwrite"
    assert again in refused(*hwf.train, "--out", "run")
    assert "give: ngs train TASK --resume run" in refused("train", "--resume", "run")
    Path("run/notes.txt").write_text("mine")
    done(*hwf.train, "--out", "run", "--overwrite")
    assert Path("run/notes.txt").read_text() == "mine"


# Interrupted


@pytest.mark.usefixtures("interruptible")
def test_a_run_stopped_by_the_keyboard_says_how_to_go_on_and_does(hwf: Runs) -> None:
    asked = [*map(str, hwf.train), "--out", "stopped", "--steps", "120", "--validate-every", "40"]
    command = [sys.executable, "-m", "ngs.apps.cli", *asked]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    limit = time.monotonic() + 60
    while not Path("stopped", CHECKPOINT).exists():
        assert run.poll() is None and time.monotonic() < limit
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "go on with: ngs train hwf --resume stopped" in output
    done("train", "hwf", "--resume", "stopped", "--threads", "1")
    rows = [json.loads(line)["step"] for line in Path("stopped/metrics.jsonl").read_text().splitlines()]
    assert rows == sorted(rows) and rows[-1] == 120


def test_a_stopped_run_says_how_to_go_on_and_does(made_runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = runs.training

    def stopped(*args: Any, **options: Any) -> Iterator[runs.Progress]:
        for event in whole(*args, **options):
            yield event
            if "validation" in event.row:
                raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(runs, "training", stopped)
        result = ngs(*made_runs.train, "--out", "stopped", "--seed", "0", "--test-curve")
    assert result.exit_code == 130
    assert f"stopped; go on with: ngs train {made_runs.task} --resume stopped\n" in result.output
    assert not Path("stopped/result.json").exists()
    done("train", made_runs.task, "--resume", "stopped", "--threads", "1")
    assert facts_of(Path("stopped")) == facts_of(made_runs.both[0])


def test_a_changed_configuration_is_not_resumed(hwf: Runs) -> None:
    shutil.copytree(hwf.both[1], "changed")
    kept = facts(Path("changed/config.json"))
    Path("changed/config.json").write_text(json.dumps(kept | {"steps": 99}))
    assert "is of another configuration (steps differ)" in refused("train", "hwf", "--resume", "changed")


def test_runs_of_one_task_are_not_resumed_as_the_other(hwf: Runs, clevr: Runs) -> None:
    for task, other in ((clevr, hwf), (hwf, clevr)):
        run = other.both[0]
        before = {path: path.read_bytes() for path in run.iterdir() if path.is_file()}
        told = refused("train", task.task, "--resume", run)
        assert f"{run} is a run of {other.task}; go on with: ngs train {other.task} --resume {run}" in told
        assert {path: path.read_bytes() for path in run.iterdir() if path.is_file()} == before


def test_what_cannot_be_resumed_is_told(made_runs: Runs) -> None:
    resume = ("train", made_runs.task, "--resume")
    assert "config.json cannot be read: No such file" in refused(*resume, "nowhere")
    told = refused(*resume, made_runs.both[0], "--steps", "9")
    assert "--resume goes on with the run's own settings; give it alone" in told


# What is refused


def test_data_of_the_other_task_are_not_used(hwf: Runs, clevr: Runs) -> None:
    kinds = {hwf: "handwritten formulas", clevr: "questions about scenes"}
    for one, other in ((hwf, clevr), (clevr, hwf)):
        for command in (("evaluate", one.both[0]), ("train", one.task, "--out", "out")):
            told = refused(*command, "--data", other.data)
            assert f"is a packed data set of {kinds[other]}, not a packed data set of {kinds[one]}" in told
        assert not Path("out").exists()


@pytest.mark.parametrize(
    "options, message",
    [
        (("--method", "guess"), "method is 'guess'; choose from posterior,"),
        (("--validation", "1"), "are left to train on"),
        (("--data", "nowhere.ngs"), "nowhere.ngs: there is no such file; give 'embedded' or what `ngs data"),
        (("--data", "."), ". is not packed yet; first `ngs data import .`"),
        (("--data", "text.ngs"), "text.ngs is cut short, or not a packed data set of"),
        (("--data", "empty.ngs"), "empty.ngs is cut short, or not a packed data set of"),
    ],
)
def test_bad_options_are_told_in_one_line(options: tuple[str, ...], message: str, made_runs: Runs) -> None:
    Path("text.ngs").write_text("Dear diary, today I asked a question. " * 100)
    Path("empty.ngs").write_text("")
    assert message in refused(*made_runs.train, *options, "--out", "out")
    assert not Path("out").exists()


def test_no_formula_has_two_symbols(hwf: Runs) -> None:
    assert "no formulas are left to train on" in refused(*hwf.train, "--lengths", "2", "--out", "out")
    assert not Path("out").exists()


@pytest.mark.parametrize("options", [("--steps", "many"), ("--colour", "red")])
def test_bad_usage_is_told_apart(options: tuple[str, ...], made_runs: Runs) -> None:
    result = ngs(*made_runs.train, "--out", "out", *options)
    assert result.exit_code == 2 and options[0] in result.output and not Path("out").exists()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("evaluate", "nowhere"), "give the folder of a run"),
        (("evaluate", __file__), "give the folder of a run, or a file that `ngs weights` made"),
        (("report", "nowhere"), "nowhere is no folder; give the folder of a run"),
        (("compare", "nowhere"), "give the folder of a run"),
    ],
)
def test_bad_arguments_are_told_in_one_line(arguments: tuple[str, ...], message: str) -> None:
    assert message in refused(*arguments)
    assert os.listdir() == []
