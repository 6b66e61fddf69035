"""Roots that batches choose among on a device, without asking the CPU how many edges each of them has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

from ngs.gpu import Resident
from ngs.parsing.circuit import NOTHING, Circuit, Edges

MOST_ENTRIES = 2**22
"""Edges that a table has room for, 64 MB of them. The answers to HWF's formulas are 1,956 roots of at most
500 edges, a million in all; a formula's own has 40 on average."""


class RootTable:
    """The edges [row, edge] of some roots, impossible ones behind those of a root that has fewer than others.

    `table[numbers]` is `circuit.select` of the roots of these numbers [batch], wherever the numbers are, with
    as many edges for each; None among the roots has nothing but impossible ones. The same root is there once.
    """

    def __init__(self, circuit: Circuit, roots: Sequence[int | None]) -> None:
        rows = {root: row for row, root in enumerate(dict.fromkeys(roots))}
        edges = circuit.select(list(rows))
        counts = torch.bincount(edges.out, minlength=len(rows))
        place = torch.arange(len(edges.out)) - (counts.cumsum(0) - counts)[edges.out]
        table = torch.full((2, len(rows), max(1, int(counts.max()))), NOTHING)
        table[:, edges.out, place] = torch.stack([edges.left, edges.right])
        self._table = Resident(table)
        self._rows = Resident(torch.tensor([rows[root] for root in roots], dtype=torch.int64))

    def __getitem__(self, numbers: Tensor) -> Edges:
        device = numbers.device
        left, right = self._table.on(device)[:, self._rows.on(device)[numbers]]  # [batch, edge]
        example = torch.arange(len(numbers), device=device)[:, None].expand_as(left)
        return Edges(left.reshape(-1), right.reshape(-1), example.reshape(-1), len(numbers))


@lru_cache(maxsize=128)
def roots_of_lengths(circuit: Circuit) -> RootTable:
    """The root of all sentences of each length [0 ... time], in a circuit without values."""
    return RootTable(circuit, [circuit.roots.get(length, {}).get(()) for length in range(circuit.time + 1)])


def root_table(circuit: Circuit, roots: Sequence[int | None]) -> RootTable | None:
    """A table of these roots; None where it would have more than MOST_ENTRIES."""
    return RootTable(circuit, roots) if entries(circuit, roots) <= MOST_ENTRIES else None


def entries(circuit: Circuit, roots: Sequence[int | None]) -> int:
    """Of a table of these roots: as many for each as the largest has edges."""
    distinct = set(roots)
    known = torch.tensor([root for root in distinct if root is not None], dtype=torch.int64)
    counts = circuit.root_first[known + 1] - circuit.root_first[known]
    return len(distinct) * max(1, int(counts.max()) if len(known) else 0)
