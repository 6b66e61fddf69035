"""Kinds of work that can grow, and grammars that grow.

A workload is a frozen value; `at` makes work of one size, with steps for each method. The learning rate is
almost zero, so that the cost of a step depends on its size and not on what was learned.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from ngs.grammar.grammar import Grammar
from ngs.learning.loop import Lesson, Settings, Trainer
from ngs.learning.methods import MakeMethod, Objective
from ngs.parsing.independent import independent
from ngs.search.reasoner import Reasoner

STILL = 1e-12  # a learning rate that changes nothing
BATCHES = 2  # of training examples, so that steps see different ones
Actions = Mapping[str, Callable[[], object]]
Work = tuple[int, Actions]  # a size, in the workload's unit, and the steps of each method


class Workload(ABC):
    """A kind of work that has a size."""

    unit: ClassVar[str]  # what sizes count
    grows: ClassVar[str]  # the setting that is the size; the others are fields

    def settings(self, value: int) -> dict[str, Any]:
        return {**vars(self), self.grows: value}

    @abstractmethod
    def at(self, value: int, methods: Sequence[str], steps: int, device: torch.device) -> Work:
        """Work of size `value` for this many steps."""


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


# Parsing


def _best(grammar: Grammar, log_probs: Tensor) -> None:
    independent(grammar, log_probs).best()


def _log_partition(grammar: Grammar, log_probs: Tensor) -> None:
    independent(grammar, log_probs.detach().requires_grad_()).log_z.sum().backward()  # type: ignore[no-untyped-call]


PARSERS: Mapping[str, Callable[[Grammar, Tensor], None]] = {"best": _best, "log_partition": _log_partition}


class Parsing(Workload):
    """Parsing by larger grammars of formulas. Sizes are counted in rules."""

    unit: ClassVar[str] = "rules"

    def at(self, value: int, methods: Sequence[str], steps: int, device: torch.device) -> Work:
        given = self.settings(value)
        grammar = formula_grammar(given["levels"], given["digits"])
        generator = torch.Generator().manual_seed(0)
        logits = torch.randn(given["batch_size"], given["length"], len(grammar.symbols), generator=generator)
        log_probs = logits.log_softmax(-1).to(device)
        parsers = {method: partial(PARSERS[method], grammar, log_probs) for method in methods}
        return len(grammar.rules), parsers


@dataclass(frozen=True)
class PrecedenceLevels(Parsing):
    """More levels of two operators: more rules, and longer chains of them. Formulas have two levels."""

    grows: ClassVar[str] = "levels"

    digits: int = 10
    length: int = 7
    batch_size: int = 64


@dataclass(frozen=True)
class Digits(Parsing):
    """More digits: more rules, and none longer than a symbol."""

    grows: ClassVar[str] = "digits"

    levels: int = 2
    length: int = 7
    batch_size: int = 64


def formula_grammar(levels: int, digits: int) -> Grammar:
    """Formulas with `levels` of precedence, two operators each, that bind to the left."""
    lines = ["start: level_0"]
    for k in range(levels):
        operators = (f'level_{k} "{name}{k}" level_{k + 1} -> {name}_{k}' for name in ("plus", "minus"))
        lines.append(f"level_{k}: level_{k + 1} | " + " | ".join(operators))
    lines.append(f"level_{levels}: " + " | ".join(f'"{digit}"' for digit in range(digits)))
    return Grammar.parse("\n".join(lines))
