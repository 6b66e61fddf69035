"""What an objective gives for a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor


@dataclass(frozen=True)
class Loss:
    """The number to make smaller, and what else a step found out, as scalars for the record."""

    value: Tensor
    measures: Mapping[str, Tensor] = field(default_factory=dict)
