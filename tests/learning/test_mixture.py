"""Two kinds of examples: every batch is half of each, and an epoch shows all."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ngs.errors import NGSError
from ngs.learning.loop import Order
from ngs.learning.mixture import Mixed


class Numbered(list[int]):
    """Examples that are their own numbers."""

    def batch(self, numbers: NDArray[np.int64]) -> list[int]:
        return [self[number] for number in numbers]


@pytest.mark.parametrize("first, others", [(3, 12), (12, 3), (5, 5), (1, 7)])
def test_every_batch_is_half_of_each_kind_and_an_epoch_shows_all(first: int, others: int) -> None:
    mixed = Mixed(Numbered(range(first + others)), first)
    assert len(mixed) == len(mixed.lengths) == 2 * max(first, others)
    order = Order(mixed.lengths, 2, seed=0)
    seen: list[int] = []
    for step in range(len(mixed) // 2):
        batch = mixed.batch(order(step))
        assert sum(number < first for number in batch) == 1, f"batch {step}"
        seen += batch
    assert set(seen) == set(range(first + others))


@pytest.mark.parametrize("first", [0, 4])
def test_a_mixture_of_one_kind_is_refused(first: int) -> None:
    with pytest.raises(NGSError, match="give some of both"):
        Mixed(Numbered(range(4)), first)
