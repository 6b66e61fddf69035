"""Sentences of any grammar that use up a known multiset of symbols, by search: the exact reference."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ngs.errors import BudgetError
from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.constraint import Constraint, Given, Rows, without
from ngs.grammar.grammar import Grammar
from ngs.grammar.multisets import symbol_classes
from ngs.grammar.padding import PAD
from ngs.grammar.prefix_constraint import DEAD

MOST_MULTISETS = 1_000_000
"""Parts of a multiset, symbols of one class counted as one, among which `Multiset` searches."""


@dataclass(frozen=True)
class MultisetState(Rows):
    """What is left of each multiset, and the prefix that the rest was used for."""

    left: Tensor  # int64 [row, symbol]
    position: Tensor
    """int64 [row]: a state of the prefix automaton; DEAD after what no sentence begins with"""


class Multiset(Constraint[MultisetState]):
    """The sentences of a grammar that use up a known multiset, row by row on the CPU.

    A BudgetError says where a multiset has more than MOST_MULTISETS parts to search among.

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
            if position != DEAD:
                found[row, list(self.automaton.legal_from(position, dict(enumerate(left))))] = True
        return found

    def advance(self, state: MultisetState, symbol: Tensor) -> MultisetState:
        pairs = zip(self._listed(state), symbol.tolist(), strict=True)
        following = [self._after(left, position, chosen) for (left, position), chosen in pairs]
        return MultisetState(without(state.left, symbol), state.position.new_tensor(following))

    def accepts(self, state: MultisetState) -> Tensor:
        found = [
            position != DEAD and not any(left) and self.automaton.accepts(position)
            for left, position in self._listed(state)
        ]
        return torch.tensor(found, dtype=torch.bool, device=state.left.device)

    def _after(self, left: Sequence[int], position: int, symbol: int) -> int:
        if symbol == PAD or position == DEAD:
            return position
        possible = left[symbol] > 0 and symbol in self.automaton.legal(position)
        return self.automaton.advance(position, symbol) if possible else DEAD

    def _listed(self, state: MultisetState) -> list[tuple[list[int], int]]:
        return list(zip(state.left.tolist(), state.position.tolist(), strict=True))
