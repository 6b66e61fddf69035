"""The grammar of arithmetic: its symbols, its sentences, and one tree for each of them."""

import pytest

from ngs.grammar.grammar import Grammar, arithmetic
from ngs.grammar.rules import Nonterminal
from ngs.grammar.validation import nullable
from tests.enumeration import derivations, sentences


def test_arithmetic_is_read_once_reads_back_and_has_no_empty_parts() -> None:
    assert arithmetic() is arithmetic() == Grammar.parse(str(arithmetic()))
    assert nullable(arithmetic().rules) == set()
    assert arithmetic().start == Nonterminal("start")


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
