"""What is counted in the scores of each task, by the names that its facts have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ngs.tasks.clevr.scenes import ATTRIBUTES


class Counted(NamedTuple):
    """What a task counts in its scores."""

    shares: tuple[str, ...]
    """of right answers, by which networks are chosen and compared; then those that only labels can tell"""
    groups: tuple[str, ...]
    """what the same is counted by"""

    @property
    def answers(self) -> str:
        return self.shares[0]


COUNTED: Mapping[str, Counted] = {
    "hwf": Counted(("calculation", "formula", "symbol"), ("by_length",)),
    "clevr": Counted(("answers", "programs", "equivalent"), ("by_kind", "by_length")),
    "scenes": Counted(
        ("objects_right", "found", "precision", *ATTRIBUTES, "relations", "pictures_right"), ("by_objects",)
    ),
}
"""By the task of a run."""
