"""`ngs train` in two processes: the run of one process, in one folder, resumed as if never interrupted."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from ngs.errors import DataError
from ngs.learning import tensor_file
from ngs.networks.lenet import NETWORKS
from ngs.networks.pointer import SIZES
from ngs.tasks.clevr import packed
from ngs.tasks.run_folder import A_CHECKPOINT, A_NETWORK, BEST, CHECKPOINT, RESULT, TENSORBOARD
from tests.experiments.one_of_two_runs import STOPPED_AT, TINY, comparable, drawing, plain
from tests.experiments.short_runs import few_questions, write_formulas
from tests.experiments.training import facts_of, finished, train

ROOT = Path(__file__).parents[2]
BESIDE_PYTHON = Path(sys.executable).parent
PATIENCE = 120
"""Seconds until two processes that found no way to each other are given up."""


@pytest.fixture(scope="module", autouse=True)
def networks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(NETWORKS, "wide", plain)
        patch.setitem(SIZES, "small", TINY)
        yield


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def launched(*words: str) -> str:
    """What processes say that run together on this machine, on the CPU."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    shared = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    if sys.platform == "linux":
        shared["GLOO_SOCKET_IFNAME"] = "lo"  # whatever the machine is called, and whether that resolves
    launcher, *rest = words
    done = subprocess.run(
        [str(BESIDE_PYTHON / launcher), *rest],
        env=shared,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data; the runs of two processes that `torchrun` started, one of them interrupted, are in `two`."""
    there = tmp_path_factory.mktemp("processes")
    write_formulas(there / "hwf.ngs")
    # So short that all their programs are enumerated: nothing is drawn for them.
    packed.write(there / "clevr.ngs", few_questions(longest=7, train=40))
    module = ["-m", "tests.experiments.one_of_two_runs", str(there)]
    launched("torchrun", "--nproc-per-node", "2", "--master-port", str(free_port()), *module)
    return there


def close(have: Any, want: Any) -> bool:
    """The same facts, numbers up to rounding."""
    if isinstance(want, dict):
        return have.keys() == want.keys() and all(close(have[key], want[key]) for key in want)
    if isinstance(want, list):
        return len(have) == len(want) and all(map(close, have, want))
    return bool(have == pytest.approx(want, rel=1e-4, abs=1e-6)) if isinstance(want, float) else have == want


@pytest.mark.parametrize("name", ["hwf-posterior", "clevr-supervised", "clevr-posterior"])
def test_two_processes_make_the_run_of_one(folder: Path, name: str) -> None:
    alone, together = folder / "one" / name, folder / "two" / name
    finished(comparable(folder)[name], alone)
    want, have = facts_of(alone), facts_of(together)
    assert len(have["rows"]) == len(want["rows"])
    for row, expected in zip(have["rows"], want["rows"], strict=True):
        assert close(row, expected), f"{row} instead of {expected}"
    for told in ("result", "place", "choice"):
        assert close(have[told], want[told]), f"{told}: {have[told]} instead of {want[told]}"
    weights, own = (tensor_file.load(run / BEST, A_NETWORK, "")[0] for run in (together, alone))
    assert all(torch.allclose(weights[key], own[key], atol=1e-4) for key in own)
    losses = [row["loss"] for row in want["rows"] if "loss" in row]
    assert losses[-1] < 0.9 * losses[0]  # or both might have learned nothing


def test_they_write_one_folder_as_one_process_does(folder: Path, tmp_path: Path) -> None:
    finished(drawing(folder), tmp_path)
    run = folder / "two" / "whole"
    assert {path.name for path in run.iterdir()} == {path.name for path in tmp_path.iterdir()}
    assert len(list((run / TENSORBOARD).iterdir())) == 1
    steps = [[(row["step"], row.keys()) for row in facts_of(each)["rows"]] for each in (run, tmp_path)]
    assert steps[0] == steps[1]


def test_an_interrupted_run_is_gone_on_with_by_as_many_processes(folder: Path) -> None:
    stopped = folder / "two" / "stopped"
    tensors, facts = tensor_file.load(stopped / CHECKPOINT, A_CHECKPOINT, "")
    assert facts["place"]["steps_done"] == STOPPED_AT and len(tensors["generator"]) == 2
    assert not (stopped / RESULT).exists()
    with pytest.raises(DataError, match="the checkpoint is of 2 processes, and these are 1"):
        list(train(drawing(folder), stopped, resume=True))
    launcher = ["accelerate", "launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"]
    launcher += ["--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", str(free_port())]
    command = ["--no_python", str(BESIDE_PYTHON / "ngs"), "train", "hwf", "--threads", "1"]
    assert str(stopped) in launched(*launcher, *command, "--resume", str(stopped))
    assert facts_of(stopped) == facts_of(folder / "two" / "whole")
