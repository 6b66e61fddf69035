"""The k best sentences against sorting them all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from ngs.errors import ShapeError
from ngs.grammar.grammar import Grammar
from ngs.parsing.decode import PAD, best, k_best
from ngs.parsing.earley import sentences_by_probability
from tests.enumeration import sentences
from tests.grammars import ARITHMETIC, CATALAN, DANGLING_ELSE, NAMED, grammars, lattices


@dataclass(frozen=True)
class Case:
    """A ragged batch; behind the end of an example its scores are NaN."""

    grammar: Grammar
    scores: Tensor
    """[batch, time, symbol]"""
    lengths: list[int]
    k: int

    def ranking(self, example: int) -> dict[tuple[int, ...], float]:
        """The log-probability of each sentence that is possible, in falling order."""
        length = self.lengths[example]
        columns = torch.tensor([self.grammar.encode(s) for s in sentences(self.grammar, length)])
        log_probs = self.scores[example, torch.arange(length), columns].sum(-1).tolist()
        ranked = sorted(zip(map(tuple, columns.tolist()), log_probs, strict=True), key=lambda pair: -pair[1])
        return {columns: log_prob for columns, log_prob in ranked if log_prob > -math.inf}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    grammar = draw(grammars())
    known = [n for n in range(1, 6) if sentences(grammar, n)]
    assume(known)
    lengths = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3))
    time = max(lengths) + draw(st.integers(0, 1))
    scores = draw(lattices(grammar, time, batch=len(lengths), impossible=0.1))
    behind = torch.arange(time) >= torch.tensor(lengths)[:, None]
    return Case(grammar, scores.masked_fill(behind[..., None], math.nan), lengths, draw(st.integers(1, 7)))


def check_ranks(case: Case) -> None:
    found = k_best(case.grammar, case.scores, case.lengths, k=case.k)
    assert found.columns.shape == (len(case.lengths), case.k, case.scores.shape[1])
    assert found.log_probs.shape == (len(case.lengths), case.k)
    for example, length in enumerate(case.lengths):
        ranking = case.ranking(example)
        wanted = list(ranking.values())[: case.k]
        missing = case.k - len(wanted)
        have = found.log_probs[example].tolist()
        assert have == pytest.approx([*wanted, *[-math.inf] * missing])
        rows = found.columns[example].tolist()
        assert all(column == PAD for row in rows for column in row[length:])
        assert all(row == [PAD] * len(row) for row in rows[len(wanted) :])
        words = [tuple(row[:length]) for row in rows[: len(wanted)]]
        assert len(set(words)) == len(words)
        assert [ranking[word] for word in words] == pytest.approx(
            wanted
        )  # each is a sentence, with its score
        for rank, word in enumerate(words):
            assert found[example, rank] == case.grammar.decode(word)


@given(cases())
def test_the_k_best_are_the_first_k_of_all(case: Case) -> None:
    check_ranks(case)


@pytest.mark.parametrize("grammar", NAMED.values(), ids=NAMED)
def test_the_k_best_of_named_grammars_are_the_first_k_of_all(grammar: Grammar) -> None:
    lengths = [n for n in range(1, 7) if sentences(grammar, n)]
    generator = torch.Generator().manual_seed(len(lengths))
    scores = torch.randn(len(lengths), 6, len(grammar.symbols), generator=generator, dtype=torch.float64)
    for k in (1, 2, 5, 20):
        check_ranks(Case(grammar, scores, lengths, k))


@given(cases())
def test_earley_ranks_alike_and_the_first_is_the_best(case: Case) -> None:
    found = k_best(case.grammar, case.scores, case.lengths, k=case.k)
    for example, length in enumerate(case.lengths):
        ranked = sentences_by_probability(case.grammar, case.scores[example, :length])
        wanted = [log_prob for _, log_prob in islice(ranked, case.k)]
        have = [log_prob for log_prob in found.log_probs[example].tolist() if log_prob > -math.inf]
        assert have == pytest.approx(wanted)
    one = best(case.grammar, case.scores, case.lengths)
    torch.testing.assert_close(found.log_probs[:, 0], one.log_probs)


@given(cases())
def test_single_precision_is_close(case: Case) -> None:
    single = k_best(case.grammar, case.scores.float(), case.lengths, k=case.k).log_probs
    assert single.dtype == torch.float32
    double = k_best(case.grammar, case.scores, case.lengths, k=case.k).log_probs
    torch.testing.assert_close(single.double(), double, rtol=1e-4, atol=1e-4)


@given(grammars(), st.integers(1, 4), st.integers(1, 6))
def test_equally_likely_sentences_come_once_each(grammar: Grammar, time: int, k: int) -> None:
    words = sentences(grammar, time)
    assume(words)
    found = k_best(grammar, torch.zeros(1, time, len(grammar.symbols)), k=k)
    ranks = min(k, len(words))
    assert found.log_probs[0].tolist() == [0.0] * ranks + [-math.inf] * (k - ranks)
    chosen = {found[0, rank] for rank in range(ranks)}
    assert len(chosen) == ranks
    assert chosen <= set(words)


def test_a_sentence_with_many_trees_comes_once() -> None:
    found = k_best(CATALAN, torch.zeros(1, 6, 1), k=3)
    assert found.log_probs.tolist() == [[0.0, -math.inf, -math.inf]]
    assert found.columns.tolist() == [[[0] * 6, [PAD] * 6, [PAD] * 6]]
    scores = torch.zeros(1, 7, len(DANGLING_ELSE.symbols))
    found = k_best(DANGLING_ELSE, scores, k=4)
    words = sentences(DANGLING_ELSE, 7)
    assert {found[0, rank] for rank in range(len(words))} == set(words)
    assert found.log_probs.isneginf().tolist() == [[rank >= len(words) for rank in range(4)]]


def test_nothing_is_possible() -> None:
    scores = torch.zeros(2, 3, 7)
    scores[0, 0] = -math.inf
    found = k_best(ARITHMETIC, scores, k=2)
    assert found.log_probs.tolist() == [[-math.inf, -math.inf], [0.0, 0.0]]
    assert found.columns[0].tolist() == [[PAD] * 3] * 2
    assert found[0, 1] == ()


def test_trees_are_found_by_example_and_rank() -> None:
    scores = torch.zeros(1, 3, 7)
    scores[0, range(3), ARITHMETIC.encode("1*2")] = torch.tensor([3.0, 2.0, 1.0])
    found = k_best(ARITHMETIC, scores, k=3)
    assert str(found.tree((0, 0))) == "mul(1, *, 2)"
    assert found.log_probs.tolist() == [[6.0, 5.0, 5.0]]
    assert {found[0, 1], found[0, 2]} == {("1", "*", "0"), ("1", "*", "1")}


@pytest.mark.parametrize("k", [0, -1])
def test_at_least_one_sentence_must_be_asked_for(k: int) -> None:
    with pytest.raises(ShapeError, match=f"k is {k}; ask for at least one sentence"):
        k_best(ARITHMETIC, torch.zeros(1, 3, 7), k=k)
