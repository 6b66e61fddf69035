"""A task as a training run sees it: what to train, on what, and how good it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from torch import nn

from ngs.learning.loop import Augmentation, Lesson


class Marks(Protocol):
    """How good a network is."""

    @property
    def accuracy(self) -> float:
        """The share of right answers, by which the network is chosen."""

    def as_facts(self) -> dict[str, object]:
        """All of it, for JSON."""


class Course(Protocol):
    """The data of a run, cut as its configuration says, and its network."""

    @property
    def data_name(self) -> str: ...

    @property
    def digest(self) -> str:
        """Of the data."""

    @property
    def held_out(self) -> int:
        """Examples of the validation part, by which the network is chosen."""

    @property
    def augment(self) -> Augmentation | None: ...

    def network(self) -> nn.Module:
        """Not trained yet."""

    def network_facts(self) -> dict[str, Any]:
        """What must be known to build the network again."""

    def lessons(self) -> Sequence[Lesson]: ...

    def validate(self, network: nn.Module) -> Marks: ...

    def test(self, network: nn.Module) -> Marks: ...

    def result_facts(self) -> dict[str, Any]:
        """What else belongs to a result."""
