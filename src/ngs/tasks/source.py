"""The sources of a task's data, and their division into parts."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngs.errors import DataError, NGSError
from ngs.tasks.settings import EMBEDDED as EMBEDDED  # where data may come from

Numbers = NDArray[np.int64]
Order = Callable[[int, int, Numbers], Numbers]
"""(seed, kind, numbers of that kind) -> the same numbers, shuffled"""


def packed_at(
    source: str, instead: str, argument: str, *, raw: Callable[[Path], bool] = Path.is_dir, options: str = ""
) -> Path:
    """The packed file `source`; errors suggest `instead`, or how to pack what is `raw`."""
    path = Path(source)
    if not path.exists():
        raise DataError(
            f"{source}: there is no such file; give {instead!r} or what "
            f"`ngs data import {argument}{options}` made"
        )
    if raw(path):
        raise DataError(f"{source} is not packed yet; first `ngs data import {source}{options}`")
    return path


def title(path: Path) -> str:
    """The name of a data set by its path."""
    return path.resolve().name if path.is_dir() else path.stem


def permuted(seed: int, kind: int, numbers: Numbers) -> Numbers:
    return np.random.default_rng([seed, kind]).permutation(numbers)


def dealt(
    kinds: Numbers, share: float, seed: int, *, order: Order = permuted, at_least: int = 0
) -> tuple[Numbers, Numbers]:
    """Numbers of a random share of the examples, the same of each kind, and of the rest.

    `kinds` is [example]. A share above 0 takes at least `at_least` of each kind.
    """
    if not 0 <= share <= 1:
        raise NGSError(f"the share is {share}; it must be from 0 to 1")
    taken = np.zeros(len(kinds), dtype=bool)
    for kind in np.unique(kinds):
        same = np.flatnonzero(kinds == kind)
        number = max(round(share * len(same)), at_least if share > 0 else 0)
        taken[order(seed, int(kind), same)[:number]] = True
    return np.flatnonzero(taken), np.flatnonzero(~taken)
