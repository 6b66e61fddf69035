"""What a training step of each method costs, against a supervised one timed in the same run."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import torch
from accelerate import Accelerator

from ngs.experiments.environment import environment, peak_memory_mb
from ngs.experiments.timed_steps import formula_steps, timed
from ngs.gpu import rounded_products
from ngs.learning.loop import Settings
from ngs.learning.methods import METHODS
from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.reasoner import reasoner
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.embedded import embedded

WARM_UP = 20


@rounded_products()
def step_times(
    rounds: int, network: str = "small", batch_size: int = 64, command: Sequence[str] | None = None
) -> dict[str, Any]:
    """Median seconds of a step of each method, in turn round by round, and the memory before and after.

    The network is trained throughout, on embedded formulas of all lengths, so the steps are those of a
    real run: first of a network that knows nothing, then of one that does.
    """
    device = Accelerator().device
    data = embedded(train=1000, test=1)
    reasons = reasoner(GRAMMAR, Arithmetic, data.examples(data.train).to(device))
    steps = {
        method: formula_steps(
            method, METHODS[method], reasons, network, Settings(batch_size), WARM_UP + rounds
        )
        for method in dict.fromkeys(("supervised", *METHODS))
    }
    timed(steps, WARM_UP, device)
    before = memory_mb(device)
    seconds = {method: median(times) for method, times in timed(steps, rounds, device).items()}
    return {
        "environment": environment(device, command),
        "network": network,
        "batch_size": batch_size,
        "rounds": rounds,
        "seconds": seconds,
        "times_supervised": {method: s / seconds["supervised"] for method, s in seconds.items()},
        "memory_mb": {"after_warm_up": before, "at_the_end": memory_mb(device)},
    }


def memory_mb(device: torch.device) -> float | None:
    """What tensors take of a GPU; of a CPU, which nobody counts, the most the process has had."""
    return torch.cuda.memory_allocated(device) / 2**20 if device.type == "cuda" else peak_memory_mb()
