"""Killing a run costs nothing, and nothing that was changed or damaged since is gone on with."""

import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from ngs.errors import DataError, NGSError
from ngs.experiments.record import Record
from ngs.experiments.report.page import commands
from ngs.experiments.run import evaluate_run
from ngs.learning import tensor_file
from ngs.learning.methods import METHODS
from ngs.tasks.hwf import preparation as hwf
from ngs.tasks.run_folder import BEST, CHECKPOINT, CONFIG, METRICS, RESULT
from tests.experiments.short_runs import Short, Straight
from tests.experiments.training import facts_of

# A run that is interrupted


def calls(monkeypatch: pytest.MonkeyPatch, before: Callable[[], None]) -> None:
    """Have `before` called whenever a run is about to write something."""

    def first(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            before()
            return function(*args, **kwargs)

        return call

    monkeypatch.setattr(tensor_file, "save", first(tensor_file.save))
    for name in ("add", "write", "open"):
        monkeypatch.setattr(Record, name, first(getattr(Record, name)))


class PowerCutError(Exception):
    pass


def test_a_crash_before_any_write_costs_nothing(formulas: Short, tmp_path: Path) -> None:
    """The run is stopped before its first, second, ... write, and resumed: always the same files."""
    short = formulas.but(pretrain=1.0, steps=6, validate_every=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hwf, "PRETRAIN_STEPS", 3)
        counted = []
        with pytest.MonkeyPatch.context() as counting:
            calls(counting, lambda: counted.append(1))
            short.finished(tmp_path / "straight")
        expected = facts_of(tmp_path / "straight")
        assert len(counted) > 12
        for number in range(len(counted)):
            folder = tmp_path / str(number)
            left = iter(range(number))

            def cut(left: Iterator[int] = left) -> None:
                if next(left, None) is None:
                    raise PowerCutError

            with pytest.MonkeyPatch.context() as cutting, pytest.raises(PowerCutError):
                calls(cutting, cut)
                short.finished(folder)
            torch.manual_seed(1000 + number)  # whatever happened in between
            short.finished(folder, resume=(folder / CONFIG).exists())
            assert facts_of(folder) == expected, number


@pytest.mark.parametrize("events", [1, 2, 3, 5])
def test_a_run_that_is_left_goes_on_where_it_was(
    events: int, short: Short, done: Path, tmp_path: Path
) -> None:
    """Left at any of its signs of life: before the first checkpoint too, and after the last."""
    left_and_resumed(short, events, tmp_path / "left", done)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_goes_on_where_it_was(
    method: str, short: Short, straight: Straight, tmp_path: Path
) -> None:
    short = short.but(method=method)
    left_and_resumed(short, 3, tmp_path / "left", straight(short))
    facts = facts_of(straight(short))
    assert facts["result"]["method"] == method
    assert {row["lesson"] for row in facts["rows"] if "lesson" in row} == {method}


def left_and_resumed(short: Short, events: int, folder: Path, whole: Path) -> None:
    short.left(folder, events)
    assert (folder / CHECKPOINT).exists() == (events >= 2)
    torch.manual_seed(1000)  # whatever happened in between
    short.finished(folder, resume=True)
    assert facts_of(folder) == facts_of(whole)


def test_a_killed_run_goes_on_where_it_was(formulas: Short, tmp_path: Path) -> None:
    """kill -9 at a random moment of training, in a process of its own."""
    seed = time.time_ns() % 1000
    print(f"seed {seed}")
    short = formulas.but(steps=40)
    folder = tmp_path / "killed"
    _, *words, _ = shlex.split(next(commands(short.task, short.settings.given)))  # ngs ... --out again
    command = [sys.executable, "-m", "ngs.apps.cli", *words, str(folder), "--threads", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    lines = Random(seed).randrange(0, 15)
    begin = time.monotonic()
    try:
        while time.monotonic() < begin + 60 and process.poll() is None:
            path = folder / METRICS
            if path.exists() and path.read_bytes().count(b"\n") >= lines:
                break
            time.sleep(0.002)
        time.sleep(Random(seed).random() * 0.03)
    finally:
        process.kill()
    errors = process.communicate()[1]
    assert process.returncode in (-9, 0), errors
    assert (folder / CONFIG).exists(), errors
    print(f"killed after {lines} lines, with result: {(folder / RESULT).exists()}")
    short.finished(folder, resume=True)
    short.finished(tmp_path / "straight")
    assert facts_of(folder) == facts_of(tmp_path / "straight")


def test_resuming_what_is_finished_changes_nothing(short: Short, done: Path, tmp_path: Path) -> None:
    shutil.copytree(done, tmp_path / "copy")
    (tmp_path / "copy" / BEST).unlink()  # the checkpoint has it, too
    short.finished(tmp_path / "copy", resume=True)
    assert facts_of(tmp_path / "copy") == facts_of(done)


def test_the_seconds_of_a_resumed_run_add_up(formulas: Short, tmp_path: Path) -> None:
    before = formulas.left(tmp_path, 4)
    assert formulas.finished(tmp_path, resume=True)["training_seconds"] > before.row["seconds"] > 0


# What is not gone on with


def test_a_run_is_resumed_with_its_own_configuration(short: Short, done: Path) -> None:
    with pytest.raises(NGSError, match="was trained with other settings; resume it with its own"):
        short.but(seed=99).finished(done, resume=True)


def test_where_there_is_no_run_there_is_nothing_to_resume(sums: Short, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"config\.json cannot be read: No such file .*; give the folder of a run"
    ):
        sums.finished(tmp_path / "nowhere", resume=True)


def test_the_checkpoint_of_another_configuration_is_refused_by_name(
    short: Short, done: Path, tmp_path: Path
) -> None:
    short.but(steps=1).finished(tmp_path / "other")
    shutil.copytree(done, tmp_path / "copy")
    shutil.copy(tmp_path / "other" / CHECKPOINT, tmp_path / "copy" / CHECKPOINT)
    with pytest.raises(
        DataError, match=r"checkpoint\.safetensors is of another configuration \(steps differ\)"
    ):
        short.finished(tmp_path / "copy", resume=True)


def test_other_data_in_the_same_place_is_noticed(short: Short, tmp_path: Path) -> None:
    path = tmp_path / "x.data"
    short.write(path)
    moved = short.but(data=str(path))
    moved.left(tmp_path / "run", 2)
    short.write_other(path)
    with pytest.raises(DataError, match=r"x\.data is not what .*run was trained on"):
        moved.finished(tmp_path / "run", resume=True)


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def a_text(path: Path) -> None:
    path.write_text("Dear diary, today I trained a network. " * 100)


@pytest.mark.parametrize("spoil", [flipped, cut_short, emptied, a_text])
@pytest.mark.parametrize("name", [CHECKPOINT, BEST])
def test_what_is_damaged_is_refused_by_name(
    spoil: Callable[[Path], None], name: str, short: Short, done: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(done, folder)
    spoil(folder / name)
    with pytest.raises(DataError, match=name):
        if name == CHECKPOINT:
            short.finished(folder, resume=True)
        else:
            evaluate_run(folder, task=short.task)


def test_other_files_are_refused_by_name(formulas: Short, straight: Straight, tmp_path: Path) -> None:
    done, folder = straight(formulas), tmp_path / "copy"
    shutil.copytree(done, folder)
    shutil.copy(formulas.settings.data, folder / CHECKPOINT)
    with pytest.raises(DataError, match=r"checkpoint\.safetensors is .*, not an NGS checkpoint"):
        formulas.finished(folder, resume=True)
    shutil.copy(done / BEST, folder / CHECKPOINT)
    with pytest.raises(DataError, match=r"checkpoint\.safetensors is a trained NGS network, not an NGS ch"):
        formulas.finished(folder, resume=True)
    shutil.copy(done / CHECKPOINT, folder / BEST)
    with pytest.raises(DataError, match=r"best\.safetensors is an NGS checkpoint, not a trained NGS network"):
        evaluate_run(folder)
