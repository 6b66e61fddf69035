"""What can be trained, as the rest of the package sees it: commands, runs, reports and sweeps ask only this.

`Trainable` says what is learned and how it is shown; it is there before PyTorch is loaded. `Prepared` is the
same with its data, for one run. A task with a grammar and a semantics is a `Task` (`task.py`), which needs no
code for either.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Sized
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from ngs.errors import NGSError
from ngs.tasks.settings import RunSettings

if TYPE_CHECKING:
    import torch
    from torch import nn

    from ngs.learning.loop import Augmentation, Lesson
    from ngs.tasks.costs.step_cost import StepCost
    from ngs.tasks.playground.view import Server, View
    from ngs.tasks.report.report import Report
    from ngs.tasks.results.experiment import Experiment


class Metrics(Protocol):
    """How good a network is."""

    @property
    def accuracy(self) -> float:
        """The share of right answers, by which the network is chosen."""

    def as_facts(self) -> dict[str, Any]:
        """All of it, for JSON: `examples`, shares by name, and the same for groups of examples."""


@dataclass(frozen=True)
class MetricsView:
    """What the facts of a task's metrics hold, and how they are shown."""

    shares: Mapping[str, str] = field(
        default_factory=lambda: {name: f"{name} right" for name in ("answers", "sentences", "symbols")}
    )
    """the name of each share -> its heading; first the right answers, by which networks are compared"""
    groups: Mapping[str, str] = field(default_factory=lambda: {"by_length": "length"})
    """what the same is counted by -> what one group is; tables have a row for each of the first"""
    examples: str = "examples"
    """what is counted"""
    columns: tuple[str, ...] | None = None
    """the shares that tables show; None: all"""
    progress: Mapping[str, str] = field(default_factory=lambda: {"answers": "answers", "symbols": "symbols"})
    """the shares that a line of progress tells -> of what"""
    compared: Mapping[str, str] = field(default_factory=lambda: {"answers": "answers", "symbols": "symbols"})
    """the shares that `ngs compare` shows -> their headings"""
    below: Callable[[Mapping[str, Any]], Iterable[str]] = lambda facts: ()
    """lines below a table: numbers that are no shares of its rows"""

    def __post_init__(self) -> None:
        if not self.shares or not self.groups:
            raise NGSError("the metrics have no shares or no groups; tables need at least one of each")

    @property
    def answers(self) -> str:
        """The share by which networks are compared."""
        return next(iter(self.shares))

    @property
    def headings(self) -> dict[str, str]:
        """The columns of a table."""
        return {name: self.shares[name] for name in (self.columns or self.shares)}

    def line(self, facts: Mapping[str, Any]) -> str:
        """One line of progress.

        >>> MetricsView().line({"answers": 0.5, "symbols": None})
        ' 50.0% of answers right'
        """
        known = {what: facts[name] for name, what in self.progress.items() if facts[name] is not None}
        return f"{', '.join(f'{share:6.1%} of {what}' for what, share in known.items())} right"


@dataclass(frozen=True)
class TaskFile:
    """The file that a task was read from, by which a run knows it again."""

    name: str
    sha256: str


@dataclass(frozen=True)
class Source:
    """Data that experiments about a task are done with."""

    option: str
    """of `ngs reproduce`, which says where they are"""
    title: str
    path: str
    """where they are, unless somebody says otherwise"""


class Trainable:
    """What a network can learn. Subclass it for what has no grammar; otherwise make a `Task`."""

    name: str
    about: str = ""
    """what `ngs train NAME --help` says; its first sentence stands in the list of tasks"""
    settings: type[RunSettings]
    """what a run is configured by: an option for each field"""
    metrics: MetricsView = MetricsView()
    file: TaskFile | None = None
    """None of an installed task"""
    experiment_data: tuple[Source, ...] = ()
    """what `ngs reproduce` has an option for"""
    commands: Mapping[str, str] = {}
    """what it adds to the command line, once it is installed: name -> module:function, as Typer takes it.
    `predict` and `explain` are for its own runs, `data import` and `data inspect` for what it `holds`."""
    sources: str = ""
    """what `data import` takes, in words"""
    imports: Mapping[str, str] = {}
    """what is imported when a method below first needs it: name -> module:attribute"""

    @property
    def called(self) -> str:
        """What `ngs train` takes for it: its name, or its file."""
        return self.name if self.file is None else self.file.name

    @property
    def option(self) -> list[str]:
        """What other commands need to know it by."""
        return [] if self.file is None else ["--task", self.file.name]

    @property
    def title(self) -> str:
        """What is learned, in a few words: the first sentence of `about`."""
        return self.about.strip().partition(".")[0].partition(":")[0] or self.name

    def prepare(self, settings: Any, device: torch.device) -> Prepared:
        """The data of a run, cut as its settings say, and its network."""
        prepared: Prepared = self._imported("prepare")(settings, device)
        return prepared

    def evaluate(
        self, settings: Any, run: Path, data: str | None, device: torch.device
    ) -> tuple[str, Metrics]:
        """The name of the data and how good a run's network is on the test part of its data, or of other."""
        measured: tuple[str, Metrics] = self._imported("evaluate")(settings, run, data, device)
        return measured

    def digest(self, source: str) -> str:
        """The digest of the data set at `source`: the same for the same content, wherever it lies."""
        return str(self._imported("data")(source).digest)

    def report(self) -> type[Report]:
        """What a page about a run tells."""
        report: type[Report] = self._imported("report")
        return report

    def experiments(self) -> Sequence[Experiment]:
        """Tables and figures about the task, for the page of results."""
        found: Sequence[Experiment] = self._imported("experiments", ())
        return found

    def costs(self, *, quick: bool) -> Mapping[str, StepCost]:
        """Steps that are timed as their work grows, by row of the table of costs; `quick`: few and small."""
        found: Mapping[str, StepCost] = self._imported("quick costs" if quick else "costs", {})
        return found

    def playground(self, server: Server) -> View | None:
        """What `ngs serve` shows of it besides its runs, if anything; called when a server starts."""
        view: View | None = self._imported("playground", lambda task, server: None)(self, server)
        return view

    def holds(self, source: Path, options: Collection[str]) -> bool:
        """Whether a file or folder has data of this task. `options` are given with it: `--scenes`, ..."""
        return False

    def products(self) -> AbstractContextManager[None]:
        """How matrices are multiplied on a GPU. Charts and programs have small whole numbers only, which
        `rounded_products` leaves as they are."""
        from ngs.gpu import rounded_products

        return rounded_products()

    def _imported(self, what: str, otherwise: Any = None) -> Any:
        if what in self.imports:
            module, _, attribute = self.imports[what].partition(":")
            return getattr(import_module(module), attribute)
        if otherwise is None:
            raise NGSError(f"the task {self.name} has no {what}; name it in `imports`, or write the method")
        return otherwise


DataT = TypeVar("DataT")
PartT = TypeVar("PartT")
ExamplesT = TypeVar("ExamplesT", bound=Sized)


@dataclass(frozen=True, eq=False)
class Parts(Generic[DataT, PartT]):
    """A data set cut as a configuration says."""

    data: DataT
    """with a `name`, and a `digest` that tells data sets apart that stand in the same place"""
    train: PartT
    validation: PartT
    """held out from the training examples; chooses the network"""
    test: PartT


def cut(
    settings: RunSettings,
    given: ExamplesT,
    test: ExamplesT,
    divided: Callable[[ExamplesT, float, int], tuple[ExamplesT, ExamplesT]],
    what: str,
) -> tuple[ExamplesT, ExamplesT, ExamplesT]:
    """What to train, choose and test on. The cut depends on the data alone, so that runs can be compared."""
    used, _ = divided(given, settings.fraction, 0)
    held_out, train = divided(used, settings.validation, 1)
    for purpose, part in (("train", train), ("validate", held_out), ("test", test)):
        if not len(part):
            raise NGSError(f"no {what} are left to {purpose} on; use more of the data, or other data")
    return train, held_out, test


class Prepared(ABC):
    """A task with its data and its network, for one run."""

    measure: ClassVar[staticmethod[[nn.Module, Any], Metrics]]
    """how good a network is on one part"""
    settings: Any
    parts: Any
    device: torch.device

    @property
    def augment(self) -> Augmentation | None:
        """How what the network sees is changed in training."""
        return None

    @property
    @abstractmethod
    def held_out(self) -> int:
        """How many examples of the validation part choose the network."""

    @abstractmethod
    def network(self) -> nn.Module:
        """Not trained yet."""

    @abstractmethod
    def network_facts(self) -> dict[str, Any]:
        """What must be known to build the network again."""

    @abstractmethod
    def lessons(self) -> Sequence[Lesson]: ...

    def result_facts(self) -> dict[str, Any]:
        """What else belongs to a result."""
        return {}

    def validate(self, network: nn.Module) -> Metrics:
        return self.measure(network, self.parts.validation)

    def test(self, network: nn.Module) -> Metrics:
        return self.measure(network, self.parts.test)
