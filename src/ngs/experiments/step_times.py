"""What a training step of each method costs, against a supervised one timed in the same run."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from statistics import median
from time import perf_counter
from typing import Any

import torch
from accelerate import Accelerator

from ngs.experiments.environment import environment
from ngs.learning.loop import Lesson, Settings, Step, Trainer
from ngs.learning.methods import METHODS
from ngs.learning.reasoner import reasoner
from ngs.perception.lenet import NETWORKS
from ngs.reasoning.arithmetic import Arithmetic
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.embedded import embedded

WARM_UP = 20


def step_times(rounds: int, network: str = "small", batch_size: int = 64) -> dict[str, Any]:
    """Median seconds of a step of each method, in turn round by round, and the memory before and after.

    The network is trained throughout, on embedded formulas of all lengths, so the steps are those of a
    real run: first of a network that knows nothing, then of one that does.
    """
    device = Accelerator().device
    data = embedded(train=1000, test=1)
    examples = data.examples(data.train).to(device)
    reasons = reasoner(GRAMMAR, Arithmetic, examples)

    def steps_of(method: str) -> Iterator[Step]:
        torch.manual_seed(0)
        objective = METHODS[method](reasons, torch.Generator(device).manual_seed(0))
        lesson = Lesson(method, examples, objective, WARM_UP + rounds)
        return iter(Trainer(NETWORKS[network](len(GRAMMAR.symbols)), [lesson], Settings(batch_size)))

    methods = {method: steps_of(method) for method in ("supervised", *METHODS)}
    spent: dict[str, list[float]] = {method: [] for method in methods}
    before = 0.0
    for number in range(WARM_UP + rounds):
        if number == WARM_UP:
            before = memory_mb(device)
        for method, steps in methods.items():
            _wait(device)
            begin = perf_counter()
            next(steps)
            _wait(device)
            if number >= WARM_UP:
                spent[method].append(perf_counter() - begin)
    seconds = {method: median(times) for method, times in spent.items()}
    return {
        "environment": environment(device),
        "network": network,
        "batch_size": batch_size,
        "rounds": rounds,
        "seconds": seconds,
        "times_supervised": {method: s / seconds["supervised"] for method, s in seconds.items()},
        "memory_mb": {"after_warm_up": before, "at_the_end": memory_mb(device)},
    }


def memory_mb(device: torch.device) -> float:
    """In use: of the GPU the tensors, of the CPU the most the process has had."""
    if device.type == "cuda":
        return torch.cuda.memory_allocated(device) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
