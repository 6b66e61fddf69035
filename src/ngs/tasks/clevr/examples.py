"""Questions of a data set as what a network learns from: tensors, a language, and scenes that judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ngs.grammar.constraint import Constraint, Given
from ngs.grammar.padding import PAD
from ngs.learning.questions import QuestionExamples
from ngs.search.arrangement import places
from ngs.tasks.clevr.batched_execution import SceneTables, judged_batch
from ngs.tasks.clevr.dataset import NO_ANSWER, Questions, Ragged
from ngs.tasks.clevr.program import MODULES
from ngs.tasks.clevr.semantics import Unique, strict


@dataclass(frozen=True, eq=False)
class SceneJudge:
    """Whether programs give the recorded answers to questions."""

    tables: SceneTables
    scenes: Tensor
    """[question]"""
    answers: Tensor
    """[question]"""
    unique: Unique = strict

    def __call__(self, questions: Tensor, columns: Tensor) -> Tensor:
        return judged_batch(self.tables, columns, questions, self.scenes, self.answers, self.unique)


@dataclass(frozen=True, eq=False)
class Part:
    """Questions with answers: those that can be read, and those whose modules nobody knows."""

    questions: Questions
    examples: QuestionExamples
    """of `questions`, in the same order"""
    not_understood: Questions
    """they cannot be learned from, and count as wrong"""

    @classmethod
    def of(
        cls,
        questions: Questions,
        tables: SceneTables,
        language: Constraint[Any],
        device: torch.device,
        *,
        unique: Unique = strict,
    ) -> Part:
        """Without the questions that have no answer; `tables` are on the device.

        Questions whose modules make no program of the language ("red blue cubes" in the tidy one) are not
        understood either.
        """
        answered = questions.answers != NO_ANSWER
        counts = counts_of(questions.modules).long().to(device)
        understood = questions.understood & language.possible(Given(multiset=counts)).cpu()
        read = questions.select((answered & understood).nonzero().flatten())
        unread = questions.select((answered & ~understood).nonzero().flatten())
        return cls(read, _examples(read, tables, language, device, unique), unread)

    def __len__(self) -> int:
        return len(self.questions) + len(self.not_understood)


def _examples(
    questions: Questions, tables: SceneTables, language: Constraint[Any], device: torch.device, unique: Unique
) -> QuestionExamples:
    scenes, answers = questions.scenes.long().to(device), questions.answers.long().to(device)
    labelled = bool((questions.programs.lengths > 0).all())
    counts = counts_of(questions.modules)
    labels = questions.programs.padded()
    labels[(counts_of(questions.programs) != counts).any(1)] = PAD  # no arrangement of the known modules
    return QuestionExamples(
        questions.words.padded().to(device, torch.int32),
        counts.to(device),
        keywords_of(questions).to(device),
        language,
        SceneJudge(tables, scenes, answers, unique),
        labels.to(device, torch.int8) if labelled else None,
    )


def counts_of(modules: Ragged) -> Tensor:
    """int8 [question, module]: how many there are of each module."""
    columns = modules.padded()
    counts = torch.zeros((len(modules), len(MODULES)), dtype=torch.int8)
    return counts.scatter_add_(1, columns.clamp(min=0), (columns != PAD).to(torch.int8))


def keywords_of(questions: Questions) -> Tensor:
    """int8 [question, word, few]: the modules that each word speaks of, PAD where there are fewer."""
    pairs = questions.keywords
    question = torch.repeat_interleave(torch.arange(len(questions)), pairs.lengths)
    word, module = pairs.flat.long().unbind(1)
    longest = int(questions.words.lengths.max()) if len(questions) else 0
    slot = question * longest + word
    order = slot.argsort(stable=True)
    slot, module = slot[order], module[order]
    place = places(slot)
    few = int(place.max()) + 1 if len(place) else 1
    table = torch.full((len(questions) * longest, few), PAD, dtype=torch.int8)
    table[slot, place] = module.to(torch.int8)
    return table.view(len(questions), longest, few)
