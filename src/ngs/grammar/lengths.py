"""In how many symbols a prefix can be completed, as sets of lengths."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from threading import RLock

from ngs.grammar.columns import ROOT, Code, Column

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
        self._added = 0  # columns whose equations are solved
        self._adding = RLock()
        self._uses: defaultdict[Hashable, list[tuple[Hashable, Hashable]]] = defaultdict(list)
        self._found: defaultdict[Hashable, Lengths] = defaultdict(int)
        self._found[()] = self._found["back", *ROOT] = 1
        self._found.update({(symbol,): 2 for symbol in range(code.symbols)})
        bodies = [(head, body) for head, bodies in code.bodies.items() for body in bodies]
        self._solve(((head,), body, ()) for head, body in bodies)
        self._solve((b[k:], b[k : k + 1], b[k + 1 :]) for _, b in bodies for k in range(len(b) - 1))

    def lengths(self, state: int) -> Lengths:
        if state >= self._added:
            with self._adding:
                while state >= self._added:  # earlier columns first: later ones return to them
                    self._add(self._added)
        return self._found["column", state]

    def _add(self, state: int) -> None:
        """Solve the equations of one column; where it recurses to the left they refer to each other."""
        column = self._columns[state]
        whole: tuple[Hashable, ...] = ("column", state)
        items = [(whole, item) for item in column.items]
        items += [(("back", state, a), item) for a, after in column.waiting.items() for item in after]
        self._solve((place, rest, ("back", *back)) for place, (rest, back) in items)
        self._added = state + 1

    def _solve(self, sums: Iterable[tuple[Hashable, Hashable, Hashable]]) -> None:
        """Extend the sets to the least ones where, for (x, y, z) in `sums`, all of y + z is in x."""
        within = (2 << self.horizon) - 1
        agenda = []
        for whole, left, right in sums:
            self._uses[left].append((whole, right))
            self._uses[right].append((whole, left))
            agenda.append((whole, _sums(self._found[left], self._found[right])))
        while agenda:
            part, lengths = agenda.pop()
            new = lengths & within & ~self._found[part]
            if new:
                self._found[part] |= new
                agenda += [(whole, _sums(self._found[other], new)) for whole, other in self._uses[part]]


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
