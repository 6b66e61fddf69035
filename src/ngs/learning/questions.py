"""Questions to learn from: words, the modules each program is made of, and a judge of programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngs.errors import ShapeError
from ngs.grammar.constraint import Constraint
from ngs.grammar.padding import PAD
from ngs.networks.decoding import Policy
from ngs.networks.pointer import Asked, Encoded

QuestionJudge = Callable[[Tensor, Tensor], Tensor]
"""(questions [program], programs [program, time]) -> bool [program]: whether f(z) = y."""


@dataclass(frozen=True, eq=False, repr=False)
class QuestionExamples:
    """In tensors on one device."""

    words: Tensor
    """int [question, word]: PAD behind the end"""
    modules: Tensor
    """int [question, module]: how many of each a program has"""
    keywords: Tensor
    """int [question, word, few]: the modules that a word speaks of; PAD where there are fewer"""
    language: Constraint[Any]
    judge: QuestionJudge
    labels: Tensor | None = None
    """int [question, time]: the true programs, for those who may see them"""

    def __post_init__(self) -> None:
        for name, part in (("modules", self.modules), ("keywords", self.keywords), ("labels", self.labels)):
            if part is not None and len(part) != len(self.words):
                raise ShapeError(f"{len(part)} rows of {name} for {len(self.words)} questions; give one each")

    def __len__(self) -> int:
        return len(self.words)

    @property
    def device(self) -> torch.device:
        return self.words.device

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """[question]: how many modules a program has."""
        counts: NDArray[np.int64] = self.modules.sum(1).cpu().numpy()
        return counts

    @cached_property
    def time(self) -> int:
        """Modules of the longest program of all."""
        return int(self.lengths.max(initial=0))

    @cached_property
    def word_counts(self) -> Tensor:
        """[question]"""
        return (self.words != PAD).sum(1)

    def batch(self, numbers: NDArray[np.int64]) -> QuestionBatch:
        rows = torch.from_numpy(numbers)
        # On a GPU every batch has the same shape: kernels are compiled for it, and do not look at padding.
        if self.device.type == "cuda":
            return self.batch_of(rows.to(self.device))
        return self._batch(rows, int(self.word_counts[rows].max()), int(self.lengths[numbers].max()))

    def batch_of(self, rows: Tensor) -> QuestionBatch:
        """The questions `rows` [row], numbers that are where the examples are and are not looked at here."""
        return self._batch(rows, self.words.shape[1], self.time)

    def _batch(self, rows: Tensor, words: int, time: int) -> QuestionBatch:
        """Cut behind so many words and modules."""
        modules = self.modules[rows].long()
        asked = Asked(
            self.words[rows, :words].long(),
            modules,
            spoken_of(self.keywords[rows, :words].long(), modules.shape[1]),
        )
        labels = None if self.labels is None else self.labels[rows, :time].long()
        return QuestionBatch(rows, asked, time, self.language, self.judge, labels)


def spoken_of(keywords: Tensor, modules: int) -> Tensor:
    """float [question, word, module]: 1 where a word speaks of a module."""
    table = torch.zeros((*keywords.shape[:2], modules + 1), device=keywords.device)
    return table.scatter_(2, torch.where(keywords == PAD, modules, keywords), 1.0)[..., :modules]


@dataclass(frozen=True, eq=False, repr=False)
class QuestionBatch:
    """Some of the questions."""

    questions: Tensor
    """[row]: which of the examples"""
    inputs: Asked
    time: int
    """modules of the longest program, or more: programs are padded to as many"""
    language: Constraint[Any]
    judge: QuestionJudge
    labels: Tensor | None
    """[row, time]"""

    def __len__(self) -> int:
        return len(self.questions)

    @cached_property
    def rows(self) -> Tensor:
        return torch.arange(len(self), device=self.questions.device)

    @cached_property
    def lengths(self) -> Tensor:
        """[row]: modules of a program"""
        return self.inputs.modules.sum(1)

    def beliefs(self, encoded: Encoded) -> Policy:
        """p(z|x) as the network that has read the questions sees it."""
        return Policy(encoded, self.language, self.time)

    def right(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Whether programs [program, time] of some rows [program] give the answer."""
        return self.judge(self.questions[rows], columns)
