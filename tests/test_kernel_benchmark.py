"""The benchmark of kernels: what it compares, and that it says where there is nothing to measure."""

from __future__ import annotations

import importlib.util
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

import ngs.kernels

PATH = Path(__file__).parents[1] / "benchmarks" / "kernels.py"


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kernel_benchmark", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(torch.cuda.is_available(), reason="here is a GPU")
def test_without_a_gpu_there_is_nothing_to_measure() -> None:
    run = subprocess.run([sys.executable, str(PATH)], capture_output=True, text=True)
    assert run.returncode != 0 and run.stdout == ""
    assert run.stderr == "There is no GPU here, so kernels cannot be measured.\n"


def test_ways_take_turns_and_are_compared_with_all_kernels(
    benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ngs.kernels, "HAS_TRITON", True)
    ways: list[frozenset[str]] = []

    def train(method: str, steps: int) -> float:
        ways.append(frozenset(name for name, where in ngs.kernels.DEVICES.items() if where))
        return 10.0 - len(ways[-1])

    before = dict(ngs.kernels.DEVICES)
    row = benchmark.measured(train, "m-bs", 2, 10)
    everything = set(ngs.kernels.NAMES)
    assert ways[0] == everything and ways[1] == set() and ways == 2 * ways[: len(ways) // 2]
    assert set(ways[2:5]) == {frozenset(everything - {name}) for name in everything}
    assert before == ngs.kernels.DEVICES
    assert row["ratios"]["with none"] == 10 / 7 and row["ratios"]["without lstm"] == 8 / 7


def test_every_kernel_is_measured() -> None:
    """All modules but those that only others use."""
    found = {module.name for module in pkgutil.iter_modules(ngs.kernels.__path__)}
    assert found - {"tiles", "program_rules"} == set(ngs.kernels.NAMES)
