"""What a training step of each method costs, against a supervised one timed in the same run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import torch
from accelerate import Accelerator

from ngs.experiments.environment import environment, peak_memory_mb
from ngs.gpu import rounded_products
from ngs.learning.loop import Lesson, Settings, Step, Trainer
from ngs.learning.methods import METHODS, Method, is_recordable
from ngs.learning.reasoner import Reasoner, reasoner
from ngs.perception.lenet import NETWORKS
from ngs.reasoning.arithmetic import Arithmetic
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.embedded import embedded

WARM_UP = 20


@rounded_products()
def step_times(
    rounds: int, network: str = "small", batch_size: int = 64, command: Sequence[str] | None = None
) -> dict[str, Any]:
    """Median seconds of a step of each method, in turn round by round, and the memory before and after.

    The network is trained throughout, on embedded formulas of all lengths, so the steps are those of a
    real run: first of a network that knows nothing, then of one that does. On a GPU products are rounded, and
    what can be recorded is, as in a run.
    """
    device = Accelerator().device
    data = embedded(train=1000, test=1)
    reasons = reasoner(GRAMMAR, Arithmetic, data.examples(data.train).to(device))
    steps = {
        method: formula_steps(
            method, METHODS[method], reasons, network, Settings(batch_size), WARM_UP + rounds
        )
        for method in ("supervised", *METHODS)
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


def formula_steps(
    name: str, method: Method, reasons: Reasoner, network: str, settings: Settings, steps: int
) -> Iterator[Step]:
    """Training steps on formulas from the start, the same ones each time."""
    torch.manual_seed(0)
    device = reasons.examples.inputs.device
    objective = method(reasons, torch.Generator(device).manual_seed(0))
    recordable = partial(is_recordable, objective)
    lesson = Lesson(name, reasons.examples, objective, steps, recordable=recordable)
    accelerator = Accelerator(cpu=device.type == "cpu")
    made = NETWORKS[network](len(GRAMMAR.symbols))
    return iter(Trainer(made, [lesson], settings, accelerator=accelerator))


def timed(
    methods: Mapping[str, Iterator[object]], rounds: int, device: torch.device
) -> dict[str, list[float]]:
    """Seconds of each of the next steps, the methods in turn so that a slow moment hits all."""
    spent: dict[str, list[float]] = {method: [] for method in methods}
    for _ in range(rounds):
        for method, steps in methods.items():
            _wait(device)
            begin = perf_counter()
            next(steps)
            _wait(device)
            spent[method].append(perf_counter() - begin)
    return spent


def memory_mb(device: torch.device) -> float | None:
    """What tensors take of a GPU; of a CPU, which nobody counts, the most the process has had."""
    return torch.cuda.memory_allocated(device) / 2**20 if device.type == "cuda" else peak_memory_mb()


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
