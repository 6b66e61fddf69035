"""A task as one value: a grammar, a semantics, data and a network, and what is special about them.

    task = ngs.Task(
        name="sums",
        grammar=ngs.Grammar.parse('start: digit "+" digit ...'),
        semantics=Sums,
        data=lambda settings: ngs.Splits(train, test),
        network=lambda settings: ngs.LeNet(len(grammar.symbols)),
    )

In a file of its own, `ngs train my_task.py` gives it all that the tasks of the paper have.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ngs.errors import NGSError
from ngs.grammar.constraint import Constraint
from ngs.grammar.grammar import Grammar
from ngs.grammar.padding import PAD
from ngs.grammar.prefix_constraint import Automaton
from ngs.learning.examples import Examples, Pool
from ngs.learning.fit import check_labels, check_network
from ngs.learning.loop import Augmentation, Lesson
from ngs.learning.methods import Objective
from ngs.learning.metrics import SHARES, Scores, measure, read_all
from ngs.parsing.sentence import find_tree
from ngs.processes import own_seed
from ngs.reasoning.semantics import Meaning, evaluate
from ngs.search.back_search import Judge
from ngs.search.edits import Edits, Substitute
from ngs.search.judges import ReferenceJudge
from ngs.search.reasoner import MakeJudge, Reasoner, autoregressive_reasoner, reasoner
from ngs.tasks.report.readings import Readings, some_of
from ngs.tasks.report.report import AnswersReport
from ngs.tasks.report.sections import as_picture
from ngs.tasks.run_folder import BEST, check_data, read_network
from ngs.tasks.settings import TaskSettings, WriterSettings
from ngs.tasks.source import dealt
from ngs.tasks.trainable import MetricsView, Parts, Prepared, TaskFile, Trainable, cut


class PreparedAnswers(Prepared):
    """A task that is learned from answers, by any of the methods, with its data."""

    settings: TaskSettings

    @property
    def held_out(self) -> int:
        return len(self.parts.validation.examples)

    @property
    def reasoner(self) -> Reasoner:
        """Of the training examples."""
        reasons: Reasoner = self.parts.train
        return reasons

    @abstractmethod
    def readings(self, run: Path, file: str, part: str, limit: int | None) -> Readings:
        """What a network of a run reads in at most `limit` examples of a part; the same ones each time."""

    def check(self, run: Path) -> None:
        """A DataError where these are not the data that a run was trained on."""
        data = self.parts.data
        check_data(run / BEST, self.settings.data, data.digest)

    def lessons(self) -> list[Lesson]:
        settings, reasons = self.settings, self.reasoner
        generator = torch.Generator(self.device).manual_seed(own_seed(settings.seed, "objective"))
        objective = Objective(settings.make_method()(reasons.examples), reasons, generator)
        return [Lesson(settings.method, reasons.examples, objective, settings.steps)]


@dataclass(frozen=True, eq=False)
class Splits:
    """Examples to learn from and to be tested on.

    >>> examples = Examples.of([torch.zeros(1, 4), torch.zeros(3, 4)], answers=[7, 2])
    >>> Splits(train=examples, test=examples, name="the same twice").name
    'the same twice'
    """

    train: Examples
    """part of them is held out, to choose the network by: `--validation` says how large a share"""
    test: Examples
    name: str = "examples"
    """of the data set, in tables and reports"""

    @cached_property
    def digest(self) -> str:
        """Of inputs, answers and labels: tells data sets apart that have the same name."""
        hasher = hashlib.sha256()
        for piece in _contents((self.train, self.test)):
            hasher.update(piece)
        return hasher.hexdigest()


def _contents(value: Any) -> Iterator[bytes]:
    """What a value is made of: the bytes of its tensors, and the representations of the rest."""
    if isinstance(value, Tensor):
        yield f"{value.dtype} {list(value.shape)} ".encode()
        yield value.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes()
    elif is_dataclass(value) and not isinstance(value, type):
        for part in fields(value):
            yield part.name.encode()
            yield from _contents(getattr(value, part.name))
    elif isinstance(value, np.ndarray):
        yield from _contents(torch.from_numpy(value))
    elif isinstance(value, Mapping):
        yield from _contents(tuple(value.items()))
    elif isinstance(value, tuple | list):
        yield f"{len(value)} ".encode()
        for each in value:
            yield from _contents(each)
    elif isinstance(value, set | frozenset):  # their order differs from process to process
        yield from sorted(b"".join(_contents(each)) for each in value)
    elif callable(value):
        yield getattr(value, "__qualname__", type(value).__qualname__).encode()
    elif "__repr__" not in {name for kind in type(value).__mro__[:-1] for name in vars(kind)}:
        raise NGSError(
            f"data have a {type(value).__name__}, which nothing tells apart; make it a "
            f"dataclass, or give it a __repr__ that says what is in it"
        )
    else:
        yield repr(value).encode()


@dataclass(frozen=True, eq=False)
class Task(Trainable):
    """A task of your own, for `ngs.train`, `ngs train FILE` and all commands that show what was learned.

    `data` and `network` are called with the settings of the run, so that options can change them. A network
    that sees each symbol by itself maps inputs [input, ...] to scores [input, symbol]; its examples are
    `Examples.of(...)`. One that writes a sentence gets inputs as a whole (`ngs.Stacked`) and returns an
    `ngs.Decoder`; `constraint` then says which symbols may come next.

    >>> from ngs import Arithmetic, arithmetic_grammar
    >>> grammar = arithmetic_grammar()
    >>> images = [torch.eye(14)[grammar.encode(text)] for text in ("1+2", "7", "2*3", "4")]
    >>> examples = Examples.of(images, answers=[3, 7, 6, 4])
    >>> task = Task(
    ...     name="sums",
    ...     grammar=grammar,
    ...     semantics=Arithmetic,
    ...     data=lambda settings: Splits(train=examples, test=examples),
    ...     network=lambda settings: nn.Linear(14, 14),
    ... )
    >>> task.settings(steps=5).steps
    5
    """

    name: str
    """made of letters, digits, - and _: runs are named after it"""
    grammar: Grammar
    semantics: Meaning
    data: Callable[[Any], Splits]
    network: Callable[[Any], nn.Module]
    settings: type[TaskSettings] = TaskSettings
    """what a run is configured by; a subclass adds options, each made with `ngs.setting`"""
    about: str = "A task of your own."
    edits: Edits | None = None
    """what one step of back-search may change; None: one symbol"""
    constraint: Callable[[Grammar], Constraint[Any]] = Automaton
    """which symbols a network that writes sentences may write next"""
    judge: MakeJudge | None = None
    """which sentences give their answer; None: tables of all values, or the semantics sentence by sentence"""
    augment: Augmentation | None = None
    """other views of the inputs that mean the same, for training"""
    show: Callable[[Any], str] = as_picture
    """what a report shows of the inputs of one example, [time, ...] or whole: text or markup"""
    metrics: MetricsView = field(default_factory=MetricsView)
    commands: Mapping[str, str] = field(default_factory=dict)
    file: TaskFile | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.name or set(self.name) - set(_LETTERS):
            raise NGSError(
                f"the task's name is {self.name!r}; runs are named after it: use letters, digits, - and _"
            )
        for name in ("data", "network"):
            if not callable(getattr(self, name)) or isinstance(getattr(self, name), nn.Module):
                raise NGSError(
                    f"{name} is a {type(getattr(self, name)).__name__}; give a function of the settings that "
                    f"makes it: {name}=lambda settings: ..."
                )
        if isinstance(self.semantics, FunctionType):
            raise NGSError(
                "semantics is a function; give the class or an instance of it: it does not depend on settings"
            )
        if tuple(self.metrics.shares) != SHARES:
            raise NGSError(
                f"the metrics have the shares {', '.join(self.metrics.shares)}; a task has "
                f"{', '.join(SHARES)}: give each a heading of yours"
            )
        if not (isinstance(self.settings, type) and issubclass(self.settings, TaskSettings)):
            raise NGSError(
                f"settings is {self.settings!r}; give ngs.TaskSettings or a subclass, not an instance"
            )

    def prepare(self, settings: TaskSettings, device: torch.device) -> PreparedTask:
        return PreparedTask(self, settings, device)

    def evaluate(
        self, settings: TaskSettings, run: Path, data: str | None, device: torch.device
    ) -> tuple[str, Scores]:
        splits = self.splits(settings if data is None else replace(settings, data=data))
        network, _ = self.trained(settings, run)
        if data is None:
            check_data(run / BEST, settings.data, splits.digest)
        return splits.name, measure(network.to(device), self.reasoner(splits.test.to(device), settings))

    def report(self) -> type[AnswersReport]:
        return AnswersReport

    def digest(self, source: str) -> str:
        return self.splits(self.settings(data=source)).digest

    def splits(self, settings: TaskSettings) -> Splits:
        """The data of a run; an NGSError says where `data` makes something else."""
        if settings.data and not type(settings).data:
            raise NGSError(
                f"the data are {settings.data!r}, and this task makes its own; leave --data out, or give the "
                f"task settings with a field `data`"
            )
        found = self.data(settings)
        if not isinstance(found, Splits):
            raise NGSError(
                f"the task's data are a {type(found).__name__}; return ngs.Splits(train=..., test=...)"
            )
        return found

    def trained(self, settings: TaskSettings, run: Path, name: str = BEST) -> tuple[nn.Module, Any]:
        """What a run learned, ready to read, and the facts kept with it."""
        return read_network(run / name, self.name, self.network_facts(), lambda facts: self.network(settings))

    def network_facts(self) -> dict[str, Any]:
        """What a network must know to be one of this task."""
        return {"symbols": list(self.grammar.symbols)}

    def reasoner(self, examples: Examples, settings: TaskSettings) -> Reasoner:
        """What learning asks about some examples."""
        if isinstance(examples.inputs, Pool):
            return reasoner(self.grammar, self.semantics, examples, judge=self.judge, edits=self.edits)
        effort = settings.effort if isinstance(settings, WriterSettings) else None
        constraint = self.constraint(self.grammar).to(examples.device)
        _check_lengths(constraint, examples)
        return autoregressive_reasoner(
            self.grammar,
            constraint,
            examples,
            self._judge_of(examples),
            Substitute(self.grammar, examples.time) if self.edits is None else self.edits,
            effort=effort,
        )

    def _judge_of(self, examples: Examples) -> Judge:
        if self.judge is not None:
            return self.judge(self.grammar, examples)
        return ReferenceJudge(self.grammar, self.semantics, examples.answers)


def _check_lengths(constraint: Constraint[Any], examples: Examples) -> None:
    impossible = (~constraint.possible(examples.given)).nonzero()
    if len(impossible):
        number = int(impossible[0])
        raise NGSError(
            f"no sentence fits what is known of example {number}, which is to have "
            f"{examples.lengths[number]} symbols; change the lengths of the examples, or the grammar"
        )


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"


def divided(examples: Examples, share: float, seed: int) -> tuple[Examples, Examples]:
    """A random share of the examples, the same of each length, and the rest."""
    chosen, rest = dealt(np.asarray(examples.lengths), share, seed, at_least=1)
    return examples.select(chosen), examples.select(rest)


FIRST = 20
"""Examples whose labels are looked at before training."""


def _check_answers(task: Task, reasons: Reasoner) -> None:
    """An NGSError where none of the first labels gives its answer: answers or functions are then wrong."""
    examples: Examples = reasons.examples
    if examples.labels is None:
        return
    rows = torch.arange(min(FIRST, len(examples)), device=examples.device)
    if bool(reasons.judge(rows, examples.labels[rows].long()).any()):
        return
    sentence = task.grammar.decode(symbol for symbol in examples.labels[0].tolist() if symbol != PAD)
    tree = find_tree(task.grammar, sentence)
    means = (
        "no sentence of the grammar"
        if tree is None
        else f"{evaluate(tree, task.semantics)!r} by your functions"
    )
    raise NGSError(
        f"an example is labelled {' '.join(sentence)}, which is {means}, and its answer is "
        f"{examples.answers[0]!r}; so it is with the first {len(rows)}: change the labels, the answers "
        f"or the functions"
    )


class PreparedTask(PreparedAnswers):
    """A `Task` with its data and its network."""

    measure = staticmethod(measure)
    parts: Parts[Splits, Reasoner]

    def __init__(self, task: Task, settings: TaskSettings, device: torch.device) -> None:
        self.task, self.settings, self.device = task, settings, device
        data = task.splits(settings)
        for part in (data.train, data.test):
            check_labels(task.grammar, part)
        parts = cut(settings, data.train, data.test, divided, "examples")
        self.parts = Parts(data, *(task.reasoner(part.to(device), settings) for part in parts))
        _check_answers(task, self.parts.train)

    @property
    def augment(self) -> Augmentation | None:
        return self.task.augment

    def network(self) -> nn.Module:
        network = self.task.network(self.settings)
        if not isinstance(network, nn.Module):
            raise NGSError(
                f"the task's network is a {type(network).__name__}; return a torch.nn.Module from a "
                f"function of the settings: network=lambda settings: ..."
            )
        check_network(network.to(self.device), self.task.grammar, self.reasoner.examples)
        return network

    def network_facts(self) -> dict[str, Any]:
        return self.task.network_facts()

    def readings(self, run: Path, file: str, part: str, limit: int | None) -> Readings:
        every: Examples = getattr(self.parts, part).examples
        chosen = some_of(len(every), limit)
        reasons = self.task.reasoner(every.select(chosen), self.settings)
        network, _ = self.task.trained(self.settings, run, file)
        reading = read_all(network, reasons)
        task = self.task
        return Readings(
            task.grammar, reasons, network, reading, len(every), chosen, task.semantics, task.show
        )
