"""Which sentences are allowed, for a batch and one symbol at a time.

A network that writes a sentence symbol by symbol asks a constraint which symbols may come next:

    state = constraint.start(given)
    while constraint.mask(state).any():                    # [row, symbol]
        state = constraint.advance(state, chosen)          # chosen [row], PAD where a sentence is over

`given` says what is known about each sentence before the first symbol: its length, or the multiset of its
symbols. A mask is exact: every symbol that it allows leads to some sentence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from threading import RLock
from typing import Any, Generic, Self, TypeVar

import torch
from torch import Tensor, nn

from ngs.errors import BudgetError, ShapeError
from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.multisets import symbol_classes
from ngs.grammar.padding import PAD

MOST_MULTISETS = 1_000_000
"""Parts of a multiset, symbols of one class counted as one, among which `Multiset` searches."""


@dataclass(frozen=True)
class Rows:
    """Tensors with one row for each sentence; None where something is not known."""

    def select(self, rows: Tensor) -> Self:
        """Some of the rows, in any order and number."""
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: part[rows] for name, part in known.items() if part is not None})


@dataclass(frozen=True)
class Given(Rows):
    """What is known about each sentence; where nothing is, `Given()` is one row that stands for all.

    >>> given = Given(lengths=torch.tensor([1, 3]))
    >>> len(given), given.longest
    (2, 3)
    """

    lengths: Tensor | None = None
    """int64 [example]"""
    multiset: Tensor | None = None
    """[example, symbol]: how often each symbol is used"""

    def __len__(self) -> int:
        return len(self._known)

    @property
    def device(self) -> torch.device:
        return self._known.device

    @property
    def sizes(self) -> Tensor:
        """int64 [example]: how many symbols each sentence has."""
        return self._known if self.multiset is None else self.multiset.sum(1)

    @property
    def longest(self) -> int:
        """Symbols of the longest sentence."""
        return int(self.sizes.max()) if len(self) else 0

    def to(self, device: torch.device) -> Given:
        parts = (None if part is None else part.to(device) for part in (self.lengths, self.multiset))
        return Given(*parts)

    def long(self) -> Given:
        """The same in int64, for what is stored in fewer bits."""
        parts = (None if part is None else part.long() for part in (self.lengths, self.multiset))
        return Given(*parts)

    @property
    def _known(self) -> Tensor:
        known = self.lengths if self.multiset is None else self.multiset
        if known is None:
            raise ShapeError("nothing is known about the sentences; give their lengths or their multisets")
        return known


S = TypeVar("S", bound=Rows)


@dataclass(frozen=True)
class KernelRule:
    """A constraint as kernels on a GPU know it."""

    function: Any
    """A Triton function of the facts [1, symbol] and what is left [row, symbol] of every symbol, and of the
    facts of the last one [row, 1], -1 at the beginning: whether each may come next [row, symbol]."""
    facts: Tensor
    """int32 [symbol]: what the function knows of each"""


class Constraint(nn.Module, ABC, Generic[S]):
    """A language whose sentences are written symbol by symbol. `.to(device)` moves its tables.

    A subclass says with `start`, `mask`, `advance` and `accepts` which symbols may come next.
    """

    def __init__(self, symbols: int) -> None:
        super().__init__()
        self.symbols = symbols

    @abstractmethod
    def start(self, given: Given) -> S:
        """The state before the first symbol."""

    @abstractmethod
    def mask(self, state: S) -> Tensor:
        """bool [row, symbol]: which symbols may come next; none where the sentence is over."""

    @abstractmethod
    def advance(self, state: S, symbol: Tensor) -> S:
        """The state after one more symbol [row]; PAD changes nothing."""

    def step(self, state: S, symbol: Tensor) -> tuple[S, Tensor]:
        """The state after one more symbol [row], and its mask."""
        state = self.advance(state, symbol)
        return state, self.mask(state)

    @abstractmethod
    def accepts(self, state: S) -> Tensor:
        """bool [row]: whether the sentence may end here."""

    def possible(self, given: Given) -> Tensor:
        """bool [row]: whether any sentence fits what is known; `mask` takes it for granted."""
        state = self.start(given)
        return self.mask(state).any(1) | self.accepts(state)

    def contains(self, given: Given, z: Tensor) -> Tensor:
        """bool [row]: whether `z` [row, time] are sentences that fit what is known."""
        state, found = self._start_of_each(given, z), self.possible(given).expand(len(z))
        over = torch.zeros_like(found)
        for symbol in z.unbind(1):
            allowed = self.mask(state).gather(1, symbol.clamp(min=0)[:, None])[:, 0] & ~over
            over = over | (symbol == PAD)
            found = found & (allowed | (symbol == PAD))
            state = self.advance(state, symbol)
        return found & self.accepts(state)

    def masks(self, given: Given, z: Tensor) -> Tensor:
        """bool [row, time, symbol]: what might come at each step of `z` [row, time], sentences or not."""
        state = self._start_of_each(given, z)
        found = torch.zeros((*z.shape, self.symbols), dtype=torch.bool, device=z.device)
        for step, symbol in enumerate(z.unbind(1)):
            found[:, step] = self.mask(state)
            state = self.advance(state, symbol)
        return found

    def _start_of_each(self, given: Given, z: Tensor) -> S:
        state = self.start(given)
        if given.lengths is None and given.multiset is None:
            return state.select(z.new_zeros(len(z)))
        return state

    def _multiset(self, given: Given) -> Tensor:
        counts = given.multiset
        if counts is None or counts.ndim != 2 or counts.shape[1] != self.symbols:
            shape = "none" if counts is None else f"one of shape {list(counts.shape)}"
            raise ShapeError(
                f"{type(self).__name__} needs the multiset of each sentence, [example, {self.symbols}], and "
                f"was given {shape}; pass Given(multiset=...)"
            )
        return counts


def without(left: Tensor, symbol: Tensor) -> Tensor:
    """`left` [row, symbol] after taking one symbol each [row]; PAD takes nothing."""
    taken = (symbol != PAD).to(left.dtype)
    return left.scatter_add(1, symbol.clamp(min=0)[:, None], -taken[:, None])


# A grammar


@dataclass(frozen=True)
class Prefix(Rows):
    """A state of the prefix automaton for each sentence."""

    position: Tensor
    """int64 [row]; _DEAD after what no sentence begins with"""
    remaining: Tensor | None
    """int64 [row]: symbols that are still to come"""


_DEAD, _UNKNOWN, _OVER = -1, -2, -3
_GROWING = RLock()  # constraints are shared, and servers have threads


class Automaton(Constraint[Prefix]):
    """The sentences of a grammar, of a known length or of any; a multiset is not looked at.

    States of the prefix automaton are looked up in tables that grow when a state is first met.

    >>> from ngs import arithmetic_grammar
    >>> constraint = Automaton(arithmetic_grammar())
    >>> state = constraint.start(Given(lengths=torch.tensor([3])))
    >>> int(constraint.mask(state).sum())  # one of ten digits comes first
    10
    """

    transitions: Tensor
    """int64 [state, symbol]: the next state, _DEAD or, in a whole row, _UNKNOWN"""
    completions: Tensor
    """bool [state, length]: whether so many more symbols can complete it"""

    def __init__(self, grammar: Grammar) -> None:
        super().__init__(len(grammar.symbols))
        self.automaton = prefix_automaton(grammar)
        transitions = torch.empty((0, self.symbols), dtype=torch.int64)
        self.register_buffer("transitions", transitions, persistent=False)
        self.register_buffer("completions", torch.empty((0, 1), dtype=torch.bool), persistent=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is in the tables: a copy of the automaton numbers its states anew."""
        empty = {"transitions": self.transitions[:0], "completions": self.completions[:0]}
        return {**self.__dict__, "_buffers": empty}

    def start(self, given: Given) -> Prefix:
        start, lengths = self.automaton.start, given.lengths
        self._grow(start + 1, 0 if lengths is None or not len(lengths) else int(lengths.max()))
        known = given.multiset if lengths is None else lengths
        rows = 1 if known is None else len(known)
        return Prefix(self.transitions.new_full((rows,), start), lengths)

    def mask(self, state: Prefix) -> Tensor:
        following = self._following(state.position)
        allowed = following != _DEAD
        if state.remaining is None:
            return allowed
        rest = state.remaining[:, None] - 1
        return allowed & (rest >= 0) & self.completions[following.clamp(min=0), rest.clamp(min=0)]

    def advance(self, state: Prefix, symbol: Tensor) -> Prefix:
        following = self._following(state.position).gather(1, symbol.clamp(min=0)[:, None])[:, 0]
        position = torch.where(symbol == PAD, state.position, following)
        return Prefix(position, None if state.remaining is None else state.remaining - (symbol != PAD).long())

    def accepts(self, state: Prefix) -> Tensor:
        accepted = self.completions[state.position.clamp(min=0), 0] & (state.position != _DEAD)
        return accepted if state.remaining is None else accepted & (state.remaining == 0)

    def contains(self, given: Given, z: Tensor) -> Tensor:
        # One look-up per symbol. PAD is one more symbol, which ends a sentence and may follow itself. As
        # indices that count from the end, it is the last column, and _OVER, _UNKNOWN, _DEAD the last rows.
        state = self._start_of_each(given, z)
        table = self.transitions
        ended = torch.where(self.completions[: len(table), 0], _OVER, _DEAD)
        sinks = table.new_tensor([[_DEAD], [_UNKNOWN], [_DEAD]]).expand(-1, self.symbols)
        last = torch.cat([ended, ended.new_tensor([_OVER, _UNKNOWN, _DEAD])])
        table = torch.cat([torch.cat([table, sinks]), last[:, None]], 1)
        position = state.position
        for symbol in (*z.unbind(1), z.new_tensor(PAD)):
            position = table[position, symbol]
        if (position == _UNKNOWN).any():
            return super().contains(given, z)  # `mask` fills the table on its way
        found = position == _OVER
        return found if state.remaining is None else found & (state.remaining == (z != PAD).sum(1))

    def _following(self, position: Tensor) -> Tensor:
        """int64 [row, symbol]: the states after each symbol."""
        alive = position != _DEAD
        met = position[alive]
        fresh = set(met[self.transitions[met, 0] == _UNKNOWN].tolist())
        if fresh:
            self._explore(sorted(fresh))
        return self.transitions[position.clamp(min=0)].masked_fill(~alive[:, None], _DEAD)

    def _explore(self, states: list[int]) -> None:
        """Fill the rows of some states, and make rows for those that they lead to."""
        found = torch.full((len(states), self.symbols), _DEAD)
        for row, state in enumerate(states):
            for symbol in self.automaton.legal(state):
                found[row, symbol] = self.automaton.advance(state, symbol)
        with _GROWING, torch.inference_mode(False):
            self._grow(int(found.max()) + 1, 0)
            self.transitions[states] = found.to(self.transitions.device)

    def _grow(self, states: int, horizon: int) -> None:
        """Make rows for at least so many states, with completions of at least so many symbols."""
        with _GROWING, torch.inference_mode(False):
            known, wide = self.completions.shape
            if horizon >= wide:
                known, wide = 0, horizon + 1
            states = max(states, len(self.transitions))
            if states == known:
                return
            found = [[self.automaton.completes_in(q, n) for n in range(wide)] for q in range(known, states)]
            completions = torch.tensor(found, dtype=torch.bool, device=self.completions.device)
            self.completions = torch.cat([self.completions[:known], completions]) if known else completions
            new = self.transitions.new_full((states - len(self.transitions), self.symbols), _UNKNOWN)
            self.transitions = torch.cat([self.transitions, new])


# A known multiset


@dataclass(frozen=True)
class MultisetState(Rows):
    """What is left of each multiset, and the prefix that the rest was used for."""

    left: Tensor
    """int64 [row, symbol]"""
    position: Tensor
    """int64 [row]: a state of the prefix automaton; _DEAD after what no sentence begins with"""


class Multiset(Constraint[MultisetState]):
    """The sentences of a grammar that use a known multiset up: the exact reference, row by row, on the CPU.

    Whether there is one is NP-complete in general, and found by a search among the parts of the multiset. A
    BudgetError says where there are more than MOST_MULTISETS of them.

    >>> grammar = Grammar.parse('start: "1" "+" "2" | "2" "-" "1"')
    >>> constraint = Multiset(grammar)  # symbols: 1 + 2 -
    >>> state = constraint.start(Given(multiset=torch.tensor([[1, 1, 1, 0], [1, 0, 1, 1]])))
    >>> constraint.mask(state).tolist()
    [[True, False, False, False], [False, False, True, False]]
    """

    classes: Tensor

    def __init__(self, grammar: Grammar) -> None:
        super().__init__(len(grammar.symbols))
        self.automaton = prefix_automaton(grammar)
        self.register_buffer("classes", torch.tensor(symbol_classes(grammar)), persistent=False)

    def start(self, given: Given) -> MultisetState:
        counts = self._multiset(given)
        of_class = counts.new_zeros((len(counts), self.symbols)).index_add(1, self.classes, counts)
        parts = int((of_class + 1).double().prod(1).amax()) if len(counts) else 0
        if parts > MOST_MULTISETS:
            raise BudgetError(
                f"a multiset of {int(counts.sum(1).amax())} symbols has {parts:,} parts to search among, and "
                f"the limit is {MOST_MULTISETS:,}; give shorter sentences, or write a rule that counts "
                f"(ngs.grammar.constraint.Counting)"
            )
        return MultisetState(counts, counts.new_full((len(counts),), self.automaton.start))

    def mask(self, state: MultisetState) -> Tensor:
        found = torch.zeros_like(state.left, dtype=torch.bool)
        for row, (left, position) in enumerate(self._listed(state)):
            if position != _DEAD:
                found[row, list(self.automaton.legal_from(position, dict(enumerate(left))))] = True
        return found

    def advance(self, state: MultisetState, symbol: Tensor) -> MultisetState:
        pairs = zip(self._listed(state), symbol.tolist(), strict=True)
        following = [self._after(left, position, chosen) for (left, position), chosen in pairs]
        return MultisetState(without(state.left, symbol), state.position.new_tensor(following))

    def accepts(self, state: MultisetState) -> Tensor:
        found = [
            position != _DEAD and not any(left) and self.automaton.accepts(position)
            for left, position in self._listed(state)
        ]
        return torch.tensor(found, dtype=torch.bool, device=state.left.device)

    def _after(self, left: Sequence[int], position: int, symbol: int) -> int:
        if symbol == PAD or position == _DEAD:
            return position
        possible = left[symbol] > 0 and symbol in self.automaton.legal(position)
        return self.automaton.advance(position, symbol) if possible else _DEAD

    def _listed(self, state: MultisetState) -> list[tuple[list[int], int]]:
        return list(zip(state.left.tolist(), state.position.tolist(), strict=True))


@dataclass(frozen=True)
class Left(Rows):
    """What is left of each multiset, and what came last."""

    left: Tensor
    """[row, symbol]"""
    last: Tensor
    """int64 [row]: PAD at the beginning"""


class Counting(Constraint[Left]):
    """A language where what is left of a known multiset and what came last say what may come next."""

    @abstractmethod
    def legal(self, left: Tensor, last: Tensor) -> Tensor:
        """bool [..., symbol]: what may come next, given what is left [..., symbol] and came last [...]."""

    def rule(self) -> KernelRule | None:
        """`legal` as a Triton function, for kernels on a GPU; None where there is none."""
        return None

    def start(self, given: Given) -> Left:
        counts = self._multiset(given)
        return Left(counts, torch.full((len(counts),), PAD, device=counts.device))

    def mask(self, state: Left) -> Tensor:
        return self.legal(state.left, state.last)

    def advance(self, state: Left, symbol: Tensor) -> Left:
        return Left(without(state.left, symbol), torch.where(symbol == PAD, state.last, symbol))

    def accepts(self, state: Left) -> Tensor:
        return (state.left == 0).all(1)

    def masks(self, given: Given, z: Tensor) -> Tensor:
        counts = self._multiset(given)
        before = torch.nn.functional.pad(z, (1, 0), value=PAD)[:, :-1]
        used = torch.zeros((*z.shape, self.symbols), dtype=counts.dtype, device=z.device)
        used.scatter_(2, before.clamp(min=0)[..., None], (before != PAD).to(counts.dtype)[..., None])
        latest = torch.arange(z.shape[1], device=z.device).where(before != PAD, 0).cummax(1).values
        return self.legal(counts[:, None] - used.cumsum(1), before.gather(1, latest))


class AnyOrder(Counting):
    """No grammar: every order of the symbols. The policy of NS-RL (Li et al. 2020, Sec. 4.2)."""

    facts: Tensor

    def __init__(self, symbols: int) -> None:
        super().__init__(symbols)
        self.register_buffer("facts", torch.zeros(symbols, dtype=torch.int32), persistent=False)

    def possible(self, given: Given) -> Tensor:
        return (self._multiset(given) >= 0).all(1)

    def legal(self, left: Tensor, last: Tensor) -> Tensor:
        return left > 0

    def rule(self) -> KernelRule:
        from ngs.kernels.decoder import any_order

        return KernelRule(any_order, self.facts)


# All sentences


@dataclass(frozen=True)
class Enumerated:
    """Every sentence of some examples."""

    rows: Tensor
    """[sentence]: the example that it belongs to, in ascending order"""
    sentences: Tensor
    """[sentence, time]: PAD after the end"""
    complete: Tensor
    """bool [example]: false where there are more than were asked for; those have none here"""


def enumerate_sentences(constraint: Constraint[Any], given: Given, at_most: int) -> Enumerated:
    """All sentences of each example that has no more than `at_most`."""
    possible = constraint.possible(given)
    complete = torch.ones_like(possible)
    rows = possible.nonzero()[:, 0]
    state = constraint.start(given).select(rows)
    sentences = rows.new_empty((len(rows), 0))
    over = torch.zeros_like(possible[rows])
    while True:
        allowed = constraint.mask(state) & ~over[:, None]
        if not allowed.any():
            return Enumerated(rows, sentences, complete)
        # A sentence that ends goes on with PAD, as one more symbol after the others.
        choices = torch.cat([allowed, (over | constraint.accepts(state))[:, None]], 1)
        # Every allowed prefix can be completed, so their number never falls: too many is too many for good.
        ways = rows.new_zeros(len(complete)).index_add(0, rows, choices.sum(1))
        complete = complete & (ways <= at_most)
        parents, following = (choices & complete[rows][:, None]).nonzero(as_tuple=True)
        over = following == constraint.symbols
        symbol = following.masked_fill(over, PAD)
        state, rows = constraint.advance(state.select(parents), symbol), rows[parents]
        sentences = torch.cat([sentences[parents], symbol[:, None]], 1)
