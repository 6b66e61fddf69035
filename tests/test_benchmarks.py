"""The benchmarks measure what they say they measure; how fast is not tested."""

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
Script = Callable[[str], ModuleType]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """A script of the folders, which finds the others beside it as when it is run."""
    for folder in (FOLDER / "peers", FOLDER):
        monkeypatch.syspath_prepend(folder)
    return importlib.import_module


@pytest.fixture(scope="module")
def data() -> VisualQuestions:
    return synthetic(scenes=20, per_scene=5, validation_scenes=2)


def test_figures_are_written_with_the_machine(script: Script, tmp_path: Path) -> None:
    given = Namespace(device=CPU, rounds=3, json=tmp_path / "figures.json")
    script("speed").tell(given, {"seen_per_second": 7.0})
    facts = read_facts(given.json)
    assert (facts["seen_per_second"], facts["rounds"], facts["environment"]["device"]) == (7.0, 3, "cpu")


def formulas(_: VisualQuestions, folder: Path) -> PreparedFormulas:
    return PreparedFormulas(TrainHWF(batch_size=4), CPU)


def programs(data: VisualQuestions, folder: Path) -> PreparedQuestions:
    packed.write(folder / "few.ngs", data)
    return PreparedQuestions(TrainCLEVR(data=str(folder / "few.ngs"), batch_size=4), CPU)


@pytest.mark.parametrize("prepared", [formulas, programs])
def test_every_method_is_timed_against_supervision(
    script: Script,
    prepared: Callable[[VisualQuestions, Path], PreparedAnswers],
    data: VisualQuestions,
    tmp_path: Path,
) -> None:
    times = script("speed").step_times(prepared(data, tmp_path), rounds=1)
    assert times["seconds"].keys() == METHODS.keys() and min(times["seconds"].values()) > 0
    ratio = times["seconds"]["m-bs"] / times["seconds"]["supervised"]
    assert times["times_supervised"]["m-bs"] == ratio
    before, after = times["memory_mb"]["after_warm_up"], times["memory_mb"]["at_the_end"]
    assert before > 0 and after - before < 100  # one more step of each method keeps nothing


def test_batched_execution_is_compared_with_the_reference(script: Script, data: VisualQuestions) -> None:
    speeds = script("speed").execution(data, rounds=1, device=CPU)
    assert speeds["times_reference"] == speeds["batched_per_second"] / speeds["reference_per_second"]
    assert min(speeds.values()) > 0 and speeds["programs_at_once"] == 100_000


def test_data_without_programs_are_refused(script: Script, data: VisualQuestions) -> None:
    none = Ragged(data.train.programs.flat[:0], 0 * data.train.programs.offsets)
    silent = replace(data, train=replace(data.train, programs=none))
    with pytest.raises(NGSError, match="some questions of synthetic have no program"):
        script("speed").execution(silent, rounds=1, device=CPU)


@pytest.mark.skipif(torch.cuda.is_available(), reason="here is a GPU")
def test_without_a_gpu_no_kernel_is_measured() -> None:
    command = [sys.executable, str(FOLDER / "speed.py"), "kernels"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode != 0 and run.stdout == ""
    assert run.stderr.startswith("speed.py: there is no GPU here, so kernels cannot be measured; ")


def test_ways_take_turns_and_are_compared_with_all_kernels(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ngs.kernels, "HAS_TRITON", True)
    ways: list[frozenset[str]] = []

    def train() -> float:
        ways.append(frozenset(name for name, where in ngs.kernels.DEVICES.items() if where))
        return 10.0 - len(ways[-1])

    before = dict(ngs.kernels.DEVICES)
    row = script("speed").with_and_without(train, 2)
    everything = set(ngs.kernels.NAMES)
    assert ways[0] == everything and ways[1] == set() and ways == 2 * ways[: len(ways) // 2]
    assert set(ways[2:5]) == {frozenset(everything - {name}) for name in everything}
    assert before == ngs.kernels.DEVICES
    assert row["ratios"]["with none"] == 10 / 7 and row["ratios"]["without lstm"] == 8 / 7


def test_every_kernel_is_measured() -> None:
    """All modules but those that only others use."""
    found = {module.name for module in pkgutil.iter_modules(ngs.kernels.__path__)}
    assert found - {"tiles", "choices", "program_rules"} == set(ngs.kernels.NAMES)


# Peers


def test_our_contestant_trains_what_the_table_says(script: Script) -> None:
    settings = script("ngs_hwf").settings("embedded", 3, 250, (1, 3))
    assert (settings.steps, settings.batch_size, settings.test_curve, settings.seed) == (250, 512, True, 3)


def run(*curve: tuple[float, float], answers: float, before: float = 0.0) -> dict[str, object]:
    points = [{"seconds": seconds, "answers": share, "symbols": 1.0} for seconds, share in curve]
    return {"curve": points, "answers": answers, "seconds_before_training": before}


def test_the_goal_is_reached_when_a_test_first_has_it(script: Script) -> None:
    peers = script("run")
    there = run((1.0, 0.9), (2.0, 0.985), (3.0, 0.97), answers=0.99, before=4.5)
    assert (peers.seconds_to_goal(there), peers.seconds_from_start_to_goal(there)) == (2.0, 6.5)
    never = run((1.0, 0.98), answers=0.98)
    assert peers.seconds_to_goal(never) is None and peers.seconds_from_start_to_goal(never) is None
    assert peers.best_on_test(there) == 0.985


def test_the_verdict_counts_seeds_that_reach_the_goal(script: Script) -> None:
    peers = script("run")
    ours = [run((2.0, 0.99), answers=0.99, before=8.0)]
    peer = [run((10.0, 0.99), answers=0.98), run((9.0, 0.9), answers=0.96)]
    accuracy, speed, from_start = peers.verdict({"ours": ours, "peer": peer})
    assert accuracy == "Test accuracy, ours minus the peer's: +2.00 points."
    assert speed == "Ours reaches 98.5% 5.0 times as fast, of the seeds that reach it."
    assert from_start == "Ours reaches 98.5% 1.0 times as fast from its start, of the seeds that reach it."
    assert peers.verdict({"ours": ours, "peer": []}) == []
    assert len(peers.verdict({"ours": ours, "peer": peer[1:]})) == 1


@pytest.mark.parametrize("cold", [False, True])
def test_both_clocks_are_cold_or_none(script: Script, cold: bool, tmp_path: Path) -> None:
    peers = script("run")
    options = Namespace(threads=1, site=tmp_path, lengths=[], data="embedded", steps=5, cold=cold)
    assert [("--cold" in each.options) for each in peers.contestants(options, tmp_path)] == [cold, cold]
