"""Training steps to be timed: those of a run, each waited for.

A run launches a step while the GPU is at the one before, and what the CPU does for it costs nothing then;
here it counts. Whoever times them rounds products as runs do (`rounded_products`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from time import perf_counter

import torch
from accelerate import Accelerator

from ngs.experiments.config import TrainCLEVR
from ngs.learning.loop import Lesson, Settings, Step, Trainer
from ngs.learning.methods import MakeMethod, Objective
from ngs.networks.lenet import NETWORKS
from ngs.networks.pointer import SIZES, PointerNetwork
from ngs.search.reasoner import Reasoner
from ngs.tasks.clevr.examples import Part
from ngs.tasks.clevr.program import MODULES
from ngs.tasks.hwf.dataset import GRAMMAR


def formula_steps(
    name: str, method: MakeMethod, reasons: Reasoner, network: str, settings: Settings, steps: int
) -> Iterator[Step]:
    """Training steps on formulas from the start, the same ones each time."""
    torch.manual_seed(0)
    device = reasons.examples.device
    objective = Objective(method(reasons.examples), reasons, torch.Generator(device).manual_seed(0))
    lesson = Lesson(name, reasons.examples, objective, steps)
    made = NETWORKS[network](len(GRAMMAR.symbols))
    return iter(Trainer(made, [lesson], settings, accelerator=_accelerator(device)))


def program_steps(config: TrainCLEVR, method: str, part: Part, steps: int) -> Iterator[Step]:
    """Training steps on questions from the start, the same ones each time; all but the method and the number
    of steps is the configuration's."""
    torch.manual_seed(0)
    examples, device = part.examples, part.examples.device
    reasons = part.reasoner(config.edits, config.effort)
    made = replace(config, method=method).make_method()(examples)
    objective = Objective(made, reasons, torch.Generator(device).manual_seed(0))
    lesson = Lesson(method, examples, objective, steps)
    network = PointerNetwork(len(part.questions.vocabulary), len(MODULES), size=SIZES[config.network])
    return iter(Trainer(network, [lesson], config.settings, accelerator=_accelerator(device)))


def timed(steps: Mapping[str, Iterator[object]], rounds: int, device: torch.device) -> dict[str, list[float]]:
    """Seconds of each of the next steps, the methods in turn so that a slow moment hits all."""
    spent: dict[str, list[float]] = {method: [] for method in steps}
    for _ in range(rounds):
        for method, each in steps.items():
            _wait(device)
            begin = perf_counter()
            next(each)
            _wait(device)
            spent[method].append(perf_counter() - begin)
    return spent


def _accelerator(device: torch.device) -> Accelerator:
    return Accelerator(cpu=device.type == "cpu")


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
