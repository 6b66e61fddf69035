"""Which values each (symbol, length) can take, and how they combine: compiled once, no probabilities.

    V(A, n) = { f(b, c) : A -> B C in the grammar, 0 < m < n, b in V(B, m), c in V(C, n - m) }

With the algebra of a semantics these are the triples of the exact posterior; with `Blank`, the plain chart.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ngs.errors import BudgetError
from ngs.grammar.normal_form import Algebra, NormalForm, NormalSymbol, Step, Value
from ngs.grammar.rules import Rule, Terminal

Indices = npt.NDArray[np.int64]

Combined = tuple[Sequence[Value], Indices]
"""The different values f(b, c) in the order in which they first appear, and the number of each [b, c]."""

AtOnce = Callable[[Step, Sequence[Value], Sequence[Value]], Combined | None]
"""The same as `pair_by_pair` in one go; None where that is not to be had."""


class Blank:
    """The algebra in which everything has the same value."""

    def leaf(self, position: int, symbol: str) -> Value:
        return ()

    def node(self, rule: Rule, children: tuple[Value, ...]) -> Value:
        return ()


@dataclass(frozen=True)
class Table:
    """One step for one length of its left part; `out[b, c]` is the index of f(b, c) in V(A, n)."""

    step: Step
    out: Indices


@dataclass(frozen=True)
class Tables:
    """V(A, n) and its tables for every (A, n) that a sentence of at most `longest` symbols needs."""

    form: NormalForm
    longest: int
    values: Mapping[tuple[NormalSymbol, int], Mapping[Value, int]]
    tables: Mapping[tuple[NormalSymbol, int], tuple[Table, ...]]

    @property
    def entries(self) -> int:
        """The number of distinct combinations: what the budget limits."""
        return sum(table.out.size for tables in self.tables.values() for table in tables)


def pair_by_pair(algebra: Algebra, step: Step, lefts: Sequence[Value], rights: Sequence[Value]) -> Combined:
    """f(b, c) for all pairs of two lists."""
    found: dict[Value, int] = {}
    numbers = [found.setdefault(step.combine(algebra, b, c), len(found)) for b in lefts for c in rights]
    return [*found], np.array(numbers).reshape(len(lefts), len(rights))


def compile_tables(
    form: NormalForm,
    algebra: Algebra,
    longest: int,
    budget: int,
    known: Tables | None = None,
    at_once: AtOnce = lambda *_: None,
) -> Tables:
    """All tables up to `longest`; a BudgetError before they would have more than `budget` entries.

    `known` are tables of the same form and algebra for shorter sentences; `at_once` is tried first.
    """
    values: dict[tuple[NormalSymbol, int], Mapping[Value, int]] = dict(known.values) if known else {}
    tables: dict[tuple[NormalSymbol, int], tuple[Table, ...]] = dict(known.tables) if known else {}
    spent = known.entries if known else 0

    def compile_symbol(symbol: NormalSymbol, length: int) -> Mapping[Value, int]:
        nonlocal spent
        key = symbol, length
        if key in values:
            return values[key]
        if isinstance(symbol, Terminal):
            values[key] = {algebra.leaf(0, symbol.name): 0}
            return values[key]
        found: dict[Value, int] = {}
        compiled = []
        for step, left_length in form.splits(symbol, length):
            left = compile_symbol(step.left, left_length)
            right = None if step.right is None else compile_symbol(step.right, length - left_length)
            spent += len(left) * (1 if right is None else len(right))
            if spent > budget:
                raise BudgetError(
                    f"the exact tables for sentences of {longest} symbols need more than {budget} entries; "
                    f"raise the budget, shorten the sentences, or use the beam"
                )
            lefts, rights = [*left], [None] if right is None else [*right]
            different, numbers = at_once(step, lefts, rights) or pair_by_pair(algebra, step, lefts, rights)
            out = np.array([found.setdefault(value, len(found)) for value in different])[numbers]
            compiled.append(Table(step, out))
        values[key], tables[key] = found, tuple(compiled)
        return found

    for length in form.lengths(longest):
        compile_symbol(form.start, length)
    return Tables(form, longest, values, tables)
