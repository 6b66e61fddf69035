"""How many of some examples are right, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ngs.tasks.trainable import MetricsView


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
    """The 95% interval of a share (Wilson 1927): every p within 1.96 of its standard errors of what was seen.

    >>> [round(end, 3) for end in wilson(9, 10)]
    [0.596, 0.982]
    """
    if not of:
        return 0.0, 1.0
    from scipy.stats import binomtest  # here: it is slow to import

    interval = binomtest(right, of).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)
