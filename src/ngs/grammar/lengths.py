"""In how many symbols a prefix can be completed, as sets of lengths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from threading import RLock
from typing import TypeVar

from ngs.grammar.columns import ROOT, Address, Code, Column, Rest

T = TypeVar("T", bound=Hashable)
Lengths = int  # a set of lengths as a bit mask: bit n stands for length n


class Completions:
    """In how many symbols a state can be completed, without running through its continuations.

        lengths(state)  = union over its items [b, r] of    |b| + lengths(r)
        lengths((j, A)) = union over [b, r] after A in j of |b| + lengths(r),   lengths(ROOT) = {0}

    where |b| are the lengths of what `b` derives. All sets are cut at `horizon`.
    """

    def __init__(self, code: Code, columns: Sequence[Column], horizon: int) -> None:
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

    def _derivable(self, code: Code) -> dict[Rest, Lengths]:
        """|b| for each end `b` of a rule's body."""
        known: dict[Rest, Lengths] = {(): 1, **{(symbol,): 2 for symbol in range(code.symbols)}}
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
