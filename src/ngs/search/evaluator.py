"""Parse and execute many sentences at once: the chart again, with values instead of scores.

In this semiring an element is the number of a value, counted from 1, or ABSENT; `times` looks two
numbers up in the compiled table of their step, and `plus` keeps the first step that applies. Row and
column 0 of every table are ABSENT, so nothing has to be masked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from ngs.errors import ParseError
from ngs.grammar.ambiguity import unambiguous
from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import Step
from ngs.grammar.rules import Terminal
from ngs.parsing.circuit import Cell, cells, splits
from ngs.parsing.replay import Replays
from ngs.parsing.tables import Tables
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import Meaning
from ngs.search.compiled import BUDGET, remembered, value_tables

ABSENT = 0
"""The number that stands for: no derivation here."""

UNREACHED = -1
"""The number of an answer that no sentence of its length gives."""

Part = TypeVar("Part", "Words", "Layer")


@dataclass(frozen=True)
class Words:
    """The cells of one symbol: what each reads at its position. They are the first rows."""

    position: Tensor
    """[cell]"""
    value: Tensor
    """[cell, symbol]: the number of the value read, or ABSENT"""
    nodes: Tensor
    """[cell, symbol]: how many reasoning nodes that makes"""


@dataclass(frozen=True)
class Layer:
    """The edges into all cells of one length; `out` counts the layer's cells from 0."""

    first: int
    """the row of the layer's first cell"""
    cells: int
    left: Tensor
    right: Tensor
    """[edge]: rows"""
    out: Tensor
    """[edge], in order: the edges of a cell stand as its steps do in the grammar"""
    offset: Tensor
    stride: Tensor
    """[edge]: where the edge's table begins, and the length of its rows"""
    nodes: Tensor
    """[edge]: how many reasoning nodes its step makes"""
    start: Tensor
    stop: Tensor
    """[cell]: the first position, and the one behind the last"""


def _moved(part: Part, device: torch.device) -> Part:
    values = {f.name: getattr(part, f.name) for f in fields(part)}
    moved: dict[str, Any] = {k: v.to(device) for k, v in values.items() if isinstance(v, Tensor)}
    return replace(part, **moved)


@dataclass(frozen=True, eq=False)
class Evaluator:
    """Every sentence of up to `time` symbols, parsed and executed by table look-up."""

    grammar: Grammar
    time: int
    rows: int
    words: Words
    layers: tuple[Layer, ...]
    table: Tensor
    """all tables of all steps, one behind the other"""
    root_row: Tensor
    """[length]: the row of the whole sentence"""
    answers: Mapping[int, Mapping[Value, int]]
    """for each length, the numbers of the values of whole sentences"""
    edits: Tensor
    """[edit, 2]: every (position, column) that occurs in some sentence"""
    usable: Tensor
    """[length, time, symbol]: whether some sentence of exactly that length has the symbol there"""
    ambiguous: bool
    replays: Replays = field(default_factory=Replays, repr=False)
    _devices: dict[torch.device, Evaluator] = field(default_factory=dict, repr=False)

    def to(self, device: torch.device) -> Evaluator:
        if device == self.table.device:
            return self
        if device not in self._devices:
            self._devices[device] = replace(
                self,
                words=_moved(self.words, device),
                layers=tuple(_moved(layer, device) for layer in self.layers),
                table=self.table.to(device),
                root_row=self.root_row.to(device),
                edits=self.edits.to(device),
                usable=self.usable.to(device),
            )
        return self._devices[device]

    def numbers(self, lengths: Sequence[int], answers: Sequence[Value]) -> Tensor:
        """The number of each answer among sentences of its length [batch], or UNREACHED."""
        for length in lengths:
            if length not in self.answers:
                known = " ".join(map(str, self.answers)) or "(none)"
                raise ParseError(
                    f"the grammar has no sentence of length {length}; "
                    f"the lengths up to {self.time} it has are {known}"
                )
        pairs = zip(lengths, answers, strict=True)
        numbers = [self.answers[length].get(answer, UNREACHED) for length, answer in pairs]
        return torch.tensor(numbers, dtype=torch.int32).to(self.table.device)

    def values(self, columns: Tensor) -> Tensor:
        """The number of every cell's value [row, sentence], for `columns` [time, sentence]."""
        rows = self._read(columns)
        for layer in self.layers:
            found = self._combine(rows, layer)
            into = rows[layer.first : layer.first + layer.cells]
            if self.ambiguous:
                edge = self._first(found, layer)
                padded = torch.cat([found, found.new_full((1, found.shape[1]), ABSENT)])
                into.copy_(padded.gather(0, edge))
            else:  # at most one edge of a cell is not ABSENT, which is zero
                into.zero_().index_add_(0, layer.out, found)
        return rows

    def chosen(self, rows: Tensor) -> list[Tensor]:
        """For each layer, the edge each cell got its value by [cell, sentence]; past the last if none."""
        return [self._first(self._combine(rows, layer), layer) for layer in self.layers]

    def answer_numbers(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """The number of each sentence's answer [sentence]; ABSENT for what is no sentence."""
        return rows.gather(0, self.root_row[lengths][None])[0]

    def _read(self, columns: Tensor) -> Tensor:
        rows = self.table.new_empty(self.rows, columns.shape[1])
        words = self.words
        rows[: len(words.position)] = words.value.gather(1, columns[words.position].clamp(min=0))
        return rows

    def _combine(self, rows: Tensor, layer: Layer) -> Tensor:
        """The number each edge makes of its two parts [edge, sentence]."""
        entry = rows.index_select(0, layer.left).mul_(layer.stride[:, None])
        entry.add_(rows.index_select(0, layer.right)).add_(layer.offset[:, None])
        return self.table.index_select(0, entry.view(-1)).view_as(entry)

    def _first(self, found: Tensor, layer: Layer) -> Tensor:
        """The first edge of each cell that applies."""
        none = len(layer.out)
        number = torch.arange(none, device=found.device)[:, None]
        candidate = torch.where(found == ABSENT, none, number)
        first = candidate.new_full((layer.cells, found.shape[1]), none)
        return first.scatter_reduce_(
            0, layer.out[:, None].expand_as(found), candidate, "amin", include_self=True
        )


@remembered
def evaluator(grammar: Grammar, semantics: Meaning, longest: int, budget: int = BUDGET) -> Evaluator:
    """Compile the evaluator; a BudgetError where its tables would outgrow `budget`."""
    tables = value_tables(grammar, semantics, longest, budget)
    form = tables.form
    roots: list[Cell] = [(form.start, 0, length) for length in form.lengths(longest)]
    inner = {*cells(form, longest), *roots}
    parts = {part for cell in inner if cell[2] > 1 for _, _, *parts in splits(form, cell) for part in parts}
    punctuation = {part for part in parts if isinstance(part[0], Terminal)}
    needed = sorted(inner | punctuation, key=lambda cell: (cell[2], cell[1], str(cell[0])))
    row = {cell: number for number, cell in enumerate(needed)}
    by_length = {n: [cell for cell in needed if cell[2] == n] for n in sorted({cell[2] for cell in needed})}
    flat = _FlatTables(tables)
    layers = [_layer(flat, row, level) for length, level in by_length.items() if length > 1]
    root_row = torch.zeros(longest + 1, dtype=torch.long)
    for cell in roots:
        root_row[cell[2]] = row[cell]
    usable = _usable(grammar, longest)
    answers = {
        length: {value: 1 + index for value, index in tables.values[form.start, length].items()}
        for _, _, length in roots
    }
    return Evaluator(
        grammar,
        longest,
        len(needed),
        _words(grammar, tables, by_length.get(1, [])),
        tuple(layers),
        flat.tensor(),
        root_row,
        answers,
        usable.any(0).nonzero(),
        usable,
        not all(unambiguous(grammar, length) for length in form.lengths(longest)),
    )


class _FlatTables:
    """The step tables one behind the other, each with a row and a column for ABSENT."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.place: dict[tuple[object, int, int], int] = {}
        self.pieces: list[np.ndarray[tuple[int], np.dtype[np.int32]]] = []
        self.size = 0

    def offset(self, cell: Cell, number: int) -> int:
        key = cell[0], cell[2], number
        if key not in self.place:
            out = self.tables.tables[cell[0], cell[2]][number].out
            padded = np.zeros((out.shape[0] + 1, out.shape[1] + 1), dtype=np.int32)
            padded[1:, 1:] = out + 1
            self.place[key] = self.size
            self.pieces.append(padded.ravel())
            self.size += padded.size
        return self.place[key]

    def tensor(self) -> Tensor:
        return torch.from_numpy(np.concatenate([np.zeros(1, dtype=np.int32), *self.pieces])[1:].copy())


def _layer(flat: _FlatTables, row: Mapping[Cell, int], level: Sequence[Cell]) -> Layer:
    edges = []
    for out, cell in enumerate(level):
        for number, _, left, *right in splits(flat.tables.form, cell):
            table = flat.tables.tables[cell[0], cell[2]][number]
            stride = table.out.shape[1] + 1
            edges.append(
                (row[left], row[right[0]], out, flat.offset(cell, number), stride, _nodes(table.step))
            )
    left_row, right_row, outs, offset, strides, nodes = torch.tensor(edges).T.contiguous()
    start = torch.tensor([cell[1] for cell in level])
    return Layer(
        row[level[0]],
        len(level),
        left_row,
        right_row,
        outs,
        offset.int(),
        strides.int(),
        nodes,
        start,
        start + level[0][2],
    )


def _words(grammar: Grammar, tables: Tables, level: Sequence[Cell]) -> Words:
    value = torch.zeros(len(level), len(grammar.symbols), dtype=torch.int32)
    nodes = torch.zeros_like(value)
    for k, cell in enumerate(level):
        if isinstance(cell[0], Terminal):
            value[k, grammar.column(cell[0].name)] = 1
            continue
        for table in reversed(tables.tables[cell[0], 1]):  # the first step that reads a symbol counts
            word = table.step.left
            assert isinstance(word, Terminal)  # a step over one symbol
            column = grammar.column(word.name)
            value[k, column] = int(table.out[0, 0]) + 1
            nodes[k, column] = _nodes(table.step)
    return Words(torch.tensor([cell[1] for cell in level], dtype=torch.long), value, nodes)


def _nodes(step: Step) -> int:
    """Reasoning nodes a step stands for: rules that rename, and inlined ones, are none."""
    return sum(
        not (p.rule.renames or (p.rule.head.inlined and p.rule.alias is None)) for p in step.productions
    )


def _usable(grammar: Grammar, longest: int) -> Tensor:
    table = torch.zeros(longest + 1, longest, len(grammar.symbols), dtype=torch.bool)
    automaton = prefix_automaton(grammar)
    for length in range(1, longest + 1):
        for position, columns in enumerate(automaton.symbols_at(length)):
            table[length, position, list(columns)] = True
    return table
