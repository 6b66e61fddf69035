"""A task as a training run sees it: what to train, on what, and how good it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence, Sized
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import torch
from torch import nn

from ngs.errors import NGSError
from ngs.experiments.config import TrainCLEVR, TrainHWF, Training
from ngs.gpu import rounded_products
from ngs.learning.loop import Augmentation, Lesson
from ngs.learning.methods import Objective
from ngs.processes import own_seed
from ngs.search.reasoner import Reasoner


class Marks(Protocol):
    """How good a network is."""

    @property
    def accuracy(self) -> float:
        """The share of right answers, by which the network is chosen."""

    def as_facts(self) -> dict[str, object]:
        """All of it, for JSON."""


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
    config: Training,
    given: ExamplesT,
    test: ExamplesT,
    divided: Callable[[ExamplesT, float, int], tuple[ExamplesT, ExamplesT]],
    what: str,
) -> tuple[ExamplesT, ExamplesT, ExamplesT]:
    """What to train, choose and test on. The cut depends on the data alone, so that runs can be compared."""
    used, _ = divided(given, config.fraction, 0)
    held_out, train = divided(used, config.validation, 1)
    for purpose, part in (("train", train), ("validate", held_out), ("test", test)):
        if not len(part):
            raise NGSError(f"no {what} are left to {purpose} on; use more of the data, or other data")
    return train, held_out, test


class Course(ABC):
    """The data of a run, cut as its configuration says, and its network."""

    parts_of: ClassVar[staticmethod[[Any, torch.device], Parts[Any, Any]]]
    """what to train, choose and test on"""
    measure: ClassVar[staticmethod[[nn.Module, Any], Marks]]
    """how good a network is on one part"""
    config: Any
    parts: Any

    def __init__(self, config: Training, device: torch.device) -> None:
        self.config, self.device, self.parts = config, device, self.parts_of(config, device)

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

    @staticmethod
    @abstractmethod
    def evaluate(config: Any, folder: Path, data: str | None, device: torch.device) -> tuple[str, Marks]:
        """The name of the data and the test scores of a run's network, on its own data or on other."""

    @staticmethod
    def products() -> AbstractContextManager[None]:
        """How matrices are multiplied on a GPU. Engines of formulas and programs have small whole numbers
        only, which `rounded_products` leaves as they are."""
        return rounded_products()

    @abstractmethod
    def result_facts(self) -> dict[str, Any]:
        """What else belongs to a result."""

    def validate(self, network: nn.Module) -> Marks:
        return self.measure(network, self.parts.validation)

    def test(self, network: nn.Module) -> Marks:
        return self.measure(network, self.parts.test)


class AnswersCourse(Course):
    """A task that is learned from answers, by any of the methods."""

    config: TrainHWF | TrainCLEVR

    @property
    def held_out(self) -> int:
        return len(self.parts.validation.examples)

    @property
    @abstractmethod
    def reasoner(self) -> Reasoner:
        """Of the training examples."""

    def lessons(self) -> list[Lesson]:
        config, reasoner = self.config, self.reasoner
        generator = torch.Generator(self.device).manual_seed(own_seed(config.seed, "objective"))
        objective = Objective(config.make_method()(reasoner.examples), reasoner, generator)
        return [Lesson(config.method, reasoner.examples, objective, config.steps)]
