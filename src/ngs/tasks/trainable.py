"""What can be trained: commands, runs, reports and sweeps ask only this.

`Trainable` says what is learned and how it is shown, without PyTorch. `Prepared` is the same with its data,
for one run. A task with a grammar and a semantics is a `Task` (`task.py`), which needs no code for either.
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
    """Measures of a network on some examples."""

    @property
    def accuracy(self) -> float:
        """The share of right answers, by which the network is chosen."""

    def as_facts(self) -> dict[str, Any]:
        """For JSON: `examples`, shares by name, and the same for groups of examples."""


@dataclass(frozen=True)
class MetricsView:
    """The content of a task's metrics, and how it is shown."""

    shares: Mapping[str, str] = field(
        default_factory=lambda: {name: f"{name} right" for name in ("answers", "sentences", "symbols")}
    )
    """the heading of each share, first that of right answers, by which networks are compared"""
    groups: Mapping[str, str] = field(default_factory=lambda: {"by_length": "length"})
    """the groups with the same shares -> the name of a group; the first are the rows of tables"""
    examples: str = "examples"
    """the word for examples"""
    columns: tuple[str, ...] | None = None
    """shares in tables; None: all"""
    progress: Mapping[str, str] = field(default_factory=lambda: {"answers": "answers", "symbols": "symbols"})
    """shares in a line of progress -> their nouns"""
    compared: Mapping[str, str] = field(default_factory=lambda: {"answers": "answers", "symbols": "symbols"})
    """shares in `ngs compare` -> their headings"""
    below: Callable[[Mapping[str, Any]], Iterable[str]] = lambda facts: ()
    """lines below a table, for other numbers"""

    def __post_init__(self) -> None:
        if not self.shares or not self.groups:
            raise NGSError("the metrics have no shares or no groups; tables need at least one of each")

    @property
    def answers(self) -> str:
        """The share by which networks are compared."""
        return next(iter(self.shares))

    @property
    def headings(self) -> dict[str, str]:
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
    """The file of a task, by which a run recognises it."""

    name: str
    sha256: str


@dataclass(frozen=True)
class Source:
    """Data that experiments need."""

    option: str  # the option of `ngs reproduce` for their path
    title: str
    path: str  # the default path


class Trainable:
    """Something to learn. Subclass it if there is no grammar; otherwise make a `Task`."""

    name: str
    about: str = ""
    """the help of `ngs train NAME`; its first sentence is in the list of tasks"""
    settings: type[RunSettings]
    """the settings of a run: an option for each field"""
    metrics: MetricsView = MetricsView()
    file: TaskFile | None = None
    """None for an installed task"""
    experiment_data: tuple[Source, ...] = ()
    """each has an option of `ngs reproduce`"""
    commands: Mapping[str, str] = {}
    """what it adds to the command line, once it is installed: name -> module:function, as Typer takes it.
    `predict` and `explain` are for its own runs, `data import` and `data inspect` for what it `holds`."""
    sources: str = ""
    """the sources for `data import`, in words"""
    imports: Mapping[str, str] = {}
    """parts imported when first needed: name -> module:attribute"""

    @property
    def called(self) -> str:
        """Its name or its file, for `ngs train`."""
        return self.name if self.file is None else self.file.name

    @property
    def option(self) -> list[str]:
        """The option by which other commands know it."""
        return [] if self.file is None else ["--task", self.file.name]

    @property
    def title(self) -> str:
        """The first sentence of `about`."""
        return self.about.strip().partition(".")[0].partition(":")[0] or self.name

    def prepare(self, settings: Any, device: torch.device) -> Prepared:
        """The data of a run, cut as its settings say, and its network."""
        prepared: Prepared = self._imported("prepare")(settings, device)
        return prepared

    def evaluate(
        self, settings: Any, run: Path, data: str | None, device: torch.device
    ) -> tuple[str, Metrics]:
        """The name of the data and a network's metrics on the test part of its own data, or of others."""
        measured: tuple[str, Metrics] = self._imported("evaluate")(settings, run, data, device)
        return measured

    def digest(self, source: str) -> str:
        """The digest of the content of the data set at `source`."""
        return str(self._imported("data")(source).digest)

    def report(self) -> type[Report]:
        """The class of the page about a run."""
        report: type[Report] = self._imported("report")
        return report

    def experiments(self) -> Sequence[Experiment]:
        """Experiments for the page of results."""
        found: Sequence[Experiment] = self._imported("experiments", ())
        return found

    def costs(self, *, quick: bool) -> Mapping[str, StepCost]:
        """Costs of steps by row of the table of costs; `quick`: few and small."""
        found: Mapping[str, StepCost] = self._imported("quick costs" if quick else "costs", {})
        return found

    def playground(self, server: Server) -> View | None:
        """Its part of the playground, if it has one; called when a server starts."""
        view: View | None = self._imported("playground", lambda task, server: None)(self, server)
        return view

    def holds(self, source: Path, options: Collection[str]) -> bool:
        """Whether a file or folder has data of this task; `options` are those given: `--scenes`, ..."""
        return False

    def products(self) -> AbstractContextManager[None]:
        """How a GPU multiplies matrices: rounded. The small integers of charts and programs stay exact."""
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
    """A data set, cut as the settings say."""

    data: DataT  # with a `name` and a `digest` of the content
    train: PartT
    validation: PartT  # held out from the training examples; chooses the network
    test: PartT


def cut(
    settings: RunSettings,
    given: ExamplesT,
    test: ExamplesT,
    divided: Callable[[ExamplesT, float, int], tuple[ExamplesT, ExamplesT]],
    what: str,
) -> tuple[ExamplesT, ExamplesT, ExamplesT]:
    """The parts to train, validate and test on. They depend only on the data, so that runs compare."""
    used, _ = divided(given, settings.fraction, 0)
    held_out, train = divided(used, settings.validation, 1)
    for purpose, part in (("train", train), ("validate", held_out), ("test", test)):
        if not len(part):
            raise NGSError(f"no {what} are left to {purpose} on; use more of the data, or other data")
    return train, held_out, test


class Prepared(ABC):
    """A task with its data and its network, for one run."""

    measure: ClassVar[staticmethod[[nn.Module, Any], Metrics]]  # the metrics of a network on a part
    settings: Any
    parts: Any
    device: torch.device

    @property
    def augment(self) -> Augmentation | None:
        """Changes of the inputs in training."""
        return None

    @property
    @abstractmethod
    def held_out(self) -> int:
        """The number of validation examples that choose the network."""

    @abstractmethod
    def network(self) -> nn.Module:
        """A new network."""

    @abstractmethod
    def network_facts(self) -> dict[str, Any]:
        """The facts needed to build the network again."""

    @abstractmethod
    def lessons(self) -> Sequence[Lesson]: ...

    def result_facts(self) -> dict[str, Any]:
        """More facts of a result."""
        return {}

    def validate(self, network: nn.Module) -> Metrics:
        return self.measure(network, self.parts.validation)

    def test(self, network: nn.Module) -> Metrics:
        return self.measure(network, self.parts.test)
