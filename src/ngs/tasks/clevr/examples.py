"""Questions as examples to learn from: words, known modules, and scenes that judge programs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngs.grammar.constraint import Constraint, Given
from ngs.grammar.padding import PAD
from ngs.learning.examples import Examples
from ngs.learning.packed_file import Ragged
from ngs.networks.pointer import Asked
from ngs.search.edits import Edits
from ngs.search.reasoner import Reasoner, autoregressive_reasoner
from ngs.search.support import Effort
from ngs.tasks.clevr.batched_execution import SceneJudge, SceneTables
from ngs.tasks.clevr.dataset import NO_ANSWER, Questions
from ngs.tasks.clevr.noun_phrases import NounPhrases, switches
from ngs.tasks.clevr.program import GRAMMAR, MODULES
from ngs.tasks.clevr.scenes import ANSWERS


@dataclass(frozen=True, eq=False, repr=False)
class QuestionInputs:
    """What a network is shown of questions."""

    words: Tensor  # int [question, word]: PAD after the end
    keywords: Tensor
    """int [question, pair, 2]: the place of a word and a module that it names; PAD where there are fewer"""

    @cached_property
    def counts(self) -> Tensor:
        """[question]: how many words each has"""
        return (self.words != PAD).sum(1)

    def select(self, numbers: NDArray[np.int64]) -> QuestionInputs:
        chosen = torch.as_tensor(numbers, device=self.words.device)
        return QuestionInputs(self.words[chosen], self.keywords[chosen])

    def to(self, device: torch.device) -> QuestionInputs:
        return QuestionInputs(self.words.to(device), self.keywords.to(device))

    def batch(self, numbers: NDArray[np.int64]) -> Asked:
        rows = torch.from_numpy(numbers).to(self.words.device)
        # On a GPU all batches have one shape: kernels are compiled for it, and skip padding.
        longest = self.words.shape[1] if rows.is_cuda else int(self.counts[rows].max())
        word, module = self.keywords[rows].long().unbind(2)
        table = torch.zeros((len(rows), longest, len(MODULES) + 1), device=rows.device)
        # PAD is -1: it stands for the last module of the table, which is cut off.
        table[torch.arange(len(rows), device=rows.device)[:, None], word, module] = 1.0
        return Asked(self.words[rows, :longest].long(), table[..., : len(MODULES)])


@dataclass(frozen=True, eq=False)
class Part:
    """Questions with answers: those that can be read, and those whose modules nobody knows."""

    questions: Questions
    examples: Examples  # of `questions`, in the same order
    language: Constraint[Any]
    judge: SceneJudge
    not_understood: Questions  # they cannot be learned from, and count as wrong

    @classmethod
    def of(cls, questions: Questions, tables: SceneTables, language: Constraint[Any]) -> Part:
        """On the device of the tables, without the questions that have no answer.

        Questions whose modules make no program of the language ("red blue cubes" in the tidy one) are not
        understood either.
        """
        device = tables.words.device
        language, answered = language.to(device), questions.answers != NO_ANSWER
        counts = counts_of(questions.modules).long().to(device)
        understood = questions.understood & language.possible(Given(multiset=counts)).cpu()
        read = questions.select((answered & understood).nonzero().flatten())
        unread = questions.select((answered & ~understood).nonzero().flatten())
        judge = SceneJudge(tables, read.scenes.long().to(device), read.answers.long().to(device))
        return cls(read, _examples(read).to(device), language, judge, unread)

    def __len__(self) -> int:
        return len(self.questions) + len(self.not_understood)

    def reasoner(self, edits: Edits | None = None, effort: Effort | None = None) -> Reasoner:
        """What learning asks about these questions; by default with the edits of the paper."""
        edits = switches() if edits is None else edits
        same = NounPhrases().to(self.examples.device).meanings
        return autoregressive_reasoner(
            GRAMMAR, self.language, self.examples, self.judge, edits, same=same, effort=effort
        )


def _examples(questions: Questions) -> Examples:
    labelled = bool((questions.programs.lengths > 0).all())
    counts = counts_of(questions.modules)
    labels = questions.programs.padded()
    labels[(counts_of(questions.programs) != counts).any(1)] = PAD  # no order of the known modules
    return Examples(
        inputs_of(questions),
        tuple(ANSWERS[answer] for answer in questions.answers.tolist()),
        Given(multiset=counts),
        labels.to(torch.int8) if labelled else None,
    )


def inputs_of(questions: Questions) -> QuestionInputs:
    return QuestionInputs(questions.words.padded().int(), questions.keywords.padded().to(torch.int16))


def counts_of(modules: Ragged) -> Tensor:
    """int8 [question, module]: how many there are of each module."""
    columns = modules.padded()
    counts = torch.zeros((len(modules), len(MODULES)), dtype=torch.int8)
    return counts.scatter_add_(1, columns.clamp(min=0), (columns != PAD).to(torch.int8))
