"""What a training step of each method takes, against a supervised one in the same run.

    python benchmarks/training.py formulas [--network paper] [--batch-size 256]
    python benchmarks/training.py questions [--data data/CLEVR-25k.ngs]

The methods take turns, step by step. Each trains its network throughout, so the steps are those of a real
run: first of a network that knows nothing, then of one that does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import measuring
import torch

from ngs.experiments.environment import peak_memory_mb
from ngs.gpu import rounded_products
from ngs.learning.methods import METHODS
from ngs.tasks.clevr.preparation import PreparedQuestions
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.costs.timed_steps import timed, training_steps
from ngs.tasks.hwf.preparation import PreparedFormulas
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.settings import EMBEDDED
from ngs.tasks.task import PreparedAnswers

TASKS = {"formulas": (PreparedFormulas, TrainHWF), "questions": (PreparedQuestions, TrainCLEVR)}
WARM_UP = 10


@rounded_products()
def step_times(prepared: PreparedAnswers, rounds: int) -> dict[str, Any]:
    """Median seconds of a step of each method, and the memory before and after: what steps keep."""
    config = prepared.settings
    methods = {name: replace(config, method=name).make_method() for name in METHODS}
    steps = training_steps(methods, prepared.reasoner, prepared.network, config.settings, WARM_UP + rounds)
    timed(steps, WARM_UP, warm_up=0)
    before = memory_mb(prepared.device)
    seconds = {name: spent.median for name, spent in timed(steps, rounds, warm_up=0).items()}
    return {
        "seconds": seconds,
        "times_supervised": {name: each / seconds["supervised"] for name, each in seconds.items()},
        "memory_mb": {"after_warm_up": before, "at_the_end": memory_mb(prepared.device)},
    }


def memory_mb(device: torch.device) -> float | None:
    """What tensors take of a GPU; of a CPU, which nobody counts, the most the process has had."""
    return torch.cuda.memory_allocated(device) / 2**20 if device.type == "cuda" else peak_memory_mb()


def main() -> None:
    options = measuring.parser(__doc__, rounds=30)
    options.add_argument("task", choices=TASKS)
    options.add_argument("--data", default=EMBEDDED, help="`embedded`, or made by `ngs data import`")
    options.add_argument("--network", default="small")
    options.add_argument("--batch-size", type=int, default=64)
    given = measuring.asked(options)
    prepared, config = TASKS[given.task]
    settings = {"data": given.data, "network": given.network, "batch_size": given.batch_size}
    measuring.tell(given, **settings, **step_times(prepared(config(**settings), given.device), given.rounds))


if __name__ == "__main__":
    main()
