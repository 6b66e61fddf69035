"""The prefix automaton of a grammar: which symbols may come next, for decoding one symbol at a time.

A state is an Earley column without its position (`columns.py`), so prefixes that still want the same things
share one state: in arithmetic `1+` and `1*2-3+` do. Two refinements keep it small and right:

- A nonterminal that ends its item returns straight to where that item returns (Leo 1991, "A general
  context-free parsing algorithm running in linear time on every LR(k) grammar without using
  lookahead"), so right recursion and prefix notation do not pile up columns.
- An item that wants a nullable nonterminal also goes on without it (Aycock & Horspool 2002, "Practical
  Earley parsing"), so rules with empty bodies need no second look at a column.

States are built when first needed and kept: after warm-up, decoding is table look-up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from threading import RLock

from ngs.errors import BudgetError, ParseError
from ngs.grammar.columns import ROOT, Code, Column, Item, predict
from ngs.grammar.grammar import Grammar
from ngs.grammar.lengths import Completions
from ngs.grammar.multisets import Multisets

MOST_STATES = 2_000  # states after prefixes of one length that are followed together


@lru_cache(maxsize=32)
def prefix_automaton(grammar: Grammar) -> PrefixAutomaton:
    """Return the automaton of `grammar`, shared by all who ask for it.

    >>> from ngs import arithmetic_grammar
    >>> grammar = arithmetic_grammar()
    >>> automaton = prefix_automaton(grammar)
    >>> state = automaton.run(grammar.encode("1+"))
    >>> " ".join(grammar.decode(automaton.legal(state)))
    '0 1 2 3 4 5 6 7 8 9'
    >>> automaton.count(3)  # sentences of three symbols
    400
    """
    return PrefixAutomaton(grammar)


class PrefixAutomaton:
    """The prefixes of a grammar as numbered states; `start` is the empty prefix. Symbols are ids."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self._code = Code(grammar)
        self._columns: list[Column] = []
        self._states: dict[frozenset[Item], int] = {}
        self._legal: list[tuple[int, ...]] = []
        self._next: list[dict[int, int]] = []
        self._within: dict[tuple[int, int], tuple[int, ...]] = {}
        self._building = RLock()  # automata are shared, and servers have threads
        self.start = self._state([((self._code.start,), ROOT)])
        self._measure = Completions(self._code, self._columns, horizon=63)
        self._multisets = Multisets(self)

    def __reduce__(self) -> tuple[type[PrefixAutomaton], tuple[Grammar]]:
        return PrefixAutomaton, (self.grammar,)  # a copy numbers its states anew

    def legal(self, state: int) -> tuple[int, ...]:
        """The symbols that some sentence continues with."""
        return self._legal[state]

    def advance(self, state: int, symbol: int) -> int:
        """The state after one more symbol."""
        known = self._next[state].get(symbol)
        if known is not None:
            return known
        if symbol not in self._columns[state].scans:
            raise ParseError(f"{self._shown(symbol)} cannot come here: {self.expected(state)}")
        reached = self._next[state][symbol] = self._state(self._columns[state].scans[symbol])
        return reached

    def run(self, symbols: Iterable[int]) -> int:
        state = self.start
        for position, symbol in enumerate(symbols):
            try:
                state = self.advance(state, symbol)
            except ParseError as error:
                raise ParseError(f"position {position}: {error}") from None
        return state

    def accepts(self, state: int) -> bool:
        """Whether the prefix is a sentence as it stands."""
        return ((), ROOT) in self._columns[state].items

    def completes_in(self, state: int, remaining: int) -> bool:
        """Whether exactly `remaining` more symbols can make a sentence."""
        if remaining < 0:
            return False
        measure = self._measure
        if remaining > measure.horizon:
            measure = self._measure = Completions(self._code, self._columns, horizon=2 * remaining)
        return bool(measure.lengths(state) >> remaining & 1)

    def legal_within(self, state: int, remaining: int) -> tuple[int, ...]:
        """The next symbols that begin some completion by exactly `remaining` symbols."""
        known = self._within.get((state, remaining))
        if known is not None:
            return known
        found = self._within[state, remaining] = tuple(
            symbol
            for symbol in self.legal(state)
            if self.completes_in(self.advance(state, symbol), remaining - 1)
        )
        return found

    def completes_with(self, state: int, multiset: Mapping[int, int]) -> bool:
        """Whether all the symbols of `multiset` (symbol id -> how many), and no others, can make a sentence.

        The search may take exponential time, since the question is NP-complete (Esparza 1997, "Petri
        nets, commutative context-free grammars, and basic parallel processes"). It is quick where few
        classes of symbols differ; see `symbol_classes`.
        """
        return self._multisets.complete(state, self._multisets.counts(multiset))

    def legal_from(self, state: int, multiset: Mapping[int, int]) -> tuple[int, ...]:
        """The next symbols from `multiset` after which the rest of it can still make a sentence."""
        return self._multisets.legal(state, multiset)

    def layers(self, length: int, prefix: Sequence[int] = ()) -> Iterator[Mapping[int, int]]:
        """For `prefix` and each further symbol: the states of the sentences of `length` that begin with it,
        and how many prefixes reach each.

        A BudgetError where there are more than MOST_STATES, as after nested brackets of several kinds.
        """
        state, left = self.run(prefix), length - len(prefix)
        layer = {state: 1} if self.completes_in(state, left) else {}
        yield layer
        for remaining in range(left, 0, -1):
            longer: defaultdict[int, int] = defaultdict(int)
            for state, number in layer.items():
                for symbol in self.legal_within(state, remaining):
                    longer[self.advance(state, symbol)] += number
            if len(longer) > MOST_STATES:
                raise BudgetError(
                    f"the prefixes of sentences of {length} symbols lead to more than {MOST_STATES} states, "
                    f"too many to follow them all; use shorter sentences (`best` has no such limit)"
                )
            yield (layer := longer)

    def count(self, length: int, prefix: Sequence[int] = ()) -> int:
        """The number of sentences of `length` symbols that begin with `prefix`; limited as `layers`."""
        *_, last = self.layers(length, prefix)
        return sum(last.values())

    def symbols_at(self, length: int) -> tuple[tuple[int, ...], ...]:
        """For each position, the symbols that some sentence of `length` has there; limited as `layers`."""
        pairs = zip(range(length, 0, -1), self.layers(length), strict=False)
        found = ({s for state in layer for s in self.legal_within(state, rest)} for rest, layer in pairs)
        return tuple(tuple(sorted(symbols)) for symbols in found)

    def substitutes(self, symbols: Sequence[int], position: int) -> tuple[int, ...]:
        """The symbols that can stand at `position` of a sentence, all others left as they are."""
        before = self.run(symbols[:position])
        return tuple(
            symbol
            for symbol in self.legal(before)
            if self._finishes(self.advance(before, symbol), symbols[position + 1 :])
        )

    def recognises(self, symbols: Sequence[int]) -> bool:
        return self._finishes(self.start, symbols)

    def _finishes(self, state: int, symbols: Sequence[int]) -> bool:
        for symbol in symbols:
            if symbol not in self.legal(state):
                return False
            state = self.advance(state, symbol)
        return self.accepts(state)

    def _state(self, scanned: Iterable[Item]) -> int:
        with self._building:
            items = self._complete(scanned)
            state = self._states.setdefault(items, len(self._columns))
            if state == len(self._columns):
                self._columns.append(predict(self._code, state, items))
                self._legal.append(tuple(sorted(self._columns[state].scans)))
                self._next.append({})
            return state

    def _complete(self, scanned: Iterable[Item]) -> frozenset[Item]:
        """All items that follow from scanned ones and still want something, or end the sentence."""
        found: set[Item] = set()
        agenda = list(scanned)
        while agenda:
            item = agenda.pop()
            if item in found:
                continue
            found.add(item)
            rest, back = item
            if not rest and back != ROOT:
                # COMPLETE: [, (j, A)] in k, [A b, r] in j  =>  [b, r] in k
                agenda += self._columns[back[0]].waiting[back[1]]
            elif rest and rest[0] in self._code.nullable:
                # SKIP: [A b, r] in k, A =>* nothing  =>  [b, r] in k
                agenda.append((rest[1:], back))
        return frozenset(item for item in found if item[0] or item[1] == ROOT)

    def expected(self, state: int) -> str:
        """What may come next, in words."""
        symbols = " ".join(self.grammar.decode(self.legal(state)))
        if not symbols:
            return "the sentence is complete"
        return f"expected {symbols}" + (" or the end" if self.accepts(state) else "")

    def _shown(self, symbol: int) -> str:
        symbols = self.grammar.symbols
        return repr(symbols[symbol]) if 0 <= symbol < len(symbols) else f"symbol id {symbol}"
