"""Functions called with whole arrays against functions called pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce, wraps
from math import inf, nan
from operator import add, mul, sub, truediv

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ngs import ANY, UNDEFINED, Arithmetic, OneOf, Semantics, SemanticsError
from ngs.grammar.grammar import Grammar, arithmetic
from ngs.grammar.normal_form import Step, normal_form
from ngs.grammar.rules import Nonterminal
from ngs.parsing.tables import Combined, Tables, compile_tables
from ngs.reasoning.elementwise import at_once, elementwise
from ngs.reasoning.fraction_array import FractionArray
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import Meaning, interpret
from ngs.search import compiled
from ngs.search.compiled import value_tables
from tests.grammars import grammars
from tests.search.semantics import PlainArithmetic

PLENTY = 10**6
DIFFERENCES = Grammar.parse('e: e "-" d -> subtract | d\n d: "1" | "3"')
PAIRS = Grammar.parse('e: d d -> f\n d: "a" | "b" | "c"')  # the last is undefined
OPERATORS = [add, sub, mul, truediv, lambda a, _: a, lambda _, b: b]


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
    functions = {name: function(OPERATORS[(first + k) % 6]) for k, name in enumerate(names)}
    symbol = {"a": Fraction(0), "b": Fraction(3, 2), "c": UNDEFINED, "d": Fraction(-2)}.__getitem__
    functions |= {"symbol": symbol}
    known, plain = (
        type("Random", (Semantics,), {name: staticmethod(change(f)) for name, f in functions.items()})
        for change in (lambda f: elementwise(FractionArray)(partial(f)), lambda f: f)
    )
    return known, plain


@given(grammars(), st.integers(0, 5), st.integers(1, 4))
@example(PAIRS, 4, 2)
@example(PAIRS, 5, 2)
def test_random_languages_have_the_same_tables(grammar: Grammar, first: int, longest: int) -> None:
    """With undefined values, and functions that look at one argument only."""
    known, plain = random_meanings(grammar, first)
    have, _ = tables_of(grammar, known, longest)
    want, made = tables_of(grammar, plain, longest)
    assert_equal(have, want)
    assert made == 0


def test_the_tables_of_arithmetic_are_those_of_its_functions_called_pair_by_pair() -> None:
    have, made = tables_of(arithmetic(), Arithmetic, 7)
    want, _ = tables_of(arithmetic(), PlainArithmetic, 7)
    assert_equal(have, want)
    spans = [key for key in want.tables if key[1] > 1]
    steps = [table.step for key in spans for table in want.tables[key]]
    assert made == sum(bool(step.productions) for step in steps) > 30  # all but `"+" term` and the like


@pytest.mark.parametrize(
    ("text", "is_at_once"),
    [
        ('e: "+" e e -> add | "1" | "2" | "3"', True),  # both arguments to the right
        ('e: "a" e "b" e "c" e -> add | "1" | "2"', True),  # punctuation between them
        ('!e: "0" e -> add | "1" | "2"', True),  # a kept symbol
        ('!e: sign e -> add | "1" | "2"\n sign: "-" | "0"', True),  # kept symbols of another rule
        ('t: e -> add\n e: e "+" d -> add | d\n d: "1" | "2"', True),  # the same function twice
        ('t: e -> twice\n e: e "+" d -> add | d\n d: "1" | "2"', True),  # another after it
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

        def twice(a: Value) -> Value:
            return 2 * a

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


class Absolute(Arithmetic):
    def subtract(a: Fraction, b: Fraction) -> Fraction:
        return max(a - b, b - a)


class Wrapped(Arithmetic):
    @wraps(Arithmetic.subtract)  # which copies what is attached to a function
    def subtract(a: Fraction, b: Fraction) -> Fraction:
        return abs(Arithmetic.subtract(a, b))


class Scaled(Arithmetic):
    def __init__(self, operator: Callable[..., Value]) -> None:
        self.operator = operator

    @elementwise(FractionArray)
    def subtract(self, a: Value, b: Value) -> Value:
        return self.operator(a, b)


@pytest.mark.parametrize(
    "semantics, is_at_once, values",
    [(Absolute, 0, {0, 2}), (Wrapped, 0, {0, 2}), (Scaled(add), 1, {2, 4, 6}), (Scaled(mul), 1, {1, 3, 9})],
    ids=["written anew", "wrapped", "of an instance", "of another"],
)
def test_functions_are_those_of_the_semantics(semantics: Meaning, is_at_once: int, values: set[int]) -> None:
    tables, made = tables_of(DIFFERENCES, semantics, 3)
    assert made == is_at_once
    assert set(tables.values[DIFFERENCES.start, 3]) == values


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a / b if b else Fraction(0),
        lambda a, b: Fraction(0) if b == 0 else a / b,
        lambda a, b: a if a != b else b,
        lambda a, b: a + 0.5 * b,
        lambda a, b: Fraction(1),
    ],
    ids=["truth", "equal", "unequal", "a constant", "no array"],
)
def test_what_arrays_do_not_offer_is_told(function: Callable[..., Value]) -> None:
    semantics = type("Wrong", (Arithmetic,), {"subtract": elementwise(FractionArray)(function)})
    with pytest.raises(
        SemanticsError, match="subtract is declared elementwise, and called with FractionArray"
    ):
        tables_of(DIFFERENCES, semantics, 3)


@dataclass(frozen=True)
class Anything:
    """An array of any values whatever, whose elements the function does not change."""

    values: Sequence[Value]

    @classmethod
    def of(cls, values: Sequence[Value]) -> Anything:
        return cls(values)

    def along(self, axis: int) -> Anything:
        return self

    def distinct(self) -> tuple[Sequence[Value], np.ndarray]:
        return self.values, np.arange(len(self.values))[None]


@pytest.mark.parametrize("value", [nan, inf, [], ANY, OneOf([1])], ids=repr)
def test_values_of_arrays_are_checked_as_those_of_functions_are(value: Value) -> None:
    @elementwise(Anything)
    def subtract(a: Value, b: Value) -> Value:
        return Anything([value, value])

    semantics = type("Wrong", (Arithmetic,), {"subtract": staticmethod(subtract)})
    with pytest.raises(SemanticsError, match=r"a value of subtract, called with Anything, is .*; return"):
        tables_of(DIFFERENCES, semantics, 3)


def test_several_values_of_one_part_are_no_argument_whatever_an_array_takes() -> None:
    class Last(Semantics):
        @elementwise(Anything)
        def add(a: Value, *others: Value) -> Value:
            return others[-1] if others else a

    tables, made = tables_of(Grammar.parse('e: "a" _pair -> add\n _pair: d "," d\n d: "1" | "2"'), Last, 4)
    assert made == 0
    assert set(tables.values[Nonterminal("e"), 4]) == {"1", "2"}


def test_tables_that_are_kept_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Again(Arithmetic):
        """Arithmetic whose tables nobody has asked for yet."""

    asked = []
    monkeypatch.setattr(compiled, "at_once", lambda *given: asked.append(given) or at_once(*given))
    value_tables(DIFFERENCES, Again, 3, PLENTY)
    assert any(at_once(*given) is not None for given in asked)
