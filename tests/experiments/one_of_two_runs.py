"""One of two processes that run `ngs train` together, started by test_two_processes.py: trains, and stops."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import cast

import torch
from torch import nn

from ngs.networks.lenet import NETWORKS
from ngs.networks.pointer import SIZES, Size
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.settings import RunSettings
from tests.experiments.training import train

STOPPED_AT = 6
TINY = Size(16, 8)


def plain(symbols: int) -> nn.Module:
    """No batch norm and no dropout, by which processes may differ."""
    return nn.Sequential(nn.AvgPool2d(3), nn.Flatten(), nn.Linear(225, 32), nn.ReLU(), nn.Linear(32, symbols))


def comparable(folder: Path) -> dict[str, RunSettings]:
    """Runs that draw nothing, so that any number of processes makes the same steps."""
    questions = TrainCLEVR(
        data=str(folder / "clevr.ngs"),
        network="small",
        steps=9,
        validate_every=4,
        batch_size=12,
        learning_rate=1e-2,
        averaging=0.5,
        validation=0.2,
        enumerated=100_000,
        test_curve=True,
    )
    formulas = TrainHWF(
        data=str(folder / "hwf.ngs"),
        network="wide",
        steps=24,
        validate_every=6,
        batch_size=16,
        learning_rate=1e-2,
        averaging=0.5,
        augment=False,
        validation=0.2,
        test_curve=True,
    )
    return {
        "hwf-posterior": formulas,
        "clevr-supervised": TrainCLEVR(**{**vars(questions), "method": "supervised"}),
        "clevr-posterior": questions,
    }


def drawing(folder: Path) -> TrainHWF:
    """A run with all that a checkpoint of several processes has to keep."""
    return TrainHWF(
        data=str(folder / "hwf.ngs"),
        method="m-bs",
        steps=13,
        validate_every=STOPPED_AT,
        batch_size=16,
        averaging=0.5,
        augment=True,
        validation=0.2,
    )


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
