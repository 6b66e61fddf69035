"""Parse and execute many sentences at once: the chart again, with values instead of scores.

In this semiring an element is the number of a value, or ABSENT; `times` looks two numbers up in the
compiled table of their step, and `plus` keeps the first step that applies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from ngs.errors import ParseError
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import Step
from ngs.grammar.rules import Terminal
from ngs.parsing.circuit import ONE, Cell, cells, leaf_row, splits
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import Meaning
from ngs.search.compiled import BUDGET, value_tables

ABSENT = -1
"""No derivation here."""


@dataclass(frozen=True)
class Layer:
    """The edges into all cells of one length; `out` counts the layer's cells from 0."""

    first: int
    """the row of the layer's first cell"""
    cells: int
    left: Tensor
    right: Tensor
    out: Tensor
    rank: Tensor
    """edges of a cell that come first in the grammar have the higher rank"""
    offset: Tensor
    stride: Tensor
    nodes: Tensor
    """how many reasoning nodes the edge's step makes"""
    start: Tensor
    stop: Tensor
    """first position of each cell, and the one behind its last"""

    def to(self, device: torch.device) -> Layer:
        moved = {
            name: value.to(device) if isinstance(value, Tensor) else value for name, value in vars(self).items()
        }
        return Layer(**moved)


@dataclass(frozen=True, eq=False)
class Evaluator:
    """Every sentence of up to `time` symbols, parsed and executed by table look-up.

    `answers[length][value]` numbers the values of whole sentences of that length.
    """

    grammar: Grammar
    time: int
    rows: int
    layers: tuple[Layer, ...]
    table: Tensor
    root_row: Tensor
    """[length]: the row of the whole sentence"""
    answers: dict[int, dict[Value, int]]
    usable: Tensor
    """[time, symbol]: whether any sentence has that symbol there"""
    _devices: dict[torch.device, Evaluator] = field(default_factory=dict, repr=False)

    def to(self, device: torch.device) -> Evaluator:
        if device == self.table.device:
            return self
        if device not in self._devices:
            layers = tuple(layer.to(device) for layer in self.layers)
            tensors = (self.table.to(device), self.root_row.to(device))
            self._devices[device] = Evaluator(
                self.grammar, self.time, self.rows, layers, *tensors, self.answers, self.usable.to(device)
            )
        return self._devices[device]

    def number(self, length: int, answer: Value) -> int:
        """The number of `answer` among sentences of `length`; less than ABSENT where none gives it."""
        if length not in self.answers:
            lengths = " ".join(map(str, self.answers)) or "(none)"
            raise ParseError(
                f"the grammar has no sentence of length {length}; "
                f"the lengths up to {self.time} it has are {lengths}"
            )
        return self.answers[length].get(answer, ABSENT - 1)

    def numbers(self, lengths: Sequence[int], answers: Sequence[Value]) -> Tensor:
        return torch.tensor(
            [self.number(n, answer) for n, answer in zip(lengths, answers, strict=True)], dtype=torch.long
        ).to(self.table.device)

    def values(self, columns: Tensor, chosen: bool = False) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The value of every cell [row, sentence] for `columns` [time, sentence], and the edge each
        layer's cells chose [cell, sentence] if asked for."""
        count = columns.shape[1]
        symbols = len(self.grammar.symbols)
        rows = columns.new_full((self.rows, count), ABSENT, dtype=torch.int32)
        rows[ONE] = 0
        leaves = rows[1 : 1 + self.time * symbols].view(self.time, symbols, count)
        leaves.scatter_(1, columns.clamp(min=0)[:, None], 0)
        edges = []
        for layer in self.layers:
            left = rows.index_select(0, layer.left)
            right = rows.index_select(0, layer.right)
            entry = left * layer.stride[:, None] + right + layer.offset[:, None]
            present = (left | right) >= 0  # ABSENT is the only negative number
            value = self.table.index_select(0, entry.clamp_(min=0).view(-1)).view_as(entry)
            # `rank` above the value: the maximum is the first edge that applies, with its value
            packed = torch.where(present, value + (layer.rank[:, None] << 32), ABSENT)
            total = packed.new_full((layer.cells, count), ABSENT)
            total.scatter_reduce_(0, layer.out[:, None].expand_as(packed), packed, "amax", include_self=True)
            rows[layer.first : layer.first + layer.cells] = torch.where(
                total < 0, ABSENT, total & 0xFFFFFFFF
            ).int()
            if chosen:
                edges.append(torch.where(total < 0, -1, len(layer.out) - (total >> 32)))
        return rows, tuple(edges)

    def answer_numbers(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """The number of each sentence's answer [sentence]; ABSENT for what is no sentence."""
        return rows.gather(0, self.root_row[lengths][None])[0].long()


@lru_cache(maxsize=16)
def evaluator(grammar: Grammar, semantics: Meaning, longest: int, budget: int = BUDGET) -> Evaluator:
    """Compile the evaluator; a BudgetError where its tables would outgrow `budget`."""
    tables = value_tables(grammar, semantics, longest, budget)
    form = tables.form
    width = len(grammar.symbols)
    roots: list[Cell] = [(form.start, 0, length) for length in form.lengths(longest)]
    needed = sorted({*cells(form, longest), *roots}, key=lambda cell: (cell[2], cell[1], str(cell[0])))
    row = {cell: 1 + longest * width + number for number, cell in enumerate(needed)}
    usable = torch.zeros(longest, width, dtype=torch.bool)
    flat: dict[tuple[object, int, int], int] = {}
    pieces: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []
    size = 0

    def row_of(cell: Cell) -> int:
        if isinstance(cell[0], Terminal):
            column = grammar.column(cell[0].name)
            usable[cell[1], column] = True
            return leaf_row(width, cell[1], column)
        return row[cell]

    layers = []
    for length in sorted({cell[2] for cell in needed}):
        layer = [cell for cell in needed if cell[2] == length]
        edges: list[tuple[int, int, int, int, int, int]] = []
        for out, cell in enumerate(layer):
            for number, _, left, *right in splits(form, cell):
                table = tables.tables[cell[0], length][number]
                key = cell[0], length, number
                if key not in flat:
                    flat[key] = size
                    pieces.append(table.out.ravel())
                    size += table.out.size
                right_row = row_of(right[0]) if right else ONE
                nodes = _nodes(table.step)
                edges.append((row_of(left), right_row, out, flat[key], table.out.shape[1], nodes))
        left_rows, right_rows, outs, offsets, strides, nodes_made = torch.tensor(edges).T.contiguous()
        rank = torch.arange(len(edges), 0, -1)
        starts = torch.tensor([cell[1] for cell in layer])
        first = row[layer[0]]
        layers.append(
            Layer(
                first, len(layer), left_rows, right_rows, outs, rank, offsets, strides, nodes_made,
                starts, starts + length,
            )
        )  # fmt: skip
    root_row = torch.zeros(longest + 1, dtype=torch.long)
    for cell in roots:
        root_row[cell[2]] = row[cell]
    answers = {length: dict(tables.values[form.start, length]) for _, _, length in roots}
    rows = 1 + longest * width + len(needed)
    table_tensor = torch.from_numpy(np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64))
    return Evaluator(grammar, longest, rows, tuple(layers), table_tensor, root_row, answers, usable)


def _nodes(step: Step) -> int:
    """Reasoning nodes a step stands for: rules that rename, and inlined ones, are none."""
    return sum(
        not (p.rule.renames or (p.rule.head.inlined and p.rule.alias is None)) for p in step.productions
    )
