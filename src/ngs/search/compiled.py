"""The value tables of a grammar with its semantics, compiled once and kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, TypeVar, cast

from ngs.errors import BudgetError
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import normal_form
from ngs.parsing.circuit import Circuit, unroll
from ngs.parsing.tables import Tables, compile_tables
from ngs.reasoning.semantics import Meaning, interpret

BUDGET = 2_000_000
"""Table entries: some ten seconds of compiling for four operations on fractions, enough for length 9."""

P = ParamSpec("P")
R = TypeVar("R")


def remembered(function: Callable[P, R]) -> Callable[P, R]:
    """Keep the results of the last 16 calls. A semantics is told by identity: it must not change."""
    return cast(Callable[P, R], lru_cache(maxsize=16)(function))


@remembered
def value_tables(grammar: Grammar, semantics: Meaning, longest: int, budget: int = BUDGET) -> Tables:
    """V(A, n) and its tables for sentences of up to `longest` symbols; a BudgetError beyond `budget`."""
    form = normal_form(grammar)
    shorter = form.lengths(longest - 1)
    known = value_tables(grammar, semantics, shorter[-1], budget) if shorter else None
    return compile_tables(form, interpret(grammar, semantics), longest, budget, known)


@remembered
def value_circuit(grammar: Grammar, semantics: Meaning, longest: int, budget: int = BUDGET) -> Circuit:
    """The circuit whose roots are the answers: `circuit.roots[length][answer]`."""
    return unroll(value_tables(grammar, semantics, longest, budget))


@remembered
def exact_length(grammar: Grammar, semantics: Meaning, longest: int, budget: int = BUDGET) -> int:
    """The greatest length up to `longest` whose tables stay within the budget; 0 if none does."""
    fitting = 0
    for length in normal_form(grammar).lengths(longest):
        try:
            value_tables(grammar, semantics, length, budget)
        except BudgetError:
            break
        fitting = length
    return fitting
