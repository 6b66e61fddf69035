"""What can be made larger to see what it costs: formulas, batches, grammars and programs.

A workload is a frozen value that says what stays as it is; `at` makes work of one size, with steps of it for
each method. Networks learn so slowly that they stay as they began: what a step costs then depends on its
size, not on which size is learned sooner.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor

from ngs.errors import NGSError
from ngs.experiments.clevr import part_of
from ngs.experiments.config import TrainCLEVR
from ngs.experiments.hwf import reasoner_of
from ngs.experiments.timed_steps import Actions, training_steps
from ngs.grammar.grammar import Grammar
from ngs.learning.loop import Settings
from ngs.learning.methods import METHODS, MakeMethod, multi_step
from ngs.networks.lenet import NETWORKS
from ngs.networks.pointer import SIZES, PointerNetwork
from ngs.parsing.independent import independent
from ngs.search.back_search import ChainSettings
from ngs.tasks.clevr.batched_execution import SceneTables
from ngs.tasks.clevr.examples import Part
from ngs.tasks.clevr.packed import load as load_questions
from ngs.tasks.clevr.program import MODULES
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.embedded import embedded

STILL = 1e-12
"""A learning rate that changes nothing."""
BATCHES = 2
"""Of training examples, so that not every step sees the same."""


@dataclass(frozen=True)
class Work:
    """Work of one size."""

    x: int
    """the size, in the unit of the workload"""
    steps: Actions
    """by method"""


class Workload(ABC):
    """A kind of work that has a size."""

    unit: ClassVar[str]
    """what its sizes count"""
    known_methods: ClassVar[Sequence[str]] = tuple(METHODS)

    @abstractmethod
    def at(self, value: int, methods: Sequence[str], steps: int, device: torch.device) -> Work:
        """Work of size `value`, enough for so many steps."""


# Training


def _named(methods: Sequence[str]) -> dict[str, MakeMethod]:
    return {name: METHODS[name] for name in methods}


def _on_formulas(
    value: int,
    methods: Mapping[str, MakeMethod],
    steps: int,
    device: torch.device,
    *,
    length: int,
    batch_size: int,
    network: str,
) -> Work:
    data = embedded(train=BATCHES * batch_size, test=1, lengths={length: 1})
    reasoner = reasoner_of(data.examples(data.train).to(device))
    make = partial(NETWORKS[network], len(GRAMMAR.symbols))
    settings = Settings(batch_size, learning_rate=STILL)
    return Work(value, training_steps(methods, reasoner, make, settings, steps))


@dataclass(frozen=True)
class FormulaLength(Workload):
    """Training steps on formulas that all have one length."""

    unit: ClassVar[str] = "symbols of a formula"

    batch_size: int = 64
    network: str = "small"

    def at(self, value: int, methods: Sequence[str], steps: int, device: torch.device) -> Work:
        return _on_formulas(value, _named(methods), steps, device, length=value, **vars(self))


@dataclass(frozen=True)
class BatchSize(Workload):
    """Training steps on more or fewer formulas of one length."""

    unit: ClassVar[str] = "formulas in a step"

    length: int = 7
    network: str = "small"

    def at(self, value: int, methods: Sequence[str], steps: int, device: torch.device) -> Work:
        return _on_formulas(value, _named(methods), steps, device, batch_size=value, **vars(self))


@dataclass(frozen=True)
class WalkSteps(Workload):
    """Training steps of m-BS that take more or fewer steps of back-search, on formulas of one length."""

    unit: ClassVar[str] = "steps of back-search"
    known_methods: ClassVar[Sequence[str]] = ("m-bs",)

    batch_size: int = 64
    length: int = 7
    network: str = "small"

    def at(self, value: int, methods: Sequence[str], steps: int, device: torch.device) -> Work:
        chains = {method: multi_step(ChainSettings(steps=value)) for method in methods}
        return _on_formulas(value, chains, steps, device, **vars(self))


@dataclass(frozen=True)
class ProgramLength(Workload):
    """Training steps on embedded questions whose programs all have one number of modules."""

    unit: ClassVar[str] = "modules of a program"

    batch_size: int = 64
    network: str = "small"

    def at(self, value: int, methods: Sequence[str], steps: int, device: torch.device) -> Work:
        config = TrainCLEVR(network=self.network, batch_size=self.batch_size, learning_rate=STILL)
        part = _questions(config, value, device)
        makers = {method: replace(config, method=method).make_method() for method in methods}
        reasoner = part.reasoner(config.edits, config.effort)
        make = partial(PointerNetwork, len(part.questions.vocabulary), len(MODULES), size=SIZES[self.network])
        return Work(value, training_steps(makers, reasoner, make, config.settings, steps))


def _questions(config: TrainCLEVR, length: int, device: torch.device) -> Part:
    """Questions whose programs have so many modules."""
    data = load_questions(config.data)
    numbers = (data.train.modules.lengths == length).nonzero().flatten()[: BATCHES * config.batch_size]
    asked, tables = data.train.select(numbers), SceneTables.of(data.scenes).to(device)
    part = part_of(config, asked, tables, device)
    if len(part.examples) < config.batch_size:
        raise NGSError(
            f"{len(part.examples)} of the {data.name} questions have programs of {length} modules, and a "
            f"step needs {config.batch_size}; give another length, or a smaller batch"
        )
    return part


# Parsing


def _best(grammar: Grammar, log_probs: Tensor) -> None:
    independent(grammar, log_probs).best()


def _log_partition(grammar: Grammar, log_probs: Tensor) -> None:
    """With its gradient, as in training."""
    independent(grammar, log_probs.detach().requires_grad_()).log_z.sum().backward()  # type: ignore[no-untyped-call]


PARSERS: Mapping[str, Callable[[Grammar, Tensor], None]] = {"best": _best, "log_partition": _log_partition}


@dataclass(frozen=True)
class PrecedenceLevels(Workload):
    """Parsing with more levels of operators, two operators on each: more rules, and longer chains of them.

    Two levels and ten digits are the grammar of formulas. Sizes are counted in rules.
    """

    unit: ClassVar[str] = "rules"
    known_methods: ClassVar[Sequence[str]] = tuple(PARSERS)

    digits: int = 10
    length: int = 7
    batch_size: int = 64

    def at(self, value: int, methods: Sequence[str], steps: int, device: torch.device) -> Work:
        return _parsing(formula_grammar(value, self.digits), methods, self.length, self.batch_size, device)


@dataclass(frozen=True)
class Digits(Workload):
    """Parsing with more digits: more rules, and none longer than a symbol. Sizes are counted in rules."""

    unit: ClassVar[str] = "rules"
    known_methods: ClassVar[Sequence[str]] = tuple(PARSERS)

    levels: int = 2
    length: int = 7
    batch_size: int = 64

    def at(self, value: int, methods: Sequence[str], steps: int, device: torch.device) -> Work:
        return _parsing(formula_grammar(self.levels, value), methods, self.length, self.batch_size, device)


def formula_grammar(levels: int, digits: int) -> Grammar:
    """Formulas with `levels` of precedence, two operators each, that bind to the left."""
    lines = ["start: level_0"]
    for k in range(levels):
        operators = (f'level_{k} "{name}{k}" level_{k + 1} -> {name}_{k}' for name in ("plus", "minus"))
        lines.append(f"level_{k}: level_{k + 1} | " + " | ".join(operators))
    lines.append(f"level_{levels}: " + " | ".join(f'"{digit}"' for digit in range(digits)))
    return Grammar.parse("\n".join(lines))


def _parsing(
    grammar: Grammar, methods: Sequence[str], length: int, batch_size: int, device: torch.device
) -> Work:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(batch_size, length, len(grammar.symbols), generator=generator)
    log_probs = logits.log_softmax(-1).to(device)
    steps = {method: partial(PARSERS[method], grammar, log_probs) for method in methods}
    return Work(len(grammar.rules), steps)
