"""Two kinds of examples in equal shares in every batch."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ngs.errors import NGSError
from ngs.learning.loop import Batch, TrainingSet


@dataclass(frozen=True, eq=False)
class Mixed:
    """Examples of two kinds. An epoch has each of the larger kind once, and repeats those of the other."""

    examples: TrainingSet
    first: int  # how many are of the first kind

    def __post_init__(self) -> None:
        if not 0 < self.first < len(self.examples):
            raise NGSError(
                f"{self.first} of {len(self.examples)} examples are of the first kind; give some of both"
            )

    @cached_property
    def shown(self) -> NDArray[np.int64]:
        """The examples of an epoch: first all of the one kind, then all of the other."""
        kinds = np.split(np.arange(len(self.examples)), [self.first])
        return np.concatenate([np.resize(kind, max(map(len, kinds))) for kind in kinds])

    def __len__(self) -> int:
        return len(self.shown)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The kind in place of a length: `Order` gives every batch its share of each."""
        return np.repeat(np.arange(2), len(self) // 2)

    def batch(self, numbers: NDArray[np.int64]) -> Batch:
        return self.examples.batch(self.shown[numbers])
