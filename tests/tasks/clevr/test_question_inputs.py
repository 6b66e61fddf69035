"""What a network is shown of questions: cut to the longest of a batch, with what each word speaks of."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ngs.grammar.padding import PAD
from ngs.tasks.clevr.examples import QuestionInputs, keywords_of
from ngs.tasks.clevr.program import MODULES
from tests.tasks.clevr.readers import some_questions


@pytest.fixture(scope="module")
def inputs() -> QuestionInputs:
    questions = some_questions().train
    return QuestionInputs(questions.words.padded().to(torch.int32), keywords_of(questions))


def test_padding_is_cut_where_no_question_of_the_batch_needs_it(inputs: QuestionInputs) -> None:
    shortest = int(inputs.counts.argmin())
    for numbers in ([6, 1, 3], [shortest]):
        shown, longest = inputs.batch(np.array(numbers)), int(inputs.counts[numbers].max())
        assert shown.words.dtype == torch.int64
        assert torch.equal(shown.words, inputs.words[numbers, :longest].long())
        assert shown.keywords.shape == (len(numbers), longest, len(MODULES))
    assert not (shown.words == PAD).any()


def test_a_word_speaks_of_some_modules_or_of_none() -> None:
    inputs = QuestionInputs(torch.zeros(1, 3), torch.tensor([[[2, PAD], [0, 3], [PAD, PAD]]]))
    table = inputs.batch(np.arange(1)).keywords
    assert [word.nonzero().flatten().tolist() for word in table[0]] == [[2], [0, 3], []]
    assert table.max() == 1


def test_keywords_of_a_batch_are_those_of_its_words(inputs: QuestionInputs) -> None:
    table = inputs.batch(np.arange(8)).keywords
    for row, word, place in np.ndindex(8, *inputs.keywords.shape[1:]):
        module = int(inputs.keywords[row, word, place])
        assert module == PAD or table[row, word, module] == 1
    assert table.sum() == (inputs.keywords[:8] != PAD).sum()
