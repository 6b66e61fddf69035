"""Every derivation of a given length, straight from the rules: slow, obvious, the oracle of the tests."""

from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain
from typing import TypeVar

from ngs.grammar.grammar import Grammar
from ngs.grammar.rules import Rule, Symbol, Terminal
from ngs.grammar.tree import Leaf, Node, Sentence, Tree
from ngs.grammar.validation import nullable

T = TypeVar("T")


def derivations(grammar: Grammar, length: int) -> list[Tree]:
    """The tree of every derivation of exactly `length` symbols.

    Rules that only rename leave no node, so where two derivations differ in such rules alone the
    same tree stands in the list once for each of them.

    >>> pairs = Grammar.parse('s: s s -> pair | "a"')
    >>> [len(derivations(pairs, length)) for length in range(6)]
    [0, 1, 1, 2, 5, 14]
    >>> print(*derivations(pairs, 3))
    pair(a, pair(a, a)) pair(pair(a, a), a)
    """
    return list(_derive(grammar, length, Leaf, _tree, tuple))


def sentences(grammar: Grammar, length: int) -> list[Sentence]:
    """The distinct sentences of exactly `length` symbols.

    >>> sentences(Grammar.parse('s: "a" s "a" | "b" s "b" | "a" |'), 3)
    [('a', 'a', 'a'), ('b', 'a', 'b')]
    """
    return list(_derive(grammar, length, lambda _, symbol: (symbol,), _concatenation, _distinct))


def _derive(
    grammar: Grammar,
    length: int,
    leaf: Callable[[int, str], T],
    node: Callable[[Rule, tuple[T, ...]], T],
    collect: Callable[[Iterable[T]], tuple[T, ...]],
) -> tuple[T, ...]:
    """What the start symbol derives over the positions [0, length):

        D(w, i, i + 1) = { leaf(i, w) }
        D(A, i, k)     = { node(A -> X_1 ... X_m, c_1 ... c_m) : c_j in D(X_j, i_{j-1}, i_j) }

    over all rules of A and all i = i_0 <= i_1 <= ... <= i_m = k. It ends because a symbol that is
    not nullable covers at least one position, and validation refuses A =>+ A.
    """
    empty = nullable(grammar.rules)

    def least(body: tuple[Symbol, ...]) -> int:
        return sum(symbol not in empty for symbol in body)

    @cache
    def derive(symbol: Symbol, first: int, last: int) -> tuple[T, ...]:
        if isinstance(symbol, Terminal):
            return (leaf(first, symbol.name),) if last == first + 1 else ()
        return collect(
            node(rule, parts) for rule in grammar.by_head[symbol] for parts in split(rule.body, first, last)
        )

    @cache
    def split(body: tuple[Symbol, ...], first: int, last: int) -> tuple[tuple[T, ...], ...]:
        if not body:
            return ((),) if first == last else ()
        middles = range(first + least(body[:1]), last - least(body[1:]) + 1)
        return tuple(
            (part, *parts)
            for middle in middles
            for part in derive(body[0], first, middle)
            for parts in split(body[1:], middle, last)
        )

    return derive(grammar.start, 0, length)


def _tree(rule: Rule, children: tuple[Tree, ...]) -> Tree:
    return children[0] if rule.renames else Node(rule, children)


def _concatenation(_: Rule, parts: tuple[Sentence, ...]) -> Sentence:
    return tuple(chain.from_iterable(parts))


def _distinct(found: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(found))
