"""Things that are timed in turn, and the training steps of each method among them.

A run launches a step while the GPU is at the one before, and what the CPU does for it costs nothing then;
here every step is waited for. Whoever times them rounds products as runs do (`rounded_products`).
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
    """The seconds of each action, timed in turn so that a slow moment hits all of them.

    PyTorch's `timer` waits for a GPU. Its `Timer` would choose itself how often an action is done, and a
    training has only so many steps.
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
