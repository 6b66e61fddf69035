"""The benchmark of kernels: what it compares, and that it says where there is nothing to measure."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

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


def test_both_ways_take_turns(benchmark: ModuleType) -> None:
    ways = []

    def train(task: str, method: str, with_kernels: bool) -> tuple[float, float]:
        ways.append(with_kernels)
        if len(ways) <= 2:
            return 1000.0, 1000.0  # the runs that fill Triton's cache
        return (4.0, 2.0) if with_kernels else (6.0, 4.0)

    row = benchmark.compared(train, "hwf", "m-bs", 3)
    assert ways == [False, True, True, False, False, True, True, False]
    assert (row["with"], row["without"], row["ratio"], row["training_ratio"]) == (4.0, 6.0, 1.5, 2.0)


def test_a_run_is_timed(benchmark: ModuleType) -> None:
    whole, steps = benchmark.train("hwf", "supervised", False, ["--steps", "2"])
    assert 0 < steps < whole
