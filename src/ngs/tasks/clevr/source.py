"""Where questions about scenes come from: the embedded generator, or a packed file."""

from __future__ import annotations

import torch

from ngs.tasks.clevr import packed
from ngs.tasks.clevr.dataset import Questions, VisualQuestions
from ngs.tasks.clevr.embedded import embedded
from ngs.tasks.source import EMBEDDED, dealt, packed_file


def load(source: str) -> VisualQuestions:
    """The data set of a packed file, or the embedded one."""
    return embedded() if source == EMBEDDED else packed.read(packed_file(source, EMBEDDED, "FOLDER"))


def divided(questions: Questions, share: float, seed: int) -> tuple[Questions, Questions]:
    """A random share of the questions, the same of each number of modules, and the rest."""
    chosen, rest = map(torch.from_numpy, dealt(questions.modules.lengths.numpy(), share, seed))
    return questions.select(chosen), questions.select(rest)
