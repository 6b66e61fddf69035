"""The values of a language against evaluating its sentences one by one."""

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngs.errors import BudgetError
from ngs.grammar.grammar import Grammar, arithmetic
from ngs.grammar.normal_form import normal_form
from ngs.grammar.rules import Rule
from ngs.grammar.tree import Sentence
from ngs.parsing.tables import Blank, compile_tables
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import UNDEFINED, Value
from ngs.reasoning.semantics import interpret
from tests.enumeration import sentences
from tests.grammars import CATALAN, grammars
from tests.search.semantics import SMALL_ARITHMETIC

PLENTY = 10**7


class Words:
    """The value of a sentence is the sentence."""

    def leaf(self, position: int, symbol: str) -> Sentence:
        return (symbol,)

    def node(self, rule: Rule, children: tuple[Sentence, ...]) -> Sentence:
        return tuple(symbol for child in children for symbol in child)


class Counting(Words):
    """Words that know how many nodes have been built."""

    def __init__(self) -> None:
        self.nodes = 0

    def node(self, rule: Rule, children: tuple[Sentence, ...]) -> Sentence:
        self.nodes += 1
        return super().node(rule, children)


def value_of(sentence: Sentence) -> Value:
    """Python's own reading of a sentence, over fractions."""
    try:
        return eval("".join(f"Fraction({s})" if s.isdigit() else s for s in sentence), {"Fraction": Fraction})
    except ZeroDivisionError:
        return UNDEFINED


@given(grammars(), st.integers(1, 4))
def test_the_values_of_the_start_are_those_of_the_sentences(grammar: Grammar, longest: int) -> None:
    form = normal_form(grammar)
    tables = compile_tables(form, Words(), longest, PLENTY)
    for length in range(1, longest + 1):
        wanted = set(sentences(grammar, length))
        assert set(tables.values.get((form.start, length), {})) == wanted
        assert form.derives(form.start, length) == bool(wanted)


@given(grammars(), st.integers(1, 5), st.data())
def test_the_budget_is_the_number_of_entries(grammar: Grammar, longest: int, data: st.DataObject) -> None:
    form = normal_form(grammar)
    entries = compile_tables(form, Blank(), longest, PLENTY).entries
    assert compile_tables(form, Blank(), longest, entries).entries == entries
    if entries:
        budget = data.draw(st.integers(0, entries - 1))
        wanted = (
            f"the exact tables for sentences of {longest} symbols need more than {budget} entries; "
            f"raise the budget, shorten the sentences, or use the beam"
        )
        with pytest.raises(BudgetError, match=f"^{re.escape(wanted)}$"):
            compile_tables(form, Blank(), longest, budget)


def test_nothing_is_built_beyond_the_budget() -> None:
    form = normal_form(CATALAN)  # each entry is one node
    entries = compile_tables(form, Words(), 8, PLENTY).entries
    for budget in range(entries):
        counting = Counting()
        with pytest.raises(BudgetError):
            compile_tables(form, counting, 8, budget)
        assert counting.nodes <= budget
    compile_tables(form, counting := Counting(), 8, entries)
    assert counting.nodes == entries


@pytest.mark.parametrize("length", [1, 3, 5, 7])
def test_the_values_of_small_arithmetic_are_those_python_gives_them(length: int) -> None:
    form = normal_form(SMALL_ARITHMETIC)
    tables = compile_tables(form, interpret(SMALL_ARITHMETIC, Arithmetic), length, PLENTY)
    assert set(tables.values[form.start, length]) == set(map(value_of, sentences(SMALL_ARITHMETIC, length)))


def test_the_values_of_arithmetic_over_ten_digits_are_all_there() -> None:
    grammar = arithmetic()
    form = normal_form(grammar)
    tables = compile_tables(form, interpret(grammar, Arithmetic), 7, PLENTY)
    sizes = {length: len(tables.values[form.start, length]) for length in form.lengths(7)}
    assert sizes == {1: 10, 3: 96, 5: 899, 7: 8333}
    assert set(tables.values[form.start, 3]) == set(map(value_of, sentences(grammar, 3)))
    assert tables.entries == 62_674
    with pytest.raises(BudgetError, match="sentences of 7 symbols need more than 62673 entries"):
        compile_tables(form, interpret(grammar, Arithmetic), 7, 62_673)
