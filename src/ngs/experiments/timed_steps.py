"""Training steps that are timed: those of a run, each waited for.

A run launches a step while the GPU is at the one before, and what the CPU does for it costs nothing then;
here it counts. Whoever times them rounds products as runs do (`rounded_products`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import torch
from accelerate import Accelerator
from torch import nn

from ngs.experiments.environment import peak_memory_mb
from ngs.gpu import rounded_products
from ngs.learning.loop import Lesson, Settings, Trainer
from ngs.learning.methods import METHODS, MakeMethod, Objective
from ngs.search.reasoner import Reasoner
from ngs.tasks.task import PreparedAnswers

Actions = Mapping[str, Callable[[], object]]
WARM_UP = 10


def training_steps(
    methods: Mapping[str, MakeMethod],
    reasoner: Reasoner,
    network: Callable[[], nn.Module],
    settings: Settings,
    steps: int,
) -> Actions:
    """By method, a function that takes the next training step: from the start, the same ones each time."""
    examples, device = reasoner.examples, reasoner.examples.device
    taken = {}
    for name, make in methods.items():
        torch.manual_seed(0)
        objective = Objective(make(examples), reasoner, torch.Generator(device).manual_seed(0))
        lesson = Lesson(name, examples, objective, steps)
        accelerator = Accelerator(cpu=device.type == "cpu")
        taken[name] = partial(next, iter(Trainer(network(), [lesson], settings, accelerator=accelerator)))
    return taken


def timed(actions: Actions, rounds: int, device: torch.device, warm_up: int = 2) -> dict[str, float]:
    """The median seconds of each action, timed in turn so that a slow moment hits all of them."""
    spent: dict[str, list[float]] = {name: [] for name in actions}
    for action in actions.values():
        for _ in range(warm_up):
            action()
    for _ in range(rounds):
        for name, action in actions.items():
            _wait(device)
            begin = perf_counter()
            action()
            _wait(device)
            spent[name].append(perf_counter() - begin)
    return {name: median(seconds) for name, seconds in spent.items()}


@rounded_products()
def step_times(prepared: PreparedAnswers, rounds: int) -> dict[str, Any]:
    """Median seconds of a step of each method, against a supervised one, and the memory before and after.

    The network is trained throughout, so the steps are those of a real run: first of a network that knows
    nothing, then of one that does.
    """
    config, device = prepared.settings, prepared.device
    methods = {name: replace(config, method=name).make_method() for name in METHODS}
    steps = training_steps(methods, prepared.reasoner, prepared.network, config.settings, WARM_UP + rounds)
    timed(steps, WARM_UP, device, warm_up=0)
    before = _memory_mb(device)
    seconds = timed(steps, rounds, device, warm_up=0)
    return {
        "seconds": seconds,
        "times_supervised": {method: s / seconds["supervised"] for method, s in seconds.items()},
        "memory_mb": {"after_warm_up": before, "at_the_end": _memory_mb(device)},
    }


def _memory_mb(device: torch.device) -> float | None:
    """What tensors take of a GPU; of a CPU, which nobody counts, the most the process has had."""
    return torch.cuda.memory_allocated(device) / 2**20 if device.type == "cuda" else peak_memory_mb()


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
