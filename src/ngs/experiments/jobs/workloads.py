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
from ngs.experiments.timed_steps import Actions, training_steps
from ngs.grammar.grammar import Grammar
from ngs.learning.loop import Settings
from ngs.learning.methods import METHODS, MakeMethod, multi_step
from ngs.networks.lenet import NETWORKS
from ngs.networks.pointer import SIZES, PointerNetwork
from ngs.parsing.independent import independent
from ngs.search.back_search import ChainSettings
from ngs.tasks.clevr.batched_execution import SceneTables
from ngs.tasks.clevr.packed import load as load_questions
from ngs.tasks.clevr.preparation import part_of
from ngs.tasks.clevr.program import MODULES
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.preparation import reasoner_of

STILL = 1e-12
"""A learning rate that changes nothing."""
BATCHES = 2
"""Of training examples, so that not every step sees the same."""


Work = tuple[int, Actions]
"""A size, in the unit of the workload, and the steps of each method."""


class Workload(ABC):
    """A kind of work that has a size."""

    unit: ClassVar[str]
    """what its sizes count"""
    known_methods: ClassVar[Sequence[str]] = tuple(METHODS)

    @abstractmethod
    def at(self, value: int, methods: Sequence[str], steps: int, device: torch.device) -> Work:
        """Work of size `value`, enough for so many steps."""


# Training


class OnFormulas(Workload):
    """Training steps on formulas that all have one length."""

    grows: ClassVar[str]
    """the setting whose value is the size; the others are fields"""

    def at(self, value: int, methods: Sequence[str], steps: int, device: torch.device) -> Work:
        given = {**vars(self), self.grows: value}
        batch_size = given["batch_size"]
        data = embedded(train=BATCHES * batch_size, test=1, lengths={given["length"]: 1})
        reasoner = reasoner_of(data.examples(data.train).to(device))
        make = partial(NETWORKS[given["network"]], len(GRAMMAR.symbols))
        settings = Settings(batch_size, learning_rate=STILL)
        makers = {name: self.method(name, value) for name in methods}
        return value, training_steps(makers, reasoner, make, settings, steps)

    def method(self, name: str, value: int) -> MakeMethod:
        return METHODS[name]


@dataclass(frozen=True)
class FormulaLength(OnFormulas):
    """Longer formulas."""

    unit: ClassVar[str] = "symbols of a formula"
    grows: ClassVar[str] = "length"

    batch_size: int = 64
    network: str = "small"


@dataclass(frozen=True)
class BatchSize(OnFormulas):
    """More formulas."""

    unit: ClassVar[str] = "formulas in a step"
    grows: ClassVar[str] = "batch_size"

    length: int = 7
    network: str = "small"


@dataclass(frozen=True)
class WalkSteps(OnFormulas):
    """More steps of back-search, by m-BS."""

    unit: ClassVar[str] = "steps of back-search"
    grows: ClassVar[str] = "walk_steps"
    known_methods: ClassVar[Sequence[str]] = ("m-bs",)

    batch_size: int = 64
    length: int = 7
    network: str = "small"

    def method(self, name: str, value: int) -> MakeMethod:
        return multi_step(ChainSettings(steps=value))


@dataclass(frozen=True)
class ProgramLength(Workload):
    """Training steps on embedded questions whose programs all have one number of modules."""

    unit: ClassVar[str] = "modules of a program"

    batch_size: int = 64
    network: str = "small"

    def at(self, value: int, methods: Sequence[str], steps: int, device: torch.device) -> Work:
        config = TrainCLEVR(network=self.network, batch_size=self.batch_size, learning_rate=STILL)
        data = load_questions(config.data)
        numbers = (data.train.modules.lengths == value).nonzero().flatten()[: BATCHES * self.batch_size]
        tables = SceneTables.of(data.scenes).to(device)
        part = part_of(config, data.train.select(numbers), tables, device)
        if len(part.examples) < self.batch_size:
            raise NGSError(
                f"{len(part.examples)} of the {data.name} questions have programs of {value} modules, and a "
                f"step needs {self.batch_size}; give another length, or a smaller batch"
            )
        makers = {method: replace(config, method=method).make_method() for method in methods}
        reasoner = part.reasoner(config.edits, config.effort)
        make = partial(PointerNetwork, len(part.questions.vocabulary), len(MODULES), size=SIZES[self.network])
        return value, training_steps(makers, reasoner, make, config.settings, steps)


# Parsing


def _best(grammar: Grammar, log_probs: Tensor) -> None:
    independent(grammar, log_probs).best()


def _log_partition(grammar: Grammar, log_probs: Tensor) -> None:
    """With its gradient, as in training."""
    independent(grammar, log_probs.detach().requires_grad_()).log_z.sum().backward()  # type: ignore[no-untyped-call]


PARSERS: Mapping[str, Callable[[Grammar, Tensor], None]] = {"best": _best, "log_partition": _log_partition}


class Parsing(Workload):
    """Parsing by larger grammars of formulas. Sizes are counted in rules."""

    unit: ClassVar[str] = "rules"
    known_methods: ClassVar[Sequence[str]] = tuple(PARSERS)
    grows: ClassVar[str]
    """the setting whose value is given for a size; the others are fields"""

    def at(self, value: int, methods: Sequence[str], steps: int, device: torch.device) -> Work:
        given = {**vars(self), self.grows: value}
        grammar = formula_grammar(given["levels"], given["digits"])
        generator = torch.Generator().manual_seed(0)
        logits = torch.randn(given["batch_size"], given["length"], len(grammar.symbols), generator=generator)
        log_probs = logits.log_softmax(-1).to(device)
        parsers = {method: partial(PARSERS[method], grammar, log_probs) for method in methods}
        return len(grammar.rules), parsers


@dataclass(frozen=True)
class PrecedenceLevels(Parsing):
    """More levels of operators, two operators on each: more rules, and longer chains of them.

    Two levels and ten digits are the grammar of formulas.
    """

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
