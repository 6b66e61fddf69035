"""Formulas are drawn evenly from the grammar, in the asked mix of lengths, and always have a value."""

from collections import Counter
from fractions import Fraction
from itertools import islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngs.errors import BudgetError, NGSError, ParseError
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import normal_form
from ngs.grammar.tree import Sentence, sentence_of
from ngs.parsing.sentence import parse, recognises
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.semantics import evaluate
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.formulas import PAPER_LENGTHS, mixed, sample_formula, sample_formulas
from tests.enumeration import derivations
from tests.grammars import CATALAN, NAMED, NULLABLE_LIST, grammars

MOST = 2_000  # derivations that are worth building one by one


def left_to_right(sentence: Sentence) -> Fraction:
    """The value of a formula, with nothing of the package: a sum of signed products."""
    total, product, operator = Fraction(0), Fraction(0), "+"
    for operator, digit in zip(("+", *sentence[1::2]), map(Fraction, sentence[::2]), strict=True):
        if operator in "+-":
            total, product = total + product, digit if operator == "+" else -digit
        else:
            product = product * digit if operator == "*" else product / digit
    return total + product


# One formula


@given(grammars(), st.integers(1, 5), st.integers())
def test_what_is_drawn_is_a_derivation_of_that_length(grammar: Grammar, length: int, seed: int) -> None:
    number = normal_form(grammar).count(length)
    if number == 0:
        with pytest.raises(ParseError, match=f"no sentence of length {length}"):
            sample_formula(grammar, length, Random(seed))
    elif number <= MOST:
        assert sample_formula(grammar, length, Random(seed)) in derivations(grammar, length)


@pytest.mark.parametrize(
    "grammar, length", [(CATALAN, 5), (NULLABLE_LIST, 6), (NAMED["arithmetic"], 3), (NAMED["prefix"], 4)]
)
def test_all_derivations_are_equally_likely(grammar: Grammar, length: int) -> None:
    wanted = Counter(derivations(grammar, length))
    draws = 200 * wanted.total()
    random = Random(0)
    drawn = Counter(sample_formula(grammar, length, random) for _ in range(draws))
    assert set(drawn) == set(wanted) and len(wanted) > 2
    statistic = sum((drawn[tree] - 200 * times) ** 2 / (200 * times) for tree, times in wanted.items())
    freedom = len(wanted) - 1
    assert statistic < freedom + 4 * (2 * freedom) ** 0.5  # chi-squared, four standard deviations


def test_operators_and_digits_are_equally_frequent_at_every_place() -> None:
    random = Random(0)
    drawn = [sentence_of(sample_formula(GRAMMAR, 7, random)) for _ in range(4_000)]
    for place in range(7):
        choices = "+-*/" if place % 2 else "0123456789"
        found = Counter(sentence[place] for sentence in drawn)
        assert set(found) == set(choices)
        assert all(abs(n / len(drawn) - 1 / len(choices)) < 0.03 for n in found.values())


@pytest.mark.parametrize("length", [1, 9, 15, 31, 101])
def test_formulas_of_other_lengths_are_in_the_grammar(length: int) -> None:
    tree = sample_formula(GRAMMAR, length, Random(1))
    sentence = sentence_of(tree)
    assert len(sentence) == length
    assert parse(GRAMMAR, sentence) == tree


@pytest.mark.parametrize("length, known", [(4, "1 3 5 7 9 11 13"), (0, "1 3 5 7 9"), (-2, "1 3 5 7 9")])
def test_a_length_without_formulas_is_refused(length: int, known: str) -> None:
    with pytest.raises(ParseError, match=f"length {length}; the lengths up to .* it has are {known};"):
        sample_formula(GRAMMAR, length, Random(0))


def test_a_derivation_too_deep_for_python_is_refused() -> None:
    chain = Grammar.parse('chain: "a" chain -> more | "b"')
    with pytest.raises(BudgetError, match="3000 symbols"):
        sample_formula(chain, 3_000, Random(0))


# Many formulas


def test_the_mix_of_the_paper_is_exact() -> None:
    drawn = sample_formulas(1_000, PAPER_LENGTHS, Random(0))
    assert Counter(len(sentence) for sentence, _ in drawn) == {1: 100, 3: 100, 5: 200, 7: 600}


def test_values_are_right_and_defined() -> None:
    drawn = sample_formulas(1_000, {3: 1, 7: 1, 15: 1}, Random(0))
    assert any("/" in sentence and "0" in sentence for sentence, _ in drawn)
    for sentence, value in drawn:
        assert recognises(GRAMMAR, sentence)
        assert isinstance(value, Fraction)
        assert value == left_to_right(sentence) == evaluate(parse(GRAMMAR, sentence), Arithmetic)


def test_the_first_formulas_do_not_depend_on_how_many_follow() -> None:
    few, many = (sample_formulas(number, PAPER_LENGTHS, Random(5)) for number in (20, 60))
    assert many[:20] == few and many[:0] == sample_formulas(0, PAPER_LENGTHS, Random(5))
    assert sample_formulas(20, PAPER_LENGTHS, Random(6)) != few


@given(st.dictionaries(st.integers(1, 20), st.integers(1, 50), min_size=1, max_size=6))
def test_at_any_point_each_length_has_had_its_share(weights: dict[int, int]) -> None:
    given_so_far: Counter[int] = Counter()
    for n, length in enumerate(islice(mixed(weights), 120), 1):
        given_so_far[length] += 1
        for each, weight in weights.items():
            assert abs(given_so_far[each] - Fraction(n * weight, sum(weights.values()))) < 1


def test_lengths_without_a_share_do_not_occur() -> None:
    assert set(islice(mixed({3: 0.5, 4: 0.0, 7: 0.25}), 50)) == {3, 7}
    assert set(islice(mixed({3: 1e-9}), 5)) == {3}


@pytest.mark.parametrize("lengths", [{}, {3: 0.0}, {3: -0.5, 5: 1.0}, {3: float("nan")}, {3: float("inf")}])
def test_impossible_shares_are_refused(lengths: dict[int, float]) -> None:
    with pytest.raises(NGSError, match="give each length a share"):
        sample_formulas(3, lengths, Random(0))


def test_a_mix_with_an_even_length_is_refused() -> None:
    with pytest.raises(ParseError, match="no sentence of length 6"):
        sample_formulas(10, {5: 0.5, 6: 0.5}, Random(0))
