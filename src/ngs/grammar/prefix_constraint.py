"""Any grammar as a constraint: its prefix automaton in tensors, filled in as it is explored."""

from dataclasses import dataclass
from threading import RLock
from typing import Any

import torch
from torch import Tensor

from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.constraint import Constraint, Given, Rows
from ngs.grammar.grammar import Grammar
from ngs.grammar.padding import PAD


@dataclass(frozen=True)
class Prefix(Rows):
    """A state of the prefix automaton for each sentence."""

    position: Tensor  # int64 [row]; DEAD after what no sentence begins with
    remaining: Tensor | None  # int64 [row]: symbols that are still to come


DEAD, _UNKNOWN, _OVER = -1, -2, -3
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
    """int64 [state, symbol]: the next state, DEAD or, in a whole row, _UNKNOWN"""
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
        allowed = following != DEAD
        if state.remaining is None:
            return allowed
        rest = state.remaining[:, None] - 1
        return allowed & (rest >= 0) & self.completions[following.clamp(min=0), rest.clamp(min=0)]

    def advance(self, state: Prefix, symbol: Tensor) -> Prefix:
        following = self._following(state.position).gather(1, symbol.clamp(min=0)[:, None])[:, 0]
        position = torch.where(symbol == PAD, state.position, following)
        return Prefix(position, None if state.remaining is None else state.remaining - (symbol != PAD).long())

    def accepts(self, state: Prefix) -> Tensor:
        accepted = self.completions[state.position.clamp(min=0), 0] & (state.position != DEAD)
        return accepted if state.remaining is None else accepted & (state.remaining == 0)

    def contains(self, given: Given, z: Tensor) -> Tensor:
        # One look-up per symbol. PAD is one more symbol, which ends a sentence and may follow itself. As
        # indices that count from the end, it is the last column, and _OVER, _UNKNOWN, DEAD the last rows.
        state = self.start(given)
        table = self.transitions
        ended = torch.where(self.completions[: len(table), 0], _OVER, DEAD)
        sinks = table.new_tensor([[DEAD], [_UNKNOWN], [DEAD]]).expand(-1, self.symbols)
        last = torch.cat([ended, ended.new_tensor([_OVER, _UNKNOWN, DEAD])])
        table = torch.cat([torch.cat([table, sinks]), last[:, None]], 1)
        position = state.position.expand(len(z))  # one stands for all where nothing is known
        for symbol in (*z.unbind(1), z.new_tensor(PAD)):
            position = table[position, symbol]
        if (position == _UNKNOWN).any():
            return super().contains(given, z)  # `mask` fills the table on its way
        found = position == _OVER
        return found if state.remaining is None else found & (state.remaining == (z != PAD).sum(1))

    def _following(self, position: Tensor) -> Tensor:
        """int64 [row, symbol]: the states after each symbol."""
        alive = position != DEAD
        met = position[alive]
        fresh = set(met[self.transitions[met, 0] == _UNKNOWN].tolist())
        if fresh:
            self._explore(sorted(fresh))
        return self.transitions[position.clamp(min=0)].masked_fill(~alive[:, None], DEAD)

    def _explore(self, states: list[int]) -> None:
        """Fill the rows of some states, and make rows for those that they lead to."""
        found = torch.full((len(states), self.symbols), DEAD)
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
