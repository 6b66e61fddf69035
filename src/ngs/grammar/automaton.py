"""The prefix automaton of a grammar: which symbols may come next, for decoding one symbol at a time.

A state is an Earley column (Earley 1970, "An efficient context-free parsing algorithm") without its
position. An item of Earley's, [j, A -> a . b], says that `b` is still wanted and that then the items
of column j that wait for A go on. What lies left of the dot never matters again, so here an item is

    [b, (j, A)]    `rest`: what is still wanted; `back`: the column and the nonterminal to return to

and a column is the set of its items that are not predictions. Columns are hash-consed and `back` names
a column, not a position, so prefixes that still want the same things share one state: in arithmetic
`1+` and `1*2-3+` do. Two refinements keep it small and right:

- A nonterminal that ends its item returns straight to where that item returns (Leo 1991, "A general
  context-free parsing algorithm running in linear time on every LR(k) grammar without using
  lookahead"), so right recursion and prefix notation do not pile up columns.
- An item that wants a nullable nonterminal also goes on without it (Aycock & Horspool 2002, "Practical
  Earley parsing"), so rules with empty bodies need no second look at a column.

States are built when first asked for and kept: after warm-up, decoding is table look-up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import RLock
from typing import TypeVar

from ngs.errors import ParseError
from ngs.grammar.grammar import Grammar
from ngs.grammar.rules import Symbol, Terminal
from ngs.grammar.validation import nullable

T = TypeVar("T", bound=Hashable)
Rest = tuple[int, ...]  # symbols by number: a terminal is its column, a nonterminal is negative
Address = tuple[int, int]  # a state and the nonterminal that was started there
Item = tuple[Rest, Address]
Counts = tuple[int, ...]  # how many symbols of each class
Lengths = int  # a set of lengths as a bit mask: bit n stands for length n

ROOT: Address = (-1, 0)  # where the start symbol returns: the end of the sentence
MOST_REMEMBERED = 500_000  # multisets in the memo before it starts afresh: under 200 MB


@lru_cache(maxsize=32)
def prefix_automaton(grammar: Grammar) -> PrefixAutomaton:
    """The automaton of `grammar`, shared by all who ask for it."""
    return PrefixAutomaton(grammar)


@dataclass(frozen=True)
class _Column:
    """What a state knows: its items, what follows each symbol, and who waits for what it started."""

    items: frozenset[Item]
    scans: Mapping[int, frozenset[Item]]
    waiting: Mapping[int, frozenset[Item]]


class PrefixAutomaton:
    """States are numbers; `start` is the empty prefix. Symbols are columns of the network's scores."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self._code = _Code(grammar)
        self._columns: list[_Column] = []
        self._states: dict[frozenset[Item], int] = {}
        self._legal: list[tuple[int, ...]] = []
        self._next: list[dict[int, int]] = []
        self._within: dict[tuple[int, int], tuple[int, ...]] = {}
        self._building = RLock()  # automata are shared, and servers have threads
        self.start = self._state([((self._code.start,), ROOT)])
        self._measure = _Measure(self._code, self._columns, horizon=63)
        self._multisets = _Multisets(self)

    def __reduce__(self) -> tuple[type[PrefixAutomaton], tuple[Grammar]]:
        return PrefixAutomaton, (self.grammar,)  # a copy numbers its states anew

    def legal(self, state: int) -> tuple[int, ...]:
        """The symbols that some sentence continues with."""
        return self._legal[state]

    def advance(self, state: int, column: int) -> int:
        """The state after one more symbol."""
        known = self._next[state].get(column)
        if known is not None:
            return known
        if column not in self._columns[state].scans:
            raise ParseError(f"{self._shown(column)} cannot come here: {self._expected(state)}")
        reached = self._next[state][column] = self._state(self._columns[state].scans[column])
        return reached

    def run(self, columns: Iterable[int]) -> int:
        """The state after a whole prefix."""
        state = self.start
        for position, column in enumerate(columns):
            try:
                state = self.advance(state, column)
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
            measure = self._measure = _Measure(self._code, self._columns, horizon=2 * remaining)
        return bool(measure.lengths(state) >> remaining & 1)

    def legal_within(self, state: int, remaining: int) -> tuple[int, ...]:
        """The next symbols that begin some completion by exactly `remaining` symbols."""
        known = self._within.get((state, remaining))
        if known is not None:
            return known
        found = self._within[state, remaining] = tuple(
            column
            for column in self.legal(state)
            if self.completes_in(self.advance(state, column), remaining - 1)
        )
        return found

    def completes_with(self, state: int, multiset: Mapping[int, int]) -> bool:
        """Whether all the symbols of `multiset` (column -> how many), and no others, can make a sentence.

        The search may take exponential time, since the question is NP-complete (Esparza 1997, "Petri
        nets, commutative context-free grammars, and basic parallel processes"). It is quick where few
        classes of symbols differ; see `symbol_classes`.
        """
        return self._multisets.complete(state, self._multisets.counts(multiset))

    def legal_from(self, state: int, multiset: Mapping[int, int]) -> tuple[int, ...]:
        """The next symbols from `multiset` after which the rest of it can still make a sentence."""
        return self._multisets.legal(state, multiset)

    def count(self, length: int) -> int:
        """The number of distinct sentences of `length` symbols."""
        prefixes = {self.start: 1} if self.completes_in(self.start, length) else {}
        for remaining in range(length, 0, -1):
            longer: defaultdict[int, int] = defaultdict(int)
            for state, number in prefixes.items():
                for column in self.legal_within(state, remaining):
                    longer[self.advance(state, column)] += number
            prefixes = longer
        return sum(prefixes.values())

    def symbols_at(self, length: int) -> tuple[tuple[int, ...], ...]:
        """For each position, the symbols that some sentence of exactly `length` symbols has there."""
        states = {self.start}
        found = []
        for remaining in range(length, 0, -1):
            steps = {(q, column) for q in states for column in self.legal_within(q, remaining)}
            found.append(tuple(sorted({column for _, column in steps})))
            states = {self.advance(q, column) for q, column in steps}
        return tuple(found)

    def substitutes(self, columns: Sequence[int], position: int) -> tuple[int, ...]:
        """The symbols that can stand at `position` of a sentence, all others left as they are."""
        before = self.run(columns[:position])
        return tuple(
            column
            for column in self.legal(before)
            if self._finishes(self.advance(before, column), columns[position + 1 :])
        )

    def _finishes(self, state: int, columns: Sequence[int]) -> bool:
        for column in columns:
            if column not in self.legal(state):
                return False
            state = self.advance(state, column)
        return self.accepts(state)

    def _state(self, scanned: Iterable[Item]) -> int:
        with self._building:
            items = self._complete(scanned)
            state = self._states.setdefault(items, len(self._columns))
            if state == len(self._columns):
                self._columns.append(_predict(self._code, state, items))
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

    def _expected(self, state: int) -> str:
        symbols = " ".join(self.grammar.decode(self.legal(state)))
        if not symbols:
            return "the sentence is complete"
        return f"expected {symbols}" + (" or the end" if self.accepts(state) else "")

    def _shown(self, column: int) -> str:
        symbols = self.grammar.symbols
        return repr(symbols[column]) if 0 <= column < len(symbols) else f"column {column}"


class _Code:
    """The grammar in numbers; aliases play no role here."""

    def __init__(self, grammar: Grammar) -> None:
        heads = {head: -1 - k for k, head in enumerate(grammar.by_head)}

        def number(symbol: Symbol) -> int:
            return grammar.column(symbol.name) if isinstance(symbol, Terminal) else heads[symbol]

        self.start = heads[grammar.start]
        self.nullable = frozenset(heads[head] for head in nullable(grammar.rules))
        self.bodies: dict[int, frozenset[Rest]] = {
            heads[head]: frozenset(tuple(map(number, rule.body)) for rule in rules)
            for head, rules in grammar.by_head.items()
        }
        self.symbols = len(grammar.symbols)


def _predict(code: _Code, state: int, items: frozenset[Item]) -> _Column:
    """The column of `items`, with what it starts."""
    callers: defaultdict[int, set[Item]] = defaultdict(set)  # nonterminal -> items after it
    readers: defaultdict[int, set[Item]] = defaultdict(set)  # terminal -> items after it
    agenda, started = list(items), set(items)
    while agenda:
        rest, back = agenda.pop()
        if not rest:
            continue
        wanted, after = rest[0], (rest[1:], back)
        (callers if wanted < 0 else readers)[wanted].add(after)
        # PREDICT: [A b, r] in k, A -> c  =>  [c, (k, A)] in k
        new = {(body, (state, wanted)) for body in code.bodies.get(wanted, ())}
        # SKIP, in k itself: [A b, (k, B)] in k, A =>* nothing  =>  [b, (k, B)] in k
        new |= {after} if wanted in code.nullable else set()
        agenda += new - started
        started |= new

    def returns(back: Address) -> set[Address]:
        # TAIL CALL: all that wait for A in k are [A, r]  =>  (k, A) stands for these r
        # (No loop: a way from (k, A) back to itself is a derivation A =>+ A, which validation refuses.)
        if back[0] != state or any(rest for rest, _ in callers[back[1]]):
            return {back}
        return {end for _, outer in callers[back[1]] for end in returns(outer)}

    def resolved(found: set[Item]) -> frozenset[Item]:
        return frozenset((rest, end) for rest, back in found for end in returns(back))

    return _Column(
        items,
        {column: resolved(found) for column, found in readers.items()},
        {head: resolved(found) for head, found in callers.items()},
    )


class _Measure:
    """In how many symbols a state can be completed, without running through its continuations.

        lengths(state)  = union over its items [b, r] of    |b| + lengths(r)
        lengths((j, A)) = union over [b, r] after A in j of |b| + lengths(r),   lengths(ROOT) = {0}

    where |b| are the lengths of what `b` derives. All sets are cut at `horizon`.
    """

    def __init__(self, code: _Code, columns: Sequence[_Column], horizon: int) -> None:
        self.horizon = horizon
        self._columns = columns
        self._of_state: list[Lengths] = []
        self._of_address: dict[Address, Lengths] = {ROOT: 1}
        self._of_rest = self._derivable(code)
        self._adding = RLock()

    def lengths(self, state: int) -> Lengths:
        if state >= len(self._of_state):
            with self._adding:
                while state >= len(self._of_state):  # earlier columns first: later ones return to them
                    self._add(len(self._of_state))
        return self._of_state[state]

    def _derivable(self, code: _Code) -> dict[Rest, Lengths]:
        """|b| for each end `b` of a rule's body."""
        known: dict[Rest, Lengths] = {(): 1, **{(column,): 2 for column in range(code.symbols)}}
        sums: list[tuple[Rest, Rest, Rest]] = []
        for head, bodies in code.bodies.items():
            sums += [((head,), body, ()) for body in bodies]
            sums += [(b[k:], b[k : k + 1], b[k + 1 :]) for b in bodies for k in range(len(b) - 1)]
        return least_lengths(sums, known, self.horizon)

    def _add(self, state: int) -> None:
        """Solve the equations of one column; where it recurses to the left they refer to each other."""
        column = self._columns[state]
        sums: list[tuple[Hashable, Hashable, Hashable]] = []
        known: dict[Hashable, Lengths] = {}
        for place, items in [(state, column.items), *(((state, a), w) for a, w in column.waiting.items())]:
            for rest, back in items:
                sums.append((place, ("derives", *rest), back))
                known["derives", *rest] = self._of_rest.get(rest, 0)  # none within the horizon
                if back[0] != state:
                    known[back] = self._of_address[back]
        found = least_lengths(sums, known, self.horizon)
        self._of_address.update({(state, a): found.get((state, a), 0) for a in column.waiting})
        self._of_state.append(found.get(state, 0))


def least_lengths(
    sums: Iterable[tuple[T, T, T]], known: Mapping[T, Lengths], horizon: int
) -> dict[T, Lengths]:
    """The least sets of lengths that hold `known` and, for (x, y, z) in `sums`, all of y + z in x."""
    uses: defaultdict[T, list[tuple[T, T]]] = defaultdict(list)
    for whole, left, right in sums:
        uses[left].append((whole, right))
        uses[right].append((whole, left))
    within = (2 << horizon) - 1
    found: defaultdict[T, Lengths] = defaultdict(int)
    agenda = list(known.items())
    while agenda:
        part, lengths = agenda.pop()
        new = lengths & within & ~found[part]
        if new:
            found[part] |= new
            agenda += [(whole, _sums(found[other], new)) for whole, other in uses[part]]
    return dict(found)


def _sums(left: Lengths, right: Lengths) -> Lengths:
    """{ a + b : a in left, b in right }"""
    if left.bit_count() < right.bit_count():
        left, right = right, left
    total = 0
    while right:
        lowest = right & -right
        total |= left * lowest  # 2^b: every length of `left`, b further on
        right ^= lowest
    return total


def symbol_classes(grammar: Grammar) -> tuple[int, ...]:
    """The class of each symbol: two are in one class if every occurrence of one may be the other.

    That is so if they occur in the same contexts, where a context is a rule (aliases aside) with one
    symbol of its body left out: the ten digits of arithmetic, or CLEVR's fifteen filters. Such symbols lead
    from every state to the same state.
    """
    contexts: defaultdict[str, set[Hashable]] = defaultdict(set)
    for rule in grammar.rules:
        for k, symbol in enumerate(rule.body):
            if isinstance(symbol, Terminal):
                contexts[symbol.name].add((rule.head, rule.body[:k], rule.body[k + 1 :]))
    numbers: dict[frozenset[Hashable], int] = {}
    return tuple(numbers.setdefault(frozenset(contexts[s]), len(numbers)) for s in grammar.symbols)


class _Multisets:
    """Whether a multiset of symbols can complete a state: a search over (state, symbols left by class)."""

    def __init__(self, automaton: PrefixAutomaton) -> None:
        self._automaton = automaton
        self._class = symbol_classes(automaton.grammar)
        self._moves: dict[int, tuple[tuple[int, int], ...]] = {}
        self._memo: dict[tuple[int, Counts], bool] = {}

    def counts(self, multiset: Mapping[int, int]) -> Counts:
        counts = [0] * (max(self._class) + 1)
        for column, number in multiset.items():
            if not 0 <= column < len(self._class) or number < 0:
                raise ParseError(
                    f"a multiset says how often (0 or more) each column (0 to {len(self._class) - 1}) "
                    f"is to be used; got {number} for column {column}"
                )
            counts[self._class[column]] += number
        return tuple(counts)

    def legal(self, state: int, multiset: Mapping[int, int]) -> tuple[int, ...]:
        counts = self.counts(multiset)
        open_classes = {
            kind
            for kind, reached in self._steps(state)
            if counts[kind] and self.complete(reached, _without(counts, kind))
        }
        return tuple(
            column
            for column in self._automaton.legal(state)
            if multiset.get(column) and self._class[column] in open_classes
        )

    def complete(self, state: int, counts: Counts) -> bool:
        if not self._automaton.completes_in(state, sum(counts)):
            return False
        node = state, counts
        known = self._memo.get(node)
        return self._search(node) if known is None else known

    def _search(self, root: tuple[int, Counts]) -> bool:
        """Depth first to a first success; all that was passed on the way is remembered."""
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
            first = {self._class[column]: column for column in reversed(self._automaton.legal(state))}
            self._moves[state] = tuple(
                (kind, self._automaton.advance(state, column)) for kind, column in sorted(first.items())
            )
        return self._moves[state]


def _without(counts: Counts, kind: int) -> Counts:
    return (*counts[:kind], counts[kind] - 1, *counts[kind + 1 :])
