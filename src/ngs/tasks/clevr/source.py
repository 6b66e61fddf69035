"""Where questions about scenes come from: the embedded generator, a packed file, or official files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from ngs.errors import DataError, NGSError
from ngs.tasks.clevr import official, packed
from ngs.tasks.clevr.dataset import Questions, VisualQuestions
from ngs.tasks.clevr.dictionary import modules_of
from ngs.tasks.clevr.embedded import embedded

EMBEDDED = "embedded"


def load(source: str) -> VisualQuestions:
    """The data set of a packed file, or the embedded one."""
    if source == EMBEDDED:
        return embedded()
    if not Path(source).exists():
        raise DataError(
            f"{source}: there is no such file; give {EMBEDDED!r} or what `ngs data import FOLDER` made"
        )
    if Path(source).is_dir():
        raise DataError(f"{source} is not packed yet; first `ngs data import {source}`")
    return packed.read(Path(source))


def divided(questions: Questions, share: float, seed: int) -> tuple[Questions, Questions]:
    """A random share of the questions, the same of each number of modules, and the rest."""
    if not 0 <= share <= 1:
        raise NGSError(f"the share is {share}; it must be from 0 to 1")
    lengths = questions.modules.lengths.numpy()
    taken = np.zeros(len(questions), dtype=bool)
    for length in np.unique(lengths):
        group = np.flatnonzero(lengths == length)
        order = np.random.default_rng([seed, length]).permutation(group)
        taken[order[: round(share * len(group))]] = True
    chosen, rest = (torch.from_numpy(np.flatnonzero(part)) for part in (taken, ~taken))
    return questions.select(chosen), questions.select(rest)


def read_official(
    folder: Path, *, skip_faulty: bool = False, progress: official.Progress = official.unwatched
) -> official.Reading:
    """The data set in a folder of official files, understood by the dictionary."""
    return official.read(folder, modules_of, skip_faulty=skip_faulty, progress=progress)
