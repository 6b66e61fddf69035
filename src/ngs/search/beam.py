"""A circuit for one example that keeps only the most likely values of each span.

The user's functions run here, once for each pair of kept values, and the circuit is used once.
"""

from collections.abc import Iterator
from heapq import nlargest

import numpy as np
from torch import Tensor

from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import Step, Value, normal_form
from ngs.grammar.rules import Terminal
from ngs.parsing.chart import IMPOSSIBLE
from ngs.parsing.circuit import ONE, Cell, Circuit, Edges, cells, leaf_row, splits
from ngs.reasoning.semantics import Interpretation


def beam_circuit(
    grammar: Grammar, algebra: Interpretation, scores: Tensor, answer: Value, beam: int
) -> tuple[Circuit, bool]:
    """The circuit of the sentences found for `answer` by `scores` [time, symbol], and whether it has all."""
    form = normal_form(grammar)
    time, width = scores.shape
    total: list[float] = [0.0, IMPOSSIBLE, *scores.double().reshape(-1).tolist()]
    rows: dict[Cell, dict[Value, int]] = {}
    by_level: dict[int, list[list[tuple[int, int]]]] = {}
    complete = True

    def values(cell: Cell) -> dict[Value, int]:
        symbol, start, _ = cell
        if isinstance(symbol, Terminal):
            return {algebra.leaf(0, symbol.name): leaf_row(width, start, grammar.symbol_id(symbol.name))}
        return rows[cell]

    def combinations(cell: Cell) -> Iterator[tuple[Step, Value, int, Value, int]]:
        for step, (left, *right) in splits(form, cell):
            rights: dict[Value, int] = values(right[0]) if right else {None: ONE}
            for b, left_row in values(left).items():
                for c, right_row in rights.items():
                    yield step, b, left_row, c, right_row

    for cell in cells(form, time):
        found: dict[Value, list[tuple[int, int]]] = {}  # with the pairs of rows that make each value
        for step, b, left_row, c, right_row in combinations(cell):
            found.setdefault(step.combine(algebra, b, c), []).append((left_row, right_row))
        weight = {
            value: float(np.logaddexp.reduce([total[left] + total[right] for left, right in pairs]))
            for value, pairs in found.items()
        }
        kept = nlargest(beam, weight, key=weight.__getitem__)
        complete &= len(kept) == len(found)
        rows[cell] = {}
        for value in kept:
            rows[cell][value] = len(total)
            total.append(weight[value])
            by_level.setdefault(cell[2], []).append(found[value])

    root_pairs = [
        (left_row, right_row)
        for step, b, left_row, c, right_row in combinations((form.start, 0, time))
        if step.combine(algebra, b, c) == answer
    ]
    levels = tuple(Edges.of_pairs(level) for _, level in sorted(by_level.items()))
    roots = {time: {answer: 0} if root_pairs else {}}
    return Circuit(time, width, levels, roots, Edges.of_pairs([root_pairs])).to(scores.device), complete
