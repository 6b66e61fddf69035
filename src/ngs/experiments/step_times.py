"""What a training step of each method costs, against a supervised one timed in the same run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from time import perf_counter
from typing import Any

import torch
from accelerate import Accelerator

from ngs.experiments.environment import environment, peak_memory_mb
from ngs.learning.loop import Lesson, Settings, Step, Trainer
from ngs.learning.methods import METHODS
from ngs.learning.reasoner import reasoner
from ngs.perception.lenet import NETWORKS
from ngs.reasoning.arithmetic import Arithmetic
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.embedded import embedded

WARM_UP = 20


def step_times(
    rounds: int, network: str = "small", batch_size: int = 64, command: Sequence[str] | None = None
) -> dict[str, Any]:
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

    spent, memory = _timed({method: steps_of(method) for method in ("supervised", *METHODS)}, rounds, device)
    seconds = {method: median(times) for method, times in spent.items()}
    return {
        "environment": environment(device, command),
        "network": network,
        "batch_size": batch_size,
        "rounds": rounds,
        "seconds": seconds,
        "times_supervised": {method: s / seconds["supervised"] for method, s in seconds.items()},
        "memory_mb": dict(zip(("after_warm_up", "at_the_end"), memory, strict=True)),
    }


def _timed(
    methods: Mapping[str, Iterator[Step]], rounds: int, device: torch.device
) -> tuple[dict[str, list[float]], tuple[float | None, float | None]]:
    """Seconds of each step, the methods in turn so that a slow moment hits all; memory before and after."""
    spent: dict[str, list[float]] = {method: [] for method in methods}
    before = None
    for number in range(WARM_UP + rounds):
        before = memory_mb(device) if number == WARM_UP else before
        for method, steps in methods.items():
            _wait(device)
            begin = perf_counter()
            next(steps)
            _wait(device)
            if number >= WARM_UP:
                spent[method].append(perf_counter() - begin)
    return spent, (before, memory_mb(device))


def memory_mb(device: torch.device) -> float | None:
    """What tensors take of a GPU; of a CPU, which nobody counts, the most the process has had."""
    return torch.cuda.memory_allocated(device) / 2**20 if device.type == "cuda" else peak_memory_mb()


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
