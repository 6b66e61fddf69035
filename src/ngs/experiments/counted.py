"""What is counted in the scores of each task, by the names that its facts have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Counted:
    """What a task counts in its scores."""

    answers: str
    """the share of right answers, by which networks are chosen and compared"""
    labels: tuple[str, ...]
    """shares that only labels can tell"""
    groups: tuple[str, ...]
    """what the same is counted by"""

    @property
    def shares(self) -> tuple[str, ...]:
        """All of them, answers first."""
        return self.answers, *self.labels


COUNTED: Mapping[str, Counted] = {
    "hwf": Counted("calculation", ("formula", "symbol"), ("by_length",)),
    "clevr": Counted("answers", ("programs", "equivalent"), ("by_kind", "by_length")),
    "scenes": Counted(
        "objects_right",
        ("found", "precision", "size", "color", "material", "shape", "relations", "pictures_right"),
        ("by_objects",),
    ),
}
"""By the task of a run."""
