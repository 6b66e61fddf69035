"""Whether a multiset of symbols, all of them and no others, can complete a prefix."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING

from ngs.errors import ParseError
from ngs.grammar.grammar import Grammar
from ngs.grammar.rules import Terminal

if TYPE_CHECKING:
    from ngs.grammar.automaton import PrefixAutomaton

Counts = tuple[int, ...]  # how many symbols of each class

MOST_REMEMBERED = 500_000  # multisets in the memo before it starts afresh: under 200 MB


def symbol_classes(grammar: Grammar) -> tuple[int, ...]:
    """The class of each symbol: two are in one class if they occur in the same contexts, as digits do.

    A context is a rule (aliases aside) with one symbol of its body left out. Symbols of one class lead from
    every state to the same state.
    """
    contexts: defaultdict[str, set[Hashable]] = defaultdict(set)
    for rule in grammar.rules:
        for k, symbol in enumerate(rule.body):
            if isinstance(symbol, Terminal):
                contexts[symbol.name].add((rule.head, rule.body[:k], rule.body[k + 1 :]))
    numbers: dict[frozenset[Hashable], int] = {}
    return tuple(numbers.setdefault(frozenset(contexts[s]), len(numbers)) for s in grammar.symbols)


class Multisets:
    """Whether a multiset of symbols can complete a state: a search over (state, symbols left by class)."""

    def __init__(self, automaton: PrefixAutomaton) -> None:
        self._automaton = automaton
        self._class = symbol_classes(automaton.grammar)
        self._moves: dict[int, tuple[tuple[int, int], ...]] = {}
        self._memo: dict[tuple[int, Counts], bool] = {}

    def counts(self, multiset: Mapping[int, int]) -> Counts:
        counts = [0] * (max(self._class) + 1)
        for symbol, number in multiset.items():
            if not 0 <= symbol < len(self._class) or number < 0:
                raise ParseError(
                    f"a multiset says how often (0 or more) each symbol id (0 to {len(self._class) - 1}) "
                    f"is to be used; got {number} for symbol id {symbol}"
                )
            counts[self._class[symbol]] += number
        return tuple(counts)

    def legal(self, state: int, multiset: Mapping[int, int]) -> tuple[int, ...]:
        counts = self.counts(multiset)
        open_classes = {
            kind
            for kind, reached in self._steps(state)
            if counts[kind] and self.complete(reached, _without(counts, kind))
        }
        return tuple(
            symbol
            for symbol in self._automaton.legal(state)
            if multiset.get(symbol) and self._class[symbol] in open_classes
        )

    def complete(self, state: int, counts: Counts) -> bool:
        if not self._automaton.completes_in(state, sum(counts)):
            return False
        node = state, counts
        known = self._memo.get(node)
        return self._search(node) if known is None else known

    def _search(self, root: tuple[int, Counts]) -> bool:
        """Depth first to a first success; what was met on the way is cached."""
        if len(self._memo) > MOST_REMEMBERED:
            self._memo.clear()
        trail = [(root, self._continuations(root))]
        while trail and any(trail[-1][0][1]):
            node, continuations = trail[-1]
            following = next(continuations, None)
            if following is None:
                self._memo[node] = False
                trail.pop()
            elif self._memo.get(following, True):
                trail.append((following, self._continuations(following)))
        self._memo.update({node: True for node, _ in trail})
        return bool(trail)

    def _continuations(self, node: tuple[int, Counts]) -> Iterator[tuple[int, Counts]]:
        state, counts = node
        remaining = sum(counts) - 1
        for kind, reached in self._steps(state):
            if counts[kind] and self._automaton.completes_in(reached, remaining):
                yield reached, _without(counts, kind)

    def _steps(self, state: int) -> tuple[tuple[int, int], ...]:
        """The classes that may come next, and the state after each."""
        if state not in self._moves:
            first = {self._class[symbol]: symbol for symbol in reversed(self._automaton.legal(state))}
            self._moves[state] = tuple(
                (kind, self._automaton.advance(state, symbol)) for kind, symbol in sorted(first.items())
            )
        return self._moves[state]


def _without(counts: Counts, kind: int) -> Counts:
    return (*counts[:kind], counts[kind] - 1, *counts[kind + 1 :])
