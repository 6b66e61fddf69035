"""Two kinds of examples in equal shares: every batch has as many of the one as of the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngs.errors import NGSError
from ngs.learning.loop import Batch, TrainingSet


@dataclass(frozen=True, eq=False)
class Mixed:
    """Examples of which the first ones are of one kind and the others of another, taken half and half.

    An epoch shows each of the more frequent kind once, and those of the other as often as that takes.
    """

    examples: TrainingSet
    first: int
    """how many are of the first kind"""

    def __post_init__(self) -> None:
        if not 0 < self.first < len(self.examples):
            raise NGSError(
                f"{self.first} of {len(self.examples)} examples are of the first kind; give some of both"
            )

    @property
    def half(self) -> int:
        return max(self.first, len(self.examples) - self.first)

    def __len__(self) -> int:
        return 2 * self.half

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The kind in place of a length: `Order` gives every batch its share of each."""
        return np.repeat(np.arange(2), self.half)

    def batch(self, numbers: NDArray[np.int64]) -> Batch:
        others = len(self.examples) - self.first
        of_first = numbers % self.first
        of_others = self.first + (numbers - self.half) % others
        return self.examples.batch(np.where(numbers < self.half, of_first, of_others))
