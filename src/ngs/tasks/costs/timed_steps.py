"""Actions timed in turn, among them the training steps of each method.

Every step is waited for, unlike in a run, where the GPU works while the CPU launches the next step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.benchmark import Measurement, TaskSpec, timer

from ngs.learning.loop import Lesson, Settings, Trainer
from ngs.learning.methods import MakeMethod, Objective
from ngs.search.reasoner import Reasoner

Actions = Mapping[str, Callable[[], object]]


def training_steps(
    methods: Mapping[str, MakeMethod],
    reasoner: Reasoner,
    network: Callable[[], nn.Module],
    settings: Settings,
    steps: int,
) -> Actions:
    """By method, a function that takes the next training step; the steps are the same each time."""
    examples, device = reasoner.examples, reasoner.examples.device
    taken = {}
    for name, make in methods.items():
        torch.manual_seed(0)
        objective = Objective(make(examples), reasoner, torch.Generator(device).manual_seed(0))
        lesson = Lesson(name, examples, objective, steps)
        accelerator = Accelerator(cpu=device.type == "cpu")
        taken[name] = partial(next, iter(Trainer(network(), [lesson], settings, accelerator=accelerator)))
    return taken


def timed(actions: Actions, rounds: int, warm_up: int = 2) -> dict[str, Measurement]:
    """The seconds of each action, timed in turn so that a slow moment affects all of them.

    PyTorch's `timer` waits for a GPU. Its `Timer` chooses the number of steps itself, and a training is
    finite.
    """
    spent: dict[str, list[float]] = {name: [] for name in actions}
    for action in actions.values():
        for _ in range(warm_up):
            action()
    for _ in range(rounds):
        for name, action in actions.items():
            begin = timer()
            action()
            spent[name].append(timer() - begin)
    threads = torch.get_num_threads()
    return {name: Measurement(1, spent[name], TaskSpec(name, "", num_threads=threads)) for name in actions}
