"""The k best sentences against sorting them all."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ngs.errors import ShapeError
from ngs.grammar.grammar import Grammar
from ngs.grammar.padding import PAD
from ngs.parsing.independent import independent
from tests.enumeration import sentences
from tests.grammars import ARITHMETIC, NAMED
from tests.parsing.batches import Batch, batches

numbers = st.integers(1, 7)


def check_ranks(batch: Batch, k: int) -> None:
    found = batch.p().topk(k)
    assert found.symbols.shape == (len(batch.lengths), k, batch.scores.shape[1])
    assert found.log_probs.shape == (len(batch.lengths), k)
    for example, length in enumerate(batch.lengths):
        ranking = batch.ranking(example)
        wanted = list(ranking.values())[:k]
        assert found.log_probs[example].tolist() == pytest.approx([*wanted, *[-math.inf] * (k - len(wanted))])
        rows = found.symbols[example].tolist()
        assert all(symbol == PAD for row in rows for symbol in row[length:])
        assert all(row == [PAD] * len(row) for row in rows[len(wanted) :])
        words = [tuple(row[:length]) for row in rows[: len(wanted)]]
        assert len(set(words)) == len(words)
        assert [ranking[word] for word in words] == pytest.approx(wanted)  # sentences, with their scores
        assert [found[example, rank] for rank in range(len(words))] == [*map(batch.grammar.decode, words)]


@given(batches(), numbers)
def test_the_k_best_are_the_first_k_of_all(batch: Batch, k: int) -> None:
    check_ranks(batch, k)


@pytest.mark.parametrize("grammar", NAMED.values(), ids=NAMED)
def test_the_k_best_of_named_grammars_are_the_first_k_of_all(grammar: Grammar) -> None:
    lengths = [n for n in range(1, 7) if sentences(grammar, n)]
    generator = torch.Generator().manual_seed(len(lengths))
    scores = torch.randn(len(lengths), 6, len(grammar.symbols), generator=generator, dtype=torch.float64)
    for k in (1, 2, 5, 20):
        check_ranks(Batch(grammar, scores, lengths), k)


def test_trees_are_found_by_example_and_rank() -> None:
    scores = torch.zeros(1, 3, 7)
    scores[0, range(3), ARITHMETIC.encode("1*2")] = torch.tensor([3.0, 2.0, 1.0])
    found = independent(ARITHMETIC, scores).topk(3)
    assert str(found.tree((0, 0))) == "mul(1, *, 2)"
    assert found.log_probs.tolist() == [[6.0, 5.0, 5.0]]
    assert {found[0, 1], found[0, 2]} == {("1", "*", "0"), ("1", "*", "1")}


@pytest.mark.parametrize("k", [0, -1])
def test_at_least_one_sentence_must_be_asked_for(k: int) -> None:
    with pytest.raises(ShapeError, match=f"k is {k}; ask for at least one sentence"):
        independent(ARITHMETIC, torch.zeros(1, 3, 7)).topk(k)
