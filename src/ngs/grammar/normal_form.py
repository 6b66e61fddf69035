"""A grammar in Chomsky normal form that still knows which rules each step stands for.

Empty rules and unit rules are removed, longer bodies are split from the left:

    A -> X1 X2 X3    becomes    A -> X1 <X2 X3>,  <X2 X3> -> X2 X3

Each step keeps the rules it replaces, so that a value, or a tree, can be built bottom-up from the
steps alone (`Step.combine`). An algebra says what is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import combinations, product
from typing import Any, Protocol

from ngs.errors import GrammarError, ParseError
from ngs.grammar.grammar import Grammar
from ngs.grammar.rules import Nonterminal, Rule, Symbol, Terminal
from ngs.grammar.tree import Leaf, Node, Tree
from ngs.grammar.validation import nullable

MOST_EMPTY = 10
"""Parts of one rule's body that may be empty: each doubles the versions without empty parts."""

Value = Any
"""Whatever an algebra builds: a tree, a number, a set of objects."""


class Algebra(Protocol):
    """How the values of symbols combine: trees, numbers, or nothing at all."""

    def leaf(self, position: int, symbol: str) -> Value: ...

    def node(self, rule: Rule, children: tuple[Value, ...]) -> Value: ...


class TreeAlgebra:
    """Builds reasoning trees: a node for each rule, except for rules that only rename."""

    def leaf(self, position: int, symbol: str) -> Tree:
        return Leaf(position, symbol)

    def node(self, rule: Rule, children: tuple[Tree, ...]) -> Tree:
        return children[0] if rule.renames else Node(rule, children)


def fold(tree: Tree, algebra: Algebra) -> Value:
    """The value of `tree` in `algebra`, bottom-up."""
    if isinstance(tree, Leaf):
        return algebra.leaf(tree.position, tree.symbol)
    return algebra.node(tree.rule, tuple(fold(child, algebra) for child in tree.children))


@dataclass(frozen=True)
class Production:
    """`rule` with only the body positions `kept` left; the others derive nothing, as `empties` show."""

    rule: Rule
    kept: tuple[int, ...]
    empties: tuple[tuple[int, Tree], ...]

    def combine(self, algebra: Algebra, kept: Sequence[Value]) -> Value:
        if not self.empties:
            return algebra.node(self.rule, tuple(kept))
        children = dict(zip(self.kept, kept, strict=True))
        children.update((k, fold(tree, algebra)) for k, tree in self.empties)
        return algebra.node(self.rule, tuple(children[k] for k in range(len(self.rule.body))))


@dataclass(frozen=True)
class Suffix:
    """The last symbols of a production's body, from the kept position number `first` on."""

    production: int
    first: int


NormalSymbol = Terminal | Nonterminal | Suffix


@dataclass(frozen=True)
class Step:
    """`head -> left right`, or `head -> left` for a terminal `left` alone.

    `productions` are what the step stands for, outermost first: unit rules, then the one whose body
    begins with `left`. A suffix has none: its value is the tuple of its children's values.
    """

    head: NormalSymbol
    left: NormalSymbol
    right: NormalSymbol | None
    productions: tuple[Production, ...]

    def combine(self, algebra: Algebra, left: Value, right: Value = None) -> Value:
        if self.right is None:
            value: Value = (left,)
        else:
            value = (left, *right) if isinstance(self.right, Suffix) else (left, right)
        if not self.productions:
            return value
        value = self.productions[-1].combine(algebra, value)
        for production in self.productions[-2::-1]:
            value = production.combine(algebra, (value,))
        return value


@dataclass(frozen=True)
class NormalForm:
    """The steps of a grammar by head. Their order decides which tree an ambiguous sentence gets."""

    grammar: Grammar
    steps: Mapping[NormalSymbol, tuple[Step, ...]]

    @property
    def start(self) -> Nonterminal:
        return self.grammar.start

    @cached_property
    def _splits(self) -> dict[tuple[NormalSymbol, int], tuple[tuple[Step, int], ...]]:
        return {}

    def derives(self, symbol: NormalSymbol, length: int) -> bool:
        """Whether `symbol` derives some sequence of exactly `length` symbols."""
        return length == 1 if isinstance(symbol, Terminal) else bool(self.splits(symbol, length))

    def splits(self, symbol: NormalSymbol, length: int) -> tuple[tuple[Step, int], ...]:
        """The steps of `symbol` with the length of their left part, for spans of `length` symbols."""
        key = symbol, length
        if key not in self._splits:
            self._splits[key] = tuple(self._find_splits(symbol, length))
        return self._splits[key]

    def _find_splits(self, symbol: NormalSymbol, length: int) -> Iterator[tuple[Step, int]]:
        for step in self.steps[symbol]:
            if step.right is None:
                if length == 1:
                    yield step, 1
                continue
            for left in range(1, length):
                if self.derives(step.left, left) and self.derives(step.right, length - left):
                    yield step, left

    def count(self, length: int, prefix: Sequence[str] = ()) -> int:
        """The number of derivations of exactly `length` symbols that begin with `prefix`."""

        @cache
        def count(symbol: NormalSymbol, first: int, length: int) -> int:
            if isinstance(symbol, Terminal):
                return int(first >= len(prefix) or symbol.name == prefix[first])
            return sum(
                count(step.left, first, left)
                * (
                    1
                    if step.right is None
                    else count(step.right, min(first + left, len(prefix)), length - left)
                )
                for step, left in self.splits(symbol, length)
            )

        return count(self.start, 0, length)

    def lengths(self, longest: int) -> tuple[int, ...]:
        """The lengths up to `longest` at which the language is not empty."""
        return tuple(n for n in range(1, longest + 1) if self.derives(self.start, n))


def no_such_length(length: int, known: Iterable[int], longest: int) -> ParseError:
    """The error for a length at which the language is empty."""
    lengths = " ".join(map(str, known)) or "(none)"
    return ParseError(
        f"the grammar has no sentence of length {length}; the lengths up to {longest} it has are {lengths}; "
        f"give only such lengths"
    )


@lru_cache(maxsize=64)
def normal_form(grammar: Grammar) -> NormalForm:
    empty_trees = _empty_trees(grammar)
    productions = [p for rule in grammar.rules for p in _productions(rule, empty_trees)]
    by_head: dict[Nonterminal, list[int]] = {head: [] for head in grammar.by_head}
    for index, production in enumerate(productions):
        by_head[production.rule.head].append(index)
    steps: dict[NormalSymbol, tuple[Step, ...]] = {}
    for index, production in enumerate(productions):
        symbols = _symbols(production, index)
        for k in range(1, len(production.kept) - 1):
            suffix = Suffix(index, k)
            steps[suffix] = (Step(suffix, symbols[k][0], symbols[k][1], ()),)

    def expand(head: Nonterminal) -> tuple[Step, ...]:
        if head not in steps:
            found: list[Step] = []
            for index in by_head[head]:
                production = productions[index]
                first, rest = _symbols(production, index)[0]
                if rest is None and isinstance(first, Nonterminal):
                    # A => B, B -> X Y  =>  A -> X Y: the unit rule stays in `productions`
                    found += (
                        Step(head, inner.left, inner.right, (production, *inner.productions))
                        for inner in expand(first)
                    )
                else:
                    found.append(Step(head, first, rest, (production,)))
            steps[head] = tuple(found)
        return steps[head]

    for head in by_head:
        expand(head)
    return NormalForm(grammar, steps)


def _symbols(production: Production, index: int) -> list[tuple[NormalSymbol, NormalSymbol | None]]:
    """For each kept position its symbol, and the symbol for all that follows."""
    body = [production.rule.body[k] for k in production.kept]
    pairs: list[tuple[NormalSymbol, NormalSymbol | None]] = []
    for k, symbol in enumerate(body):
        rest = len(body) - k - 1
        pairs.append((symbol, None if rest == 0 else body[-1] if rest == 1 else Suffix(index, k + 1)))
    return pairs


def _productions(rule: Rule, empty_trees: Mapping[Symbol, Sequence[Tree]]) -> Iterator[Production]:
    """Every version of `rule` without empty parts, fullest first."""
    optional = [k for k, symbol in enumerate(rule.body) if symbol in empty_trees]
    if len(optional) > MOST_EMPTY:
        raise GrammarError(
            f"line {rule.line}: rule `{rule.head}` has {len(optional)} parts that can be empty, which makes "
            f"2^{len(optional)} versions of it; split it into rules with at most {MOST_EMPTY} such parts each"
        )
    for count in range(len(optional) + 1):
        for dropped in combinations(optional, count):
            kept = tuple(k for k in range(len(rule.body)) if k not in dropped)
            if kept:
                for trees in product(*(empty_trees[rule.body[k]] for k in dropped)):
                    yield Production(rule, kept, tuple(zip(dropped, trees, strict=True)))


def _empty_trees(grammar: Grammar) -> dict[Symbol, tuple[Tree, ...]]:
    """For each nonterminal that derives nothing, the tree of every way to do so."""
    empty, algebra = nullable(grammar.rules), TreeAlgebra()

    @cache
    def trees(head: Nonterminal) -> tuple[Tree, ...]:  # ends: validation refuses A =>+ A
        rules = (rule for rule in grammar.by_head[head] if empty.issuperset(rule.body))
        return tuple(
            algebra.node(rule, children) for rule in rules for children in product(*map(trees, rule.body))
        )

    return {head: trees(head) for head in empty}
