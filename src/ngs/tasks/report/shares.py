"""How many of some examples are right, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

from ngs.tasks.trainable import MetricsView

Z = 1.959964
"""95% of the standard normal distribution lie within this of 0."""


@dataclass(frozen=True)
class Shares:
    """How many of some examples were right."""

    examples: int
    by_name: Mapping[str, float | None]
    """of right answers first, None where there are no examples; None where nobody knows the labels"""
    groups: Mapping[str, Mapping[str, Shares]]
    """by length, and by kind where there are kinds"""

    @classmethod
    def of(cls, facts: Mapping[str, Any], view: MetricsView) -> Shares:
        """From what the `as_facts` of a task's scores made."""
        shares = {name: None if facts[name] is None else float(facts[name]) for name in view.shares}
        groups = {
            group: {str(name): cls.of(part, view) for name, part in facts.get(group, {}).items()}
            for group in view.groups
        }
        return cls(int(facts["examples"]), shares, groups)

    @property
    def answers(self) -> float | None:
        return next(iter(self.by_name.values()))

    @property
    def right(self) -> int:
        """Answers."""
        return round((self.answers or 0) * self.examples)

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.right, self.examples)


def wilson(right: int, of: int) -> tuple[float, float]:
    """The 95% interval of a share (Wilson 1927): every p within Z standard errors of what was seen.

        (p + z^2 / 2n  -+  z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)

    >>> [round(end, 3) for end in wilson(9, 10)]
    [0.596, 0.982]
    """
    if not of:
        return 0.0, 1.0
    p, square = right / of, Z * Z / of
    middle, reach = p + square / 2, Z * sqrt(p * (1 - p) / of + square / of / 4)
    return max(0.0, (middle - reach) / (1 + square)), min(1.0, (middle + reach) / (1 + square))
