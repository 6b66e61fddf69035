"""Where handwritten formulas come from: the embedded synthesiser, or a packed file."""

from __future__ import annotations

import random
from pathlib import Path

from ngs.errors import DataError, NGSError
from ngs.tasks.hwf import packed
from ngs.tasks.hwf.archive import is_archive
from ngs.tasks.hwf.dataset import Formulas, HandwrittenFormulas
from ngs.tasks.hwf.embedded import embedded

EMBEDDED = "embedded"


def load(source: str) -> HandwrittenFormulas:
    """The data set of a packed file, or the embedded one."""
    if source == EMBEDDED:
        return embedded()
    if not Path(source).exists():
        raise DataError(
            f"{source}: there is no such file; give {EMBEDDED!r} or what `ngs data import ARCHIVE` made"
        )
    if is_archive(Path(source)):
        raise DataError(f"{source} is not packed yet; first `ngs data import {source}`")
    return packed.read(Path(source))


def divided(formulas: Formulas, share: float, seed: int) -> tuple[Formulas, Formulas]:
    """A random share of the formulas, the same of each length, and the rest."""
    if not 0 <= share <= 1:
        raise NGSError(f"the share is {share}; it must be from 0 to 1")
    chosen: list[int] = []
    lengths = formulas.lengths.tolist()
    for length in sorted(set(lengths)):
        group = [k for k, other in enumerate(lengths) if other == length]
        random.Random(f"{seed} {length}").shuffle(group)
        chosen += group[: round(share * len(group))]
    taken = set(chosen)
    return formulas.select(sorted(taken)), formulas.select([k for k in range(len(lengths)) if k not in taken])
