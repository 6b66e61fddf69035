"""Where handwritten formulas come from: the embedded synthesiser, or a packed file."""

from __future__ import annotations

import random
from typing import TypeVar

import numpy as np

from ngs.learning.examples import Examples
from ngs.tasks.hwf import packed
from ngs.tasks.hwf.archive import is_archive
from ngs.tasks.hwf.dataset import Formulas, HandwrittenFormulas
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.source import EMBEDDED, Numbers, dealt, packed_file


def load(source: str) -> HandwrittenFormulas:
    """The data set of a packed file, or the embedded one."""
    if source == EMBEDDED:
        return embedded()
    return packed.read(packed_file(source, EMBEDDED, "ARCHIVE", raw=is_archive))


DivisibleT = TypeVar("DivisibleT", Formulas, Examples)


def divided(formulas: DivisibleT, share: float, seed: int) -> tuple[DivisibleT, DivisibleT]:
    """A random share of the formulas, the same of each length, and the rest."""
    chosen, rest = dealt(np.asarray(formulas.lengths), share, seed, order=_shuffled)
    return formulas.select(chosen), formulas.select(rest)


def _shuffled(seed: int, length: int, numbers: Numbers) -> Numbers:
    """As results that were published divided them."""
    order = numbers.tolist()
    random.Random(f"{seed} {length}").shuffle(order)
    return np.array(order)
