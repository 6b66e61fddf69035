"""One of two processes that run `ngs train` together, started by test_two_processes.py: trains, and stops."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import cast

import torch
from torch import nn

from ngs.networks.lenet import NETWORKS
from ngs.networks.pointer import SIZES, Size
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.settings import RunSettings
from tests.experiments.short_runs import SHARED
from tests.experiments.training import train

STOPPED_AT = 6
TINY = Size(16, 8)


def plain(symbols: int) -> nn.Module:
    """No batch norm and no dropout, by which processes may differ."""
    return nn.Sequential(nn.AvgPool2d(3), nn.Flatten(), nn.Linear(225, 32), nn.ReLU(), nn.Linear(32, symbols))


def comparable(folder: Path) -> dict[str, RunSettings]:
    """Runs that draw nothing, so that any number of processes makes the same steps."""
    shared = {**SHARED, "seed": 0, "test_curve": True}
    listed = {"steps": 9, "validate_every": 4, "batch_size": 12, "enumerated": 100_000}
    questions = TrainCLEVR(str(folder / "clevr.ngs"), **{**shared, **listed})
    steps = {"steps": 24, "validate_every": 6, "batch_size": 16}
    return {
        "hwf-posterior": TrainHWF(
            str(folder / "hwf.ngs"), **{**shared, **steps}, network="wide", augment=False
        ),
        "clevr-supervised": replace(questions, method="supervised"),
        "clevr-posterior": questions,
    }


def drawing(folder: Path) -> TrainHWF:
    """A run with all that a checkpoint of several processes has to keep."""
    steps = {"steps": 13, "validate_every": STOPPED_AT, "batch_size": 16}
    return TrainHWF(str(folder / "hwf.ngs"), **{**SHARED, **steps}, method="m-bs", augment=True)


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    cast("dict[str, object]", NETWORKS)["wide"] = plain
    cast("dict[str, object]", SIZES)["small"] = TINY
    for name, config in {**comparable(folder), "whole": drawing(folder)}.items():
        for _ in train(config, folder / "two" / name):
            pass
    for event in train(drawing(folder), folder / "two" / "stopped"):
        if event.step > STOPPED_AT:
            break


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    # All that is tested is done. Five trainings, one of them stopped half-way, leave threads of PyTorch
    # behind, which abort the process once in twenty times when they are taken down: so they are not.
    sys.stdout.flush()
    os._exit(0)
