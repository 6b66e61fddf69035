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

from ngs.grammar.ambiguity import unambiguous
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import no_such_length
from ngs.grammar.rules import Terminal
from ngs.parsing.circuit import Cell, cells, splits
from ngs.parsing.decode import PAD
from ngs.parsing.tables import Tables
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import Meaning
from ngs.search.compiled import remembered, value_tables
from ngs.search.neighbours import Neighbours, usable_symbols

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
    """[edge, 1]: where the edge's table begins, and the length of its rows"""


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
                raise no_such_length(length, self.answers, self.time)
        pairs = zip(lengths, answers, strict=True)
        numbers = [self.answers[length].get(answer, UNREACHED) for length, answer in pairs]
        return torch.tensor(numbers, dtype=torch.int32).to(self.table.device)

    def values(self, columns: Tensor) -> Tensor:
        """The number of every cell's value [row, sentence], for `columns` [time, sentence]."""
        rows = self.table.new_zeros(self.rows, columns.shape[1])
        words = self.words
        rows[: len(words.position)] = words.value.gather(1, columns[words.position].clamp_(min=0))
        for layer in self.layers:
            entry = torch.addcmul(layer.offset, rows.index_select(0, layer.left), layer.stride)
            entry += rows.index_select(0, layer.right)
            made = self.table.index_select(0, entry.view(-1)).view_as(entry)
            if self.ambiguous:
                made = made * self._is_first(made, layer)
            # at most one edge of a cell is left that is not ABSENT, which is zero
            rows[layer.first : layer.first + layer.cells].index_add_(0, layer.out, made)
        return rows

    def answer_numbers(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """The number of each sentence's answer [sentence]; ABSENT for what is no sentence."""
        return rows.gather(0, self.root_row[lengths][None])[0]

    def answers_of(self, columns: Tensor, lengths: Tensor) -> Tensor:
        """`answer_numbers` of sentences `columns` [sentence, time]."""
        return self.answer_numbers(self.values(columns.T), lengths)

    def neighbours(self, columns: Tensor, lengths: Tensor, targets: Tensor) -> Neighbours:
        size, time = columns.shape
        positions, symbols = self.edits.unbind(1)
        edits = len(positions)
        tried = columns.T[:, None].repeat(1, 1 + edits, 1)  # [time, the sentence and its edits, batch]
        tried[positions, torch.arange(1, 1 + edits, device=columns.device)] = symbols[:, None]
        rows = self.values(tried.view(time, -1))
        answers = self.answer_numbers(rows, lengths.repeat(1 + edits)).view(1 + edits, size)
        answers = answers.masked_fill(columns[:, 0] == PAD, ABSENT)  # where no sentence was possible at all
        changed = torch.zeros(size, time, len(self.grammar.symbols), dtype=torch.bool, device=columns.device)
        changed[:, positions, symbols] = (answers[1:] == targets).T
        return Neighbours(answers[0] == targets, answers[0] != ABSENT, changed)

    def _is_first(self, made: Tensor, layer: Layer) -> Tensor:
        """Whether the edge is the first of its cell that applies."""
        none = len(layer.out)
        number = torch.arange(none, device=made.device)[:, None]
        candidate = torch.where(made == ABSENT, none, number)
        first = candidate.new_full((layer.cells, made.shape[1]), none)
        first.scatter_reduce_(0, layer.out[:, None].expand_as(made), candidate, "amin", include_self=True)
        return first[layer.out] == number


@remembered
def evaluator(grammar: Grammar, semantics: Meaning, longest: int, budget: int) -> Evaluator:
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
    usable = usable_symbols(grammar, longest)
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
            edges.append((row[left], row[right[0]], out, flat.offset(cell, number), stride))
    left_row, right_row, outs, offset, strides = torch.tensor(edges).T.contiguous()
    return Layer(
        row[level[0]],
        len(level),
        left_row,
        right_row,
        outs,
        offset[:, None].int(),
        strides[:, None].int(),
    )


def _words(grammar: Grammar, tables: Tables, level: Sequence[Cell]) -> Words:
    value = torch.zeros(len(level), len(grammar.symbols), dtype=torch.int32)
    for k, cell in enumerate(level):
        if isinstance(cell[0], Terminal):
            value[k, grammar.column(cell[0].name)] = 1
            continue
        for table in reversed(tables.tables[cell[0], 1]):  # the first step that reads a symbol counts
            word = table.step.left
            assert isinstance(word, Terminal)  # a step over one symbol
            column = grammar.column(word.name)
            value[k, column] = int(table.out[0, 0]) + 1
    return Words(torch.tensor([cell[1] for cell in level], dtype=torch.long), value)
