"""Tables made of whole arrays against tables made pair by pair."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial, reduce
from operator import add, mul, sub, truediv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngs import UNDEFINED, Arithmetic, Semantics, arithmetic_grammar
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import Step, normal_form
from ngs.parsing.tables import Combined, Tables, compile_tables
from ngs.reasoning.at_once import at_once, elementwise
from ngs.reasoning.fraction_array import FractionArray
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import Meaning, interpret
from tests.grammars import grammars
from tests.search.semantics import PlainArithmetic

PLENTY = 10**6
OPERATORS = [add, sub, mul, truediv]


def tables_of(grammar: Grammar, semantics: Meaning, longest: int) -> tuple[Tables, int]:
    """The tables, and how many of them were made at once."""
    algebra = interpret(grammar, semantics)
    made = 0

    def counting(step: Step, lefts: list[Value], rights: list[Value]) -> Combined | None:
        nonlocal made
        combined = at_once(algebra, step, lefts, rights)
        made += combined is not None
        return combined

    return compile_tables(normal_form(grammar), algebra, longest, PLENTY, at_once=counting), made


def assert_equal(have: Tables, want: Tables) -> None:
    assert {key: list(values.items()) for key, values in have.values.items()} == {
        key: list(values.items()) for key, values in want.values.items()
    }
    for key, tables in want.tables.items():
        assert [table.out.tolist() for table in have.tables[key]] == [table.out.tolist() for table in tables]


def random_meanings(grammar: Grammar, first: int) -> tuple[Meaning, Meaning]:
    """Fractions for symbols, operators for names: known to work on arrays, and not."""

    def function(operator: Callable[..., Value]) -> Callable[..., Value]:
        return lambda *arguments: reduce(operator, arguments, *([] if arguments else [Fraction(2)]))

    names = sorted({rule.function for rule in grammar.rules if rule.function is not None})
    functions = {name: function(OPERATORS[(first + k) % 4]) for k, name in enumerate(names)}
    symbol = {"a": Fraction(0), "b": Fraction(3, 2), "c": UNDEFINED, "d": Fraction(-2)}.__getitem__
    known, plain = (
        type(
            "Random",
            (Semantics,),
            {name: staticmethod(change(f)) for name, f in functions.items()}
            | {"symbol": staticmethod(symbol)},
        )
        for change in (lambda f: elementwise(FractionArray)(partial(f)), lambda f: f)
    )
    return known, plain


@given(grammars(), st.integers(0, 3), st.integers(1, 4))
def test_random_languages_have_the_same_tables(grammar: Grammar, first: int, longest: int) -> None:
    known, plain = random_meanings(grammar, first)
    have, _ = tables_of(grammar, known, longest)
    want, made = tables_of(grammar, plain, longest)
    assert_equal(have, want)
    assert made == 0


def test_the_tables_of_arithmetic_are_those_of_its_functions_called_pair_by_pair() -> None:
    have, made = tables_of(arithmetic_grammar(), Arithmetic, 7)
    want, _ = tables_of(arithmetic_grammar(), PlainArithmetic, 7)
    assert_equal(have, want)
    spans = [key for key in want.tables if key[1] > 1]
    steps = [table.step for key in spans for table in want.tables[key]]
    assert made == sum(bool(step.productions) for step in steps) > 30  # all but `"+" term` and the like


@pytest.mark.parametrize(
    ("text", "is_at_once"),
    [
        ('e: "+" e e -> add | "1" | "2" | "3"', True),  # both arguments to the right
        ('e: "a" e "b" e "c" e -> add | "1" | "2"', True),  # punctuation between them
        ('!e: sign e -> add | "1" | "2"\n sign: "-" | "0"', True),  # kept symbols
        ('e: pair "1" | "1" | "2"\n pair: e e -> add', True),  # inside another
        ('e: _pair -> add | "1" | "2"\n _pair: e "," e', False),  # inlined: two arguments from one part
        ('e: e maybe e -> add | "1" | "2"\n maybe: "," |', True),  # a part that may be empty
    ],
)
def test_functions_get_what_the_rule_says(text: str, is_at_once: bool) -> None:
    class Sums(Semantics):
        def symbol(name: str) -> Value:
            return Fraction(name) if name.isdigit() else UNDEFINED

        @elementwise(FractionArray)
        def add(*parts: Value) -> Value:
            return reduce(add, parts)

        def e(*parts: Value) -> Value:
            return parts[-1]

        def maybe() -> Value:
            return Fraction(1, 3)

    class OneByOne(Sums):
        def add(*parts: Value) -> Value:
            return reduce(add, parts)

    grammar = Grammar.parse(text)
    have, made = tables_of(grammar, Sums, 6)
    want, none = tables_of(grammar, OneByOne, 6)
    assert_equal(have, want)
    assert (made > 0) == is_at_once and none == 0


def test_numbers_too_large_for_arrays_are_computed_one_by_one() -> None:
    class Large(Arithmetic):
        def symbol(name: str) -> Value:
            return Fraction(10**6 * int(name))

    grammar = Grammar.parse('e: e "*" d -> multiply | d\n d: "1" | "2"')
    tables, made = tables_of(grammar, Large, 9)
    assert made == 0
    assert max(tables.values[grammar.start, 9]) == Fraction(32 * 10**30)


def test_a_function_written_anew_is_called() -> None:
    class Absolute(Arithmetic):
        def subtract(a: Fraction, b: Fraction) -> Fraction:
            return max(a - b, b - a)

    grammar = Grammar.parse('e: e "-" d -> subtract | d\n d: "1" | "3"')
    tables, made = tables_of(grammar, Absolute, 3)
    assert made == 0
    assert set(tables.values[grammar.start, 3]) == {Fraction(0), Fraction(2)}
