"""A grammar in Chomsky normal form that still knows which rules each step stands for.

Empty rules and unit rules are removed, longer bodies are split from the left:

    A -> X1 X2 X3    becomes    A -> X1 <X2 X3>,  <X2 X3> -> X2 X3

Each step keeps the rules it replaces, so that an algebra can build a value or a tree bottom-up from the steps
alone (`Step.combine`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import combinations, product
from typing import Any, Protocol

from ngs.errors import GrammarError, ParseError
from ngs.grammar.grammar import Grammar
from ngs.grammar.rules import Nonterminal, Rule, Symbol, Terminal
from ngs.grammar.tree import Leaf, Node, Tree
from ngs.grammar.validation import nullable

MOST_EMPTY = 10  # parts of one rule's body that may be empty: each doubles the versions without empty parts

Value = Any  # whatever an algebra builds: a tree, a number, a set of objects


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

    `productions` are the rules it replaces, outermost first: unit rules, then the one whose body begins with
    `left`. A suffix has none: its value is the tuple of its children's values.
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


Derivation = Leaf | tuple[Step, *tuple["Derivation", ...]]
"""The leaf of a terminal, or the step of any other symbol with the derivations of its one or two parts."""


def built(derivation: Derivation, algebra: Algebra) -> Value:
    """The value of `derivation` in `algebra`, bottom-up."""
    if isinstance(derivation, Leaf):
        return algebra.leaf(derivation.position, derivation.symbol)
    step, *parts = derivation
    if len(parts) == 1:
        return step.combine(algebra, built(parts[0], algebra))
    return step.combine(algebra, built(parts[0], algebra), built(parts[1], algebra))


@dataclass(frozen=True)
class NormalForm:
    """The steps of a grammar by head. Their order decides which tree an ambiguous sentence gets."""

    grammar: Grammar
    steps: Mapping[NormalSymbol, tuple[Step, ...]]

    @property
    def start(self) -> Nonterminal:
        return self.grammar.start

    def derives(self, symbol: NormalSymbol, length: int) -> bool:
        """Whether `symbol` derives some sequence of exactly `length` symbols."""
        return length == 1 if isinstance(symbol, Terminal) else bool(self.splits(symbol, length))

    @cached_property
    def splits(self) -> Callable[[NormalSymbol, int], tuple[tuple[Step, int], ...]]:
        """(symbol, length) -> its steps with the length of their left part, for spans of `length` symbols."""
        return cache(self._splits)

    def _splits(self, symbol: NormalSymbol, length: int) -> tuple[tuple[Step, int], ...]:
        found = []
        for step in self.steps[symbol]:
            if step.right is None:
                found += [(step, 1)] if length == 1 else []
                continue
            for left in range(1, length):
                if self.derives(step.left, left) and self.derives(step.right, length - left):
                    found.append((step, left))
        return tuple(found)

    def derivations(self, sentence: Sequence[str], most: int) -> tuple[Derivation, ...]:
        """The first `most` derivations of a sentence, by the order of steps, then the shortest left part."""
        leaves, splits = [(Leaf(*pair),) for pair in enumerate(sentence)], self.splits

        @cache
        def inner(symbol: NormalSymbol, start: int, length: int) -> list[Derivation]:
            found: list[Derivation] = []
            for step, left in splits(symbol, length):
                for begin in some(step.left, start, left):
                    if step.right is None:
                        found.append((step, begin))
                        continue
                    for end in some(step.right, start + left, length - left):
                        found.append((step, begin, end))
                if len(found) >= most:
                    return found[:most]
            return found

        def some(symbol: NormalSymbol, start: int, length: int) -> Sequence[Derivation]:
            if isinstance(symbol, Terminal):
                return leaves[start] if sentence[start] == symbol.name else ()
            return inner(symbol, start, length)

        return tuple(inner(self.start, 0, len(sentence)))

    def count(self, length: int, prefix: Sequence[str] = ()) -> int:
        """The number of derivations of exactly `length` symbols that begin with `prefix`."""

        @cache
        def count(symbol: NormalSymbol | None, first: int, length: int) -> int:
            if symbol is None:
                return 1
            if isinstance(symbol, Terminal):
                return int(first >= len(prefix) or symbol.name == prefix[first])
            return sum(
                count(step.left, first, left)
                * count(step.right, min(first + left, len(prefix)), length - left)
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
    productions = (p for rule in grammar.rules for p in _productions(rule, empty_trees))
    steps: dict[NormalSymbol, tuple[Step, ...]] = {}
    first_steps: dict[Nonterminal, list[Step]] = {head: [] for head in grammar.by_head}
    for number, production in enumerate(productions):
        body: list[NormalSymbol] = [production.rule.body[k] for k in production.kept]
        suffixes = [Suffix(number, k) for k in range(1, len(body) - 1)]
        rests = [*suffixes, *body[1:][-1:], None]  # what follows each symbol
        head = production.rule.head
        first_steps[head].append(Step(head, body[0], rests[0], (production,)))
        steps |= {x: (Step(x, body[x.first], rests[x.first], ()),) for x in suffixes}

    @cache
    def expand(head: Nonterminal) -> tuple[Step, ...]:
        found: list[Step] = []
        for step in first_steps[head]:
            if step.right is None and isinstance(step.left, Nonterminal):
                # A => B, B -> X Y  =>  A -> X Y: the unit rule stays in `productions`
                found += (
                    Step(head, inner.left, inner.right, (*step.productions, *inner.productions))
                    for inner in expand(step.left)
                )
            else:
                found.append(step)
        return tuple(found)

    return NormalForm(grammar, steps | {head: expand(head) for head in grammar.by_head})


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
    """For each nonterminal that derives nothing, every way to do so, with nodes for renaming rules too."""
    empty = nullable(grammar.rules)

    @cache
    def trees(head: Nonterminal) -> tuple[Tree, ...]:  # ends: validation refuses A =>+ A
        rules = (rule for rule in grammar.by_head[head] if empty.issuperset(rule.body))
        return tuple(Node(rule, children) for rule in rules for children in product(*map(trees, rule.body)))

    return {head: trees(head) for head in empty}
