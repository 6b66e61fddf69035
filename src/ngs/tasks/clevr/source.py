"""Where questions about scenes come from: the embedded generator, a packed file, or official files."""

from __future__ import annotations

from pathlib import Path

import torch

from ngs.tasks.clevr import official, packed
from ngs.tasks.clevr.dataset import Questions, VisualQuestions
from ngs.tasks.clevr.dictionary import modules_of
from ngs.tasks.clevr.embedded import embedded
from ngs.tasks.source import EMBEDDED, dealt, packed_file


def load(source: str) -> VisualQuestions:
    """The data set of a packed file, or the embedded one."""
    return embedded() if source == EMBEDDED else packed.read(packed_file(source, EMBEDDED, "FOLDER"))


def divided(questions: Questions, share: float, seed: int) -> tuple[Questions, Questions]:
    """A random share of the questions, the same of each number of modules, and the rest."""
    chosen, rest = map(torch.from_numpy, dealt(questions.modules.lengths.numpy(), share, seed))
    return questions.select(chosen), questions.select(rest)


def read_official(
    folder: Path, *, skip_faulty: bool = False, progress: official.Progress = official.unwatched
) -> official.Reading:
    """The data set in a folder of official files, understood by the dictionary."""
    return official.read(folder, modules_of, skip_faulty=skip_faulty, progress=progress)
