"""The value tables of a grammar with its semantics, compiled once and cached."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import ParamSpec, TypeVar, cast

import torch

from ngs.errors import BudgetError, SemanticsError
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import normal_form
from ngs.parsing.circuit import Circuit, unroll
from ngs.parsing.tables import Tables, compile_tables
from ngs.reasoning.elementwise import at_once
from ngs.reasoning.operation import is_hashable
from ngs.reasoning.semantics import Meaning, interpret
from ngs.search.judges import TableValues

BUDGET = 2_000_000
"""Table entries: enough for formulas of length 9, whose 550,000 take half a second, or four pair by pair."""

P = ParamSpec("P")
R = TypeVar("R")


def cached(function: Callable[P, R]) -> Callable[P, R]:
    """Cache the results of the last 16 calls. A semantics must not change: it is told apart by its hash."""
    return cast(Callable[P, R], lru_cache(maxsize=16)(function))


def check_cacheable(semantics: Meaning) -> None:
    if not is_hashable(semantics):
        raise SemanticsError(
            f"the semantics {semantics!r} is not hashable, so its tables cannot be cached; "
            f"make it a plain class, or a frozen dataclass of hashable fields"
        )


@cached
def value_tables(grammar: Grammar, semantics: Meaning, longest: int, budget: int) -> Tables:
    """V(A, n) and its tables for sentences of up to `longest` symbols; a BudgetError beyond `budget`."""
    form = normal_form(grammar)
    shorter = form.lengths(longest - 1)
    known = value_tables(grammar, semantics, shorter[-1], budget) if shorter else None
    algebra = interpret(grammar, semantics)
    return compile_tables(form, algebra, longest, budget, known, partial(at_once, algebra))


@cached
def value_circuit(
    grammar: Grammar, semantics: Meaning, longest: int, budget: int, device: torch.device
) -> Circuit:
    """The circuit whose roots are the answers, on a device: `circuit.roots[length][answer]`."""
    return unroll(value_tables(grammar, semantics, longest, budget)).to(device)


@cached
def exact_length(grammar: Grammar, semantics: Meaning, longest: int, budget: int) -> int:
    """The greatest length up to `longest` whose tables stay within the budget; 0 if none does."""
    lengths = [0, *normal_form(grammar).lengths(longest)]
    if len(lengths) == 1:
        return 0
    shorter = exact_length(grammar, semantics, lengths[-2], budget)
    if shorter < lengths[-2]:
        return shorter  # what is too long for a shorter sentence is not tried again
    try:
        value_tables(grammar, semantics, lengths[-1], budget)
    except BudgetError:
        return shorter
    return lengths[-1]


@cached
def table_values(
    grammar: Grammar, semantics: Meaning, longest: int, budget: int, device: torch.device
) -> TableValues:
    """Parses and executes sentences of up to `longest` symbols by table look-up, on a device."""
    return TableValues(grammar, value_tables(grammar, semantics, longest, budget)).to(device)
