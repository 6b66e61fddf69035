"""The grammar of arithmetic: its symbols, its sentences, and one tree for each of them."""

from __future__ import annotations

import pytest

from ngs.grammar.grammar import Grammar
from ngs.grammar.library import arithmetic
from ngs.grammar.rules import Nonterminal
from ngs.grammar.tree import sentence_of
from ngs.grammar.validation import nullable
from tests.enumeration import derivation_count, derivations, sentences


def test_arithmetic_reads_back_and_has_no_empty_parts() -> None:
    assert Grammar.parse(str(arithmetic())) == arithmetic()
    assert nullable(arithmetic().rules) == set()
    assert arithmetic().start == Nonterminal("start")


def test_arithmetic_is_read_once() -> None:
    assert arithmetic() is arithmetic()


def test_arithmetic_has_the_symbols_and_functions_of_the_paper() -> None:
    assert sorted(arithmetic().symbols) == sorted("+-*/0123456789")
    assert [head.name for head in arithmetic().by_head] == ["start", "expression", "term", "factor"]
    functions = {rule.function for rule in arithmetic().rules} - {None}
    assert functions == {"add", "subtract", "multiply", "divide"}


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_arithmetic_is_every_calculation_once(digits: int) -> None:
    length = 2 * digits - 1
    assert len(sentences(arithmetic(), length)) == 10**digits * 4 ** (digits - 1)
    assert len(derivations(arithmetic(), length)) == 10**digits * 4 ** (digits - 1)
    assert sentences(arithmetic(), length + 1) == []


@pytest.mark.parametrize("sentence", ["1 - 2 - 3", "1 + 2 * 3", "8 / 4 / 2 * 5 - 0 + 9"])
def test_arithmetic_gives_one_tree(sentence: str) -> None:
    assert derivation_count(arithmetic(), sentence.split()) == 1


def test_products_bind_tighter_and_equals_group_to_the_left() -> None:
    rules = (rule for rule in arithmetic().rules if rule.head.name != "factor" or str(rule) == '"1"')
    ones = Grammar(tuple(rules))
    shown = {"".join(sentence_of(tree)): str(tree) for tree in derivations(ones, 5)}
    assert len(shown) == 4**2
    assert shown["1-1-1"] == "subtract(subtract(1, -, 1), -, 1)"
    assert shown["1/1*1"] == "multiply(divide(1, /, 1), *, 1)"
    assert shown["1-1*1"] == "subtract(1, -, multiply(1, *, 1))"
    assert shown["1*1-1"] == "subtract(multiply(1, *, 1), -, 1)"
