"""Judges: is f(z) = y? For many sentences at once by table look-up, and one at a time by the reference.

Parsing and executing by tables is the chart in another semiring, whose elements are the numbers of values,
counted from 1, or ABSENT. `times` looks two numbers up in the compiled table of their step, and `plus` keeps
the first step that applies. Row and column 0 of every table are ABSENT, so nothing has to be masked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby, zip_longest

import numpy as np
import torch
from torch import Tensor, nn

from ngs.grammar.ambiguity import unambiguous
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import NormalForm, NormalSymbol
from ngs.grammar.padding import PAD
from ngs.grammar.rules import Terminal
from ngs.grammar.tree import Sentence
from ngs.parsing.circuit import Cell, cells, shortest_first, splits
from ngs.parsing.sentence import find_tree
from ngs.parsing.tables import Tables
from ngs.reasoning.operation import UNDEFINED, Value
from ngs.reasoning.semantics import Meaning, evaluate
from ngs.search.edits import check_longest

ABSENT = 0  # the number that stands for: no derivation here
UNREACHED = -1  # the number of an answer that no sentence of its length gives


class ReferenceJudge:
    """f(z) = y by parsing and executing each sentence by itself.

    >>> from ngs import Arithmetic, arithmetic_grammar
    >>> grammar = arithmetic_grammar()
    >>> judge = ReferenceJudge(grammar, Arithmetic, answers=[3, 3])
    >>> judge(torch.tensor([0, 1]), torch.tensor([grammar.encode("1+2"), grammar.encode("1+1")])).tolist()
    [True, False]
    """

    def __init__(self, grammar: Grammar, semantics: Meaning, answers: Sequence[Value]) -> None:
        self.grammar, self.answers = grammar, answers

        @lru_cache(maxsize=100_000)
        def value(sentence: Sentence) -> Value:
            tree = find_tree(grammar, sentence)
            return UNDEFINED if tree is None else evaluate(tree, semantics)

        self._value = value

    def __call__(self, examples: Tensor, z: Tensor) -> Tensor:
        """bool [sentence]: whether each of z [sentence, time] gives the answer of its example [sentence]."""
        right = (self._gives(*pair) for pair in zip(z.tolist(), examples.tolist(), strict=True))
        return torch.tensor(list(right), dtype=torch.bool, device=z.device)

    def _gives(self, symbols: Sequence[int], example: int) -> bool:
        sentence = self.grammar.decode(symbol for symbol in symbols if symbol != PAD)
        value = self._value(sentence) if sentence else UNDEFINED
        return value is not UNDEFINED and bool(value == self.answers[example])


class TableJudge(nn.Module):
    """f(z) = y by compiled tables, for sentences of examples with these lengths and answers."""

    def __init__(self, values: TableValues, lengths: Sequence[int], answers: Sequence[Value]) -> None:
        super().__init__()
        self.values = values
        pairs = zip(lengths, answers, strict=True)
        numbers = [values.known[length].get(answer, UNREACHED) for length, answer in pairs]
        self.answers = nn.Buffer(torch.tensor(numbers, dtype=torch.int32), persistent=False)
        """[example]: the number of each answer among the values of its length"""

    def forward(self, examples: Tensor, z: Tensor) -> Tensor:
        """bool [sentence]: whether each of z [sentence, time] gives the answer of its example [sentence]."""
        numbers: Tensor = self.values(z)
        return numbers == self.answers[examples]


class TableValues(nn.Module):
    """Every sentence of up to `time` symbols, parsed and executed by table look-up."""

    def __init__(self, grammar: Grammar, tables: Tables) -> None:
        super().__init__()
        form, self.time = tables.form, tables.longest
        lengths = form.lengths(self.time)
        self.known: Mapping[int, Mapping[Value, int]] = {
            length: {value: number + 1 for value, number in tables.values[form.start, length].items()}
            for length in lengths
        }
        """for each length, the numbers of the values of whole sentences"""
        needed = _needed_cells(form, self.time)
        row = {cell: number for number, cell in enumerate(needed)}
        self.rows = len(needed)
        places, table = _one_after_another(tables)
        levels = [list(level) for _, level in groupby(needed, key=lambda cell: cell[2])]
        words = levels.pop(0) if levels and levels[0][0][2] == 1 else []
        edges = [_edges(form, places, row, level) for level in levels]
        self.levels = [(len(level), len(some)) for level, some in zip(levels, edges, strict=True)]
        """cells and edges of each length"""
        flat = torch.tensor([*chain(*edges)], dtype=torch.long).view(-1, 4).T
        self.parts = nn.Buffer(flat[:2].contiguous(), persistent=False)
        """[2, edge]: the rows of the left and the right part"""
        self.places = nn.Buffer(flat[2:, :, None].int().contiguous(), persistent=False)
        """[2, edge, 1]: where the edge's table begins, and the length of its rows"""
        root_row = torch.full((self.time + 1,), self.rows)  # of no such length: a row that stays ABSENT
        for length in lengths:
            root_row[length] = row[form.start, 0, length]
        self.ambiguous = not all(unambiguous(grammar, length) for length in lengths)
        position = torch.tensor([cell[1] for cell in words], dtype=torch.long)
        self.word_position = nn.Buffer(position, persistent=False)
        """[cell]: cells of one symbol are the first rows; the position each reads"""
        self.word_value = nn.Buffer(_word_values(grammar, tables, words), persistent=False)
        """[cell, symbol]: the number of the value that is read, or ABSENT"""
        self.table = nn.Buffer(table, persistent=False)
        self.root_row = nn.Buffer(root_row, persistent=False)
        """[length]: the row of the whole sentence"""

    def forward(self, z: Tensor) -> Tensor:
        """int32 [sentence]: the number of the value of each of z [sentence, time]; ABSENT for no sentence."""
        lengths = (z != PAD).sum(1)
        if z.shape[1] > self.time:
            check_longest(lengths, self.time)
        symbols = z.new_full((self.time, len(z)), PAD)
        symbols[: z.shape[1]] = z.T[: self.time]
        return self._values(symbols).gather(0, self.root_row[lengths][None])[0]

    def _values(self, z: Tensor) -> Tensor:
        """The number of every cell's value [row, sentence], for sentences [time, sentence]."""
        rows = self.table.new_zeros(self.rows + 1, z.shape[1])
        rows[: len(self.word_position)] = self.word_value.gather(
            1, z.index_select(0, self.word_position).clamp_(min=0)
        )
        first, counts = len(self.word_position), [edges for _, edges in self.levels]
        parts, places = torch.split(self.parts, counts, 1), torch.split(self.places, counts, 1)
        for (number, _), (left, right), (offset, stride) in zip(self.levels, parts, places, strict=True):
            entry = torch.addcmul(offset, rows.index_select(0, left), stride)
            entry += rows.index_select(0, right)
            made = self.table.index_select(0, entry.view(-1)).view_as(entry)
            made = made.view(len(made) // number, number, -1)
            if self.ambiguous:
                made = made * ((made != ABSENT).cumsum(0) == 1)  # the first that applies
            # At most one edge of a cell is left that is not ABSENT, which is zero.
            torch.amax(made, 0, out=rows[first : first + number])
            first += number
        return rows


_Places = dict[tuple[NormalSymbol, int, int], tuple[int, int]]
"""Where the table of each (symbol, length, step) begins, and the length of its rows."""

_Edge = tuple[int, int, int, int]
"""The rows of its two parts, where its table begins, and the length of the table's rows."""


def _edges(form: NormalForm, places: _Places, row: Mapping[Cell, int], level: list[Cell]) -> list[_Edge]:
    """The edges into all cells of one length: the first of each cell, then the second of each, and so on.

    A cell's edges are in the order of its steps. One that has fewer than others is given ABSENT edges.
    """
    into = [
        [
            (row[left], row[right[0]], *places[cell[0], cell[2], number])
            for number, (_, (left, *right)) in enumerate(splits(form, cell))
        ]
        for cell in level
    ]
    return [edge for rank in zip_longest(*into, fillvalue=(len(row), len(row), 0, 0)) for edge in rank]


def _one_after_another(tables: Tables) -> tuple[_Places, Tensor]:
    """All step tables in one, each with a row and a column for ABSENT."""
    places, pieces, size = _Places(), [np.zeros(0, dtype=np.int32)], 0
    for (symbol, length), steps in tables.tables.items():
        for number, step in enumerate(steps):
            padded = np.pad(step.out + 1, ((1, 0), (1, 0))).astype(np.int32)
            places[symbol, length, number] = size, padded.shape[1]
            pieces.append(padded.ravel())
            size += padded.size
    return places, torch.from_numpy(np.concatenate(pieces))


def _needed_cells(form: NormalForm, longest: int) -> list[Cell]:
    """The cells that some sentence of at most `longest` symbols needs, shortest first."""
    inner = {*cells(form, longest), *((form.start, 0, length) for length in form.lengths(longest))}
    parts = {part for cell in inner if cell[2] > 1 for _, parts in splits(form, cell) for part in parts}
    punctuation = {part for part in parts if isinstance(part[0], Terminal)}
    return shortest_first(inner | punctuation)


def _word_values(grammar: Grammar, tables: Tables, words: Sequence[Cell]) -> Tensor:
    """[cell, symbol]: the number of the value that each cell of one symbol reads."""
    value = torch.zeros(len(words), len(grammar.symbols), dtype=torch.int32)
    for k, (symbol, _, _) in enumerate(words):
        if isinstance(symbol, Terminal):
            value[k, grammar.symbol_id(symbol.name)] = 1
            continue
        for table in reversed(tables.tables[symbol, 1]):  # the first step that reads a symbol counts
            word = table.step.left
            assert isinstance(word, Terminal)  # a step over one symbol
            value[k, grammar.symbol_id(word.name)] = int(table.out[0, 0]) + 1
    return value
