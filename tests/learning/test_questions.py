"""Batches of questions: cut to size, on one device, with the judge that belongs to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from ngs.learning.questions import QuestionExamples, spoken_of

from ngs.errors import ShapeError
from ngs.grammar.padding import PAD
from tests.learning.program_tasks import Task, beliefs, task, whole
from tests.networks.asked import network


@pytest.fixture(scope="module")
def made() -> Task:
    return task(8, 0)


def test_a_batch_has_what_its_questions_have(made: Task) -> None:
    examples, numbers = made.examples, np.array([6, 1, 3])
    batch = examples.batch(numbers)
    words, programs = batch.inputs.words, [made.programs[k] for k in numbers]
    assert len(batch) == 3 and batch.questions.tolist() == [6, 1, 3] and batch.rows.tolist() == [0, 1, 2]
    assert batch.lengths.tolist() == [*map(len, programs)] and batch.time == max(map(len, programs))
    longest = (examples.words[[6, 1, 3]] != PAD).sum(1).max()
    assert words.shape[1] == longest <= examples.words.shape[1]
    assert words.dtype == batch.inputs.modules.dtype == torch.int64
    assert torch.equal(words, examples.words[[6, 1, 3], : words.shape[1]].long())
    assert batch.labels is not None and batch.labels.shape == (3, batch.time)
    assert (batch.labels != PAD).sum(1).tolist() == batch.lengths.tolist()
    assert torch.equal(batch.inputs.modules, examples.modules[[6, 1, 3]].long())


def test_padding_is_cut_where_no_question_of_the_batch_needs_it(made: Task) -> None:
    shortest = int(made.examples.word_counts.argmin())
    alone = made.examples.batch(np.array([shortest]))
    assert alone.inputs.words.shape == alone.inputs.keywords.shape[:2] == (1, made.examples.word_counts.min())
    assert not (alone.inputs.words == PAD).any()


def test_a_question_is_read_alike_in_every_batch(made: Task) -> None:
    reader, together = network(), whole(made.examples)
    assert together.labels is not None
    both = beliefs(reader, together).log_probs(together.rows, together.labels)
    for k in range(len(made.examples)):
        batch = made.examples.batch(np.array([k]))
        assert batch.labels is not None
        assert torch.allclose(beliefs(reader, batch).log_probs(batch.rows, batch.labels), both[k], atol=1e-5)


def test_programs_are_judged_by_their_own_question(made: Task) -> None:
    batch = made.examples.batch(np.array([5, 2, 7]))
    assert batch.labels is not None
    rows = torch.tensor([2, 0, 1, 0])
    assert batch.right(rows, batch.labels[rows]).all()
    foreign = batch.right(torch.tensor([0, 1, 2]), batch.labels[[1, 2, 0]])
    right = [
        made.answer(made.programs[z], k) == made.answer(made.programs[k], k)
        for k, z in zip((5, 2, 7), (2, 7, 5), strict=True)
    ]
    assert foreign.tolist() == right


def test_a_word_speaks_of_some_modules_or_of_none() -> None:
    table = spoken_of(torch.tensor([[[2, PAD], [0, 3], [PAD, PAD]]]), 4)
    assert table.tolist() == [[[0, 0, 1, 0], [1, 0, 0, 1], [0, 0, 0, 0]]]


def test_keywords_of_a_batch_are_those_of_its_words(made: Task) -> None:
    batch = whole(made.examples)
    for row, word, place in np.ndindex(*made.examples.keywords.shape):
        module = int(made.examples.keywords[row, word, place])
        assert module == PAD or batch.inputs.keywords[row, word, module] == 1
    assert batch.inputs.keywords.sum() == (made.examples.keywords != PAD).sum()


def test_without_labels_there_are_none_in_a_batch(made: Task) -> None:
    assert whole(replace(made.examples, labels=None)).labels is None


@pytest.mark.parametrize("part", ["modules", "keywords", "labels"])
def test_as_many_rows_of_everything(made: Task, part: str) -> None:
    examples: QuestionExamples = made.examples
    with pytest.raises(ShapeError, match=f"7 rows of {part} for 8 questions"):
        replace(examples, **{part: getattr(examples, part)[:7]})
