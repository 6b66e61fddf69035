"""The benchmarks measure what they say they measure; how fast is not tested."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch

import ngs.kernels
from ngs.errors import NGSError
from ngs.learning.methods import METHODS
from ngs.tasks.clevr import packed
from ngs.tasks.clevr.dataset import Ragged, VisualQuestions
from ngs.tasks.clevr.embedded import synthetic
from ngs.tasks.clevr.preparation import PreparedQuestions
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf.preparation import PreparedFormulas
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.run_folder import read_facts
from ngs.tasks.task import PreparedAnswers

FOLDER = Path(__file__).parents[1] / "benchmarks"
CPU = torch.device("cpu")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """A script of the folder, which finds the others beside it as when it is run."""
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module


@pytest.fixture(scope="module")
def data() -> VisualQuestions:
    return synthetic(scenes=20, per_scene=5, validation_scenes=2)


def test_figures_are_written_with_the_machine(script: Callable[[str], ModuleType], tmp_path: Path) -> None:
    measuring = script("measuring")
    given = Namespace(device=CPU, rounds=3, json=tmp_path / "figures.json")
    measuring.tell(given, seen_per_second=7.0)
    facts = read_facts(given.json)
    assert (facts["seen_per_second"], facts["rounds"], facts["environment"]["device"]) == (7.0, 3, "cpu")


def formulas(_: VisualQuestions, folder: Path) -> PreparedFormulas:
    return PreparedFormulas(TrainHWF(batch_size=4), CPU)


def programs(data: VisualQuestions, folder: Path) -> PreparedQuestions:
    packed.write(folder / "few.ngs", data)
    return PreparedQuestions(TrainCLEVR(data=str(folder / "few.ngs"), batch_size=4), CPU)


@pytest.mark.parametrize("prepared", [formulas, programs])
def test_every_method_is_timed_against_supervision(
    script: Callable[[str], ModuleType],
    prepared: Callable[[VisualQuestions, Path], PreparedAnswers],
    data: VisualQuestions,
    tmp_path: Path,
) -> None:
    times = script("training").step_times(prepared(data, tmp_path), rounds=1)
    assert times["seconds"].keys() == METHODS.keys() and min(times["seconds"].values()) > 0
    ratio = times["seconds"]["m-bs"] / times["seconds"]["supervised"]
    assert times["times_supervised"]["m-bs"] == ratio
    before, after = times["memory_mb"]["after_warm_up"], times["memory_mb"]["at_the_end"]
    assert before > 0 and after - before < 100  # one more step of each method keeps nothing


def test_batched_execution_is_compared_with_the_reference(
    script: Callable[[str], ModuleType], data: VisualQuestions
) -> None:
    speeds = script("questions").execution(data, rounds=1, device=CPU)
    assert speeds["times_reference"] == speeds["batched_per_second"] / speeds["reference_per_second"]
    assert min(speeds.values()) > 0 and speeds["programs_at_once"] == 100_000


def test_data_without_programs_are_refused(
    script: Callable[[str], ModuleType], data: VisualQuestions
) -> None:
    none = Ragged(data.train.programs.flat[:0], 0 * data.train.programs.offsets)
    silent = replace(data, train=replace(data.train, programs=none))
    with pytest.raises(NGSError, match="some questions of synthetic have no program"):
        script("questions").execution(silent, rounds=1, device=CPU)


@pytest.mark.skipif(torch.cuda.is_available(), reason="here is a GPU")
def test_without_a_gpu_no_kernel_is_measured() -> None:
    run = subprocess.run([sys.executable, str(FOLDER / "kernels.py")], capture_output=True, text=True)
    assert run.returncode != 0 and run.stdout == ""
    assert run.stderr == "There is no GPU here, so kernels cannot be measured.\n"


def test_ways_take_turns_and_are_compared_with_all_kernels(
    script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ngs.kernels, "HAS_TRITON", True)
    ways: list[frozenset[str]] = []

    def train() -> float:
        ways.append(frozenset(name for name, where in ngs.kernels.DEVICES.items() if where))
        return 10.0 - len(ways[-1])

    before = dict(ngs.kernels.DEVICES)
    row = script("kernels").measured(train, 2)
    everything = set(ngs.kernels.NAMES)
    assert ways[0] == everything and ways[1] == set() and ways == 2 * ways[: len(ways) // 2]
    assert set(ways[2:5]) == {frozenset(everything - {name}) for name in everything}
    assert before == ngs.kernels.DEVICES
    assert row["ratios"]["with none"] == 10 / 7 and row["ratios"]["without lstm"] == 8 / 7


def test_every_kernel_is_measured() -> None:
    """All modules but those that only others use."""
    found = {module.name for module in pkgutil.iter_modules(ngs.kernels.__path__)}
    assert found - {"tiles", "choices", "program_rules"} == set(ngs.kernels.NAMES)
