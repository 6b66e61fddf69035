"""The value tables of a grammar with its semantics, compiled once and kept."""

from __future__ import annotations

from functools import lru_cache

from ngs.errors import BudgetError
from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import normal_form
from ngs.parsing.circuit import Circuit, unroll
from ngs.parsing.tables import Tables, compile_tables
from ngs.reasoning.semantics import Meaning, interpret

BUDGET = 4_000_000
"""Table entries: about 20 s of compiling and 0.5 GB for four operations on fractions."""


@lru_cache(maxsize=16)
def value_tables(grammar: Grammar, semantics: Meaning, longest: int, budget: int = BUDGET) -> Tables:
    """V(A, n) and its tables for sentences of up to `longest` symbols; a BudgetError beyond `budget`."""
    return compile_tables(normal_form(grammar), interpret(grammar, semantics), longest, budget)


@lru_cache(maxsize=16)
def value_circuit(grammar: Grammar, semantics: Meaning, longest: int, budget: int = BUDGET) -> Circuit:
    """The circuit whose roots are the answers: `circuit.roots[length][answer]`."""
    return unroll(value_tables(grammar, semantics, longest, budget))


@lru_cache(maxsize=16)
def fits(grammar: Grammar, semantics: Meaning, longest: int, budget: int = BUDGET) -> bool:
    """Whether the tables stay within the budget."""
    try:
        value_tables(grammar, semantics, longest, budget)
    except BudgetError:
        return False
    return True


@lru_cache(maxsize=256)
def unambiguous(grammar: Grammar, length: int) -> bool:
    """Whether each sentence of exactly `length` symbols has one tree."""
    return normal_form(grammar).count(length) == prefix_automaton(grammar).count(length)
