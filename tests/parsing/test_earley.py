"""The generalized Earley parser against sorting, and adding up, all there is."""

import math
from collections.abc import Iterator
from itertools import combinations, islice, pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ngs.errors import BudgetError, ParseError, ShapeError
from ngs.grammar import automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.tree import Sentence
from ngs.parsing import earley
from ngs.parsing.earley import parse_aligned, parse_unsegmented, sentences_by_probability
from tests.enumeration import sentences
from tests.grammars import ARITHMETIC, LARGE_PREFIX, NAMED, NULLABLE_LIST, PALINDROMES, grammars, score_tables

Spans = tuple[tuple[int, int], ...]


def aligned_scores(grammar: Grammar, scores: Tensor) -> dict[Sentence, float]:
    """log p of every sentence that is possible at all."""
    found = {
        sentence: sum(float(row[k]) for row, k in zip(scores, grammar.encode(sentence), strict=True))
        for sentence in sentences(grammar, len(scores))
    }
    return {sentence: log_prob for sentence, log_prob in found.items() if log_prob > -math.inf}


def segmentations(frames: int, symbols: int) -> Iterator[Spans]:
    for cuts in combinations(range(1, frames), symbols - 1):
        yield tuple(pairwise([0, *cuts, frames]))


def segmentation_scores(grammar: Grammar, scores: Tensor, sentence: Sentence) -> dict[Spans, float]:
    symbols = grammar.encode(sentence)
    return {
        spans: sum(float(scores[t, k]) for k, span in zip(symbols, spans, strict=True) for t in range(*span))
        for spans in segmentations(len(scores), len(sentence))
    }


def check_ranking(grammar: Grammar, scores: Tensor) -> None:
    wanted = aligned_scores(grammar, scores)
    ranked = [(grammar.decode(symbols), p) for symbols, p in sentences_by_probability(grammar, scores)]
    assert len(ranked) == len(wanted)
    assert dict(ranked) == pytest.approx(wanted)
    assert all(before >= after - 1e-9 for (_, before), (_, after) in pairwise(ranked))


@given(grammars(), st.integers(0, 5), st.data())
def test_sentences_come_in_falling_probability(grammar: Grammar, time: int, data: st.DataObject) -> None:
    check_ranking(grammar, data.draw(score_tables(grammar, time, impossible=0.1)))


@pytest.mark.parametrize("grammar", NAMED.values(), ids=NAMED)
def test_sentences_of_named_grammars_come_in_falling_probability(grammar: Grammar) -> None:
    for time in range(6):
        torch.manual_seed(time)
        check_ranking(grammar, torch.randn(time, len(grammar.symbols), dtype=torch.float64).log_softmax(-1))


@pytest.mark.parametrize("widest", [1, 2, 4])
def test_sentences_come_in_falling_probability_where_states_are_too_many_for_the_bound(
    widest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(automaton, "MOST_STATES", widest)
    earley._layers.cache_clear()
    for grammar in NAMED.values():
        torch.manual_seed(widest)
        check_ranking(grammar, torch.randn(5, len(grammar.symbols), dtype=torch.float64).log_softmax(-1))
    earley._layers.cache_clear()


def test_long_sentences_are_ranked_without_a_search() -> None:
    torch.manual_seed(0)
    scores = 4 * torch.randn(25, len(LARGE_PREFIX.symbols), dtype=torch.float64)
    best = [log_prob for _, log_prob in islice(sentences_by_probability(LARGE_PREFIX, scores), 100)]
    assert len(best) == 100
    assert all(before >= after - 1e-9 for before, after in pairwise(best))


@given(grammars(), st.integers(1, 5), st.data())
def test_the_best_parse_is_the_best_sentence(grammar: Grammar, time: int, data: st.DataObject) -> None:
    scores = data.draw(score_tables(grammar, time, impossible=0.1))
    wanted = aligned_scores(grammar, scores)
    if wanted:
        have = parse_aligned(grammar, scores)
        assert have.log_prob == pytest.approx(max(wanted.values()))
        assert have.log_prob == pytest.approx(wanted[have.sentence])
    else:
        with pytest.raises(ParseError, match=r"no sentence of length|probability zero"):
            parse_aligned(grammar, scores)


def test_scores_need_not_be_normalised_and_may_be_numpy() -> None:
    scores = np.zeros((3, 7))
    scores[[0, 1, 2], ARITHMETIC.encode("2*1")] = [3.0, 4.0, 5.0]
    assert parse_aligned(ARITHMETIC, scores).sentence == ("2", "*", "1")
    assert parse_aligned(ARITHMETIC, torch.tensor(scores, dtype=torch.bfloat16)).log_prob == 12.0


@pytest.mark.parametrize("grammar", [ARITHMETIC, PALINDROMES])
def test_ties_do_not_open_all_prefixes(grammar: Grammar) -> None:
    flat = torch.full((61, len(grammar.symbols)), -1 / 3)
    best = list(islice(sentences_by_probability(grammar, flat), 3))
    assert [log_prob for _, log_prob in best] == pytest.approx([-61 / 3] * 3)
    assert len({symbols for symbols, _ in best}) == 3


def test_a_missing_length_names_those_there_are() -> None:
    with pytest.raises(ParseError, match=r"no sentence of length 4; up to there it has the lengths 1 3$"):
        parse_aligned(ARITHMETIC, torch.zeros(4, 7))
    with pytest.raises(ParseError, match=r"no sentence of length 1; all its sentences are longer$"):
        parse_aligned(NULLABLE_LIST, torch.zeros(1, 5))
    with pytest.raises(ParseError, match="every sentence of length 1 has probability zero"):
        parse_aligned(ARITHMETIC, torch.tensor([[0.0, 0.0, 0.0, 0.0, *[-math.inf] * 3]]))


def check_unsegmented(grammar: Grammar, scores: Tensor) -> None:
    by_spans = {
        sentence: segmentation_scores(grammar, scores, sentence)
        for length in range(1, len(scores) + 1)
        for sentence in sentences(grammar, length)
    }
    totals = {
        sentence: math.log(total)
        for sentence, found in by_spans.items()
        if (total := math.fsum(map(math.exp, found.values())))
    }
    if totals:
        have = parse_unsegmented(grammar, scores)
        assert have.log_prob == pytest.approx(max(totals.values()), abs=1e-9)
        assert have.log_prob == pytest.approx(totals[have.sentence], abs=1e-9)
        assert have.best_log_prob == pytest.approx(max(by_spans[have.sentence].values()), abs=1e-9)
        assert have.best_log_prob == pytest.approx(by_spans[have.sentence][have.spans], abs=1e-9)
    else:
        with pytest.raises(ParseError, match=r"no sentence of 1 to|probability zero"):
            parse_unsegmented(grammar, scores)


@given(grammars(), st.integers(1, 5), st.data())
def test_unsegmented_parse_is_the_best_sum_over_segmentations(
    grammar: Grammar, frames: int, data: st.DataObject
) -> None:
    check_unsegmented(grammar, data.draw(score_tables(grammar, frames, impossible=0.1)))


def test_frames_of_one_symbol_are_joined() -> None:
    symbols = ARITHMETIC.encode("11++222")
    sure = torch.full((7, 7), 0.01)
    sure[range(7), symbols] = 0.94
    have = parse_unsegmented(ARITHMETIC, sure.log())
    assert have.sentence == ("1", "+", "2")
    assert have.spans == ((0, 2), (2, 4), (4, 7))
    assert have.best_log_prob == pytest.approx(7 * math.log(0.94))
    assert have.best_log_prob < have.log_prob < 0


def test_a_repeated_symbol_is_two_symbols() -> None:
    runs = Grammar.parse('run: "a" | "a" "a" | "a" "a" "a" | "b"')
    have = parse_unsegmented(runs, torch.tensor([[0.9, 0.1]] * 4).log())
    assert have.sentence == ("a", "a")  # three places for the boundary, against one way to say "a"
    assert have.log_prob == pytest.approx(math.log(3 * 0.9**4))
    assert have.spans == ((0, 1), (1, 4))  # the three are equally likely: the earliest boundary


def test_an_empty_input_is_the_empty_sentence_or_nothing() -> None:
    assert parse_aligned(PALINDROMES, torch.zeros(0, 2)).sentence == ()
    assert parse_unsegmented(PALINDROMES, torch.zeros(0, 2)).spans == ()
    with pytest.raises(ParseError, match="no sentence of 1 to 0 symbols"):
        parse_unsegmented(ARITHMETIC, torch.zeros(0, 7))


def test_what_cannot_be_parsed_is_refused() -> None:
    logits = torch.zeros(3, 7)
    with pytest.raises(ShapeError, match=r"time 0 sum to 7, not to 1; .* log_softmax"):
        parse_unsegmented(ARITHMETIC, logits)
    with pytest.raises(ShapeError, match="scores 6 symbols but the grammar has 7"):
        sentences_by_probability(ARITHMETIC, logits[:, 1:])
    with pytest.raises(ShapeError, match=r"one example .* got the shape \[2, 3, 7\]"):
        parse_aligned(ARITHMETIC, logits.expand(2, 3, 7))
    with pytest.raises(BudgetError, match="5 prefixes were opened over 12 frames"):
        parse_unsegmented(ARITHMETIC, torch.zeros(12, 7).log_softmax(-1), limit=5)
