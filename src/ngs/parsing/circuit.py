"""The chart as data: rows of partial results, and the edges that combine them, level by level.

A row is one (symbol, position, length, value). Two rows are constants, the next time * symbols are the
network's scores, and each level's edges (left, right) -> out only look at rows before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ngs.grammar.ambiguity import unambiguous
from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import NormalForm, NormalSymbol, Step, Value, no_such_length, normal_form
from ngs.grammar.rules import Terminal
from ngs.parsing.cuda_graphs import CudaGraphs
from ngs.parsing.tables import Blank, Indices, Tables, compile_tables

ONE = 0  # the row whose score is always log 1: the right part of edges that have none

NOTHING = 1  # the row whose score is always log 0

FIRST_LEAF = 2  # the row of the first position's first symbol

Cell = tuple[NormalSymbol, int, int]  # (symbol, first position, length)


@dataclass(eq=False)
class Edges:
    """Edges (left, right) -> out, sorted by `out`, which numbers the segments they are reduced to from 0."""

    table: Tensor  # int64 [3, edge]: `left`, `right` and `out`
    segments: int

    def __post_init__(self) -> None:
        self.left, self.right, self.out = self.table

    @classmethod
    def of(cls, tables: Sequence[Indices], segments: int) -> Edges:
        """The edges of several tables, in any order."""
        table = np.concatenate([np.empty((3, 0), dtype=np.int64), *tables], axis=1)
        order = np.argsort(table[2], kind="stable")  # stable: the first edge of a segment stays the first
        return cls(torch.from_numpy(table.take(order, axis=1)), segments)

    @classmethod
    def of_pairs(cls, segments: Sequence[Sequence[tuple[int, int]]]) -> Edges:
        """Edges from the pairs (left, right) of each segment."""
        pairs = np.array([pair for segment in segments for pair in segment], dtype=np.int64).reshape(-1, 2)
        out = np.repeat(np.arange(len(segments)), [len(segment) for segment in segments])
        return cls.of([np.vstack([pairs.T, out])], len(segments))

    def padded(self) -> Edges:
        """The same edges, with impossible ones after them up to the next power of two.

        Batches then come in few shapes, and one CUDA graph serves many of them.
        """
        if not self.segments:
            return self  # an empty batch has no example to give them to
        count = len(self.out)
        extra = (1 << max(count - 1, 0).bit_length()) - count
        table = torch.nn.functional.pad(self.table, (0, extra), value=NOTHING)
        table[2, count:] = self.segments - 1
        return Edges(table, self.segments)


class Circuit(nn.Module):
    """A compiled chart for sentences of up to `time` symbols.

    `roots[length][value]` is the root of all derivations of that length and value. Roots stay on the CPU,
    where batches choose theirs; levels move with the module.
    """

    inner: Tensor  # int64 [3, edge]: `left`, `right` and `out` of all levels

    def __init__(
        self,
        time: int,
        symbols: int,
        levels: Sequence[Edges],
        roots: Mapping[int, Mapping[Value, int]],
        root_edges: Edges,
    ) -> None:
        super().__init__()
        self.time, self.symbols, self.roots, self.root_edges = time, symbols, roots, root_edges
        self.rows = FIRST_LEAF + self.leaves + sum(level.segments for level in levels)
        self._root_first = np.searchsorted(root_edges.out.numpy(), np.arange(root_edges.segments + 1))
        self.cuda_graphs = CudaGraphs()
        self._counts = [len(level.out) for level in levels]
        self._segments = [level.segments for level in levels]
        none = torch.empty(3, 0, dtype=torch.int64)  # a circuit need not have levels
        inner = torch.cat([none, *(level.table for level in levels)], 1)
        self.register_buffer("inner", inner, persistent=False)

    @cached_property
    def levels(self) -> tuple[Edges, ...]:
        return tuple(map(Edges, torch.split(self.inner, self._counts, 1), self._segments))

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        self.__dict__.pop("levels", None)  # views of buffers that may move now
        return super()._apply(*args, **kwargs)  # type: ignore[no-untyped-call]

    @property
    def leaves(self) -> int:
        return self.time * self.symbols

    def root(self, length: int, value: Value = ()) -> int | None:
        """The root of `value` among sentences of `length`; None where no sentence has that value."""
        if length not in self.roots:
            raise no_such_length(length, self.roots, self.time)
        return self.roots[length].get(value)

    def edges_of(self, lengths: Sequence[int], values: Sequence[Value] | None = None) -> Edges:
        """The edges of the root of each length and value; by default of all sentences of that length."""
        pairs = zip(lengths, [()] * len(lengths) if values is None else values, strict=True)
        return self.select([self.root(*pair) for pair in pairs])

    def select(self, roots: Sequence[int | None]) -> Edges:
        """The edges of one root for each example, on the circuit's device; `out` is the example."""
        known = np.array([-1 if root is None else root for root in roots], dtype=np.int64)
        edges, first = self.root_edges, self._root_first
        starts = np.where(known < 0, 0, first[known])
        counts = np.where(known < 0, 0, first[known + 1] - starts)
        example = np.repeat(np.arange(len(known)), counts)
        offset = np.arange(len(example)) - np.repeat(np.cumsum(counts) - counts, counts)
        edge = torch.from_numpy(np.repeat(starts, counts) + offset)
        table = edges.table[:, edge]
        table[2] = torch.from_numpy(example)
        return Edges(table.to(self.inner.device), len(known))


def leaf_row(symbols: int, position: int, symbol: int) -> int:
    return FIRST_LEAF + position * symbols + symbol


def cells(form: NormalForm, longest: int) -> list[Cell]:
    """The cells that some sentence of at most `longest` symbols needs below its root, shortest first."""
    needed = parts_of_sentences(form, form.lengths(longest))
    return shortest_first(cell for cell in needed if not isinstance(cell[0], Terminal))


def parts_of_sentences(form: NormalForm, lengths: Iterable[int]) -> set[Cell]:
    """Every cell that is part of a sentence of one of these lengths, terminals among them."""
    found: set[Cell] = set()
    agenda: list[Cell] = [(form.start, 0, length) for length in lengths]
    while agenda:
        cell = agenda.pop()
        if not isinstance(cell[0], Terminal):
            new = {part for _, parts in splits(form, cell) for part in parts} - found
            found |= new
            agenda += new
    return found


def shortest_first(some: Iterable[Cell]) -> list[Cell]:
    return sorted(some, key=lambda cell: (cell[2], cell[1], str(cell[0])))


def splits(form: NormalForm, cell: Cell) -> Iterator[tuple[Step, tuple[Cell, ...]]]:
    """Each step of a cell with its one or two parts, in the order of `form.splits`."""
    symbol, start, length = cell
    for step, left in form.splits(symbol, length):
        part = (step.left, start, left)
        yield step, (part,) if step.right is None else (part, (step.right, start + left, length - left))


def unroll(tables: Tables) -> Circuit:
    """The circuit of `tables`: one row for each needed cell and each of its values."""
    form, longest = tables.form, tables.longest
    symbols = form.grammar.symbols
    rows = FIRST_LEAF + longest * len(symbols)
    first_row: dict[Cell, int] = {
        (Terminal(name), position, 1): leaf_row(len(symbols), position, symbol)
        for position in range(longest)
        for symbol, name in enumerate(symbols)
    }

    def edges_of(cell: Cell, first_out: int) -> Iterator[Indices]:
        for number, (_, (left, *right)) in enumerate(splits(form, cell)):
            out = tables.tables[cell[0], cell[2]][number].out
            left_rows = np.repeat(first_row[left] + np.arange(out.shape[0]), out.shape[1])
            right_row = first_row[right[0]] if right else ONE
            right_rows = np.tile(right_row + np.arange(out.shape[1]), out.shape[0])
            yield np.stack([left_rows, right_rows, first_out + out.ravel()])

    levels = []
    for length, level in groupby(cells(form, longest), key=itemgetter(2)):
        parts: list[Indices] = []
        segments = 0
        for cell in level:
            first_row[cell] = rows + segments
            parts += edges_of(cell, segments)
            segments += len(tables.values[cell[0], length])
        levels.append(Edges.of(parts, segments))
        rows += segments

    roots: dict[int, dict[Value, int]] = {}
    parts, count = [], 0
    for length in form.lengths(longest):
        values = tables.values[form.start, length]
        roots[length] = {value: count + index for value, index in values.items()}
        parts += edges_of((form.start, 0, length), count)
        count += len(values)
    return Circuit(longest, len(symbols), levels, roots, Edges.of(parts, count))


def determinise(grammar: Grammar, longest: int) -> Circuit:
    """A chart with one derivation a sentence, whatever the grammar: the automaton's paths.

        P(q, i, 1) = { w : q accepts after w },   P(q, i, n) = { w P(q.w, i + 1, n - 1) }

    A sum over the derivations of an ambiguous grammar would count a sentence once for each of its trees.
    """
    automaton, width = prefix_automaton(grammar), len(grammar.symbols)
    lengths = [n for n in range(1, longest + 1) if automaton.completes_in(automaton.start, n)]
    roots = [(automaton.start, 0, n) for n in lengths]
    row: dict[tuple[int, int, int], int] = {}

    def moves(state: int, position: int, remaining: int) -> Iterator[tuple[int, tuple[int, int, int]]]:
        for symbol in automaton.legal_within(state, remaining):
            after = automaton.advance(state, symbol), position + 1, remaining - 1
            yield leaf_row(width, position, symbol), after

    def edges_of(paths: Sequence[tuple[int, int, int]]) -> Edges:
        return Edges.of_pairs(
            [[(leaf, row.get(after, ONE)) for leaf, after in moves(*path)] for path in paths]
        )

    needed, agenda = set[tuple[int, int, int]](), [*roots]
    for path in agenda:  # which grows on the way
        new = {after for _, after in moves(*path) if after[2]} - needed
        needed |= new
        agenda += new
    levels = []
    for _, group in groupby(sorted(needed, key=itemgetter(2, 1, 0)), key=itemgetter(2)):
        level = [*group]
        levels.append(edges_of(level))
        row |= {path: FIRST_LEAF + longest * width + len(row) + k for k, path in enumerate(level)}
    values: dict[int, dict[Value, int]] = {length: {(): root} for root, length in enumerate(lengths)}
    return Circuit(longest, width, levels, values, edges_of(roots))


@lru_cache(maxsize=128)
def derivation_circuit(grammar: Grammar, longest: int, device: torch.device) -> Circuit:
    """The plain chart: an ambiguous sentence is in it once for each tree, which no maximum minds."""
    return unroll(compile_tables(normal_form(grammar), Blank(), longest, budget=_CELLS)).to(device)


@lru_cache(maxsize=128)
def sentence_circuit(grammar: Grammar, longest: int, device: torch.device) -> Circuit:
    """The chart whose derivations are the sentences of up to `longest` symbols, each exactly once."""
    if all(unambiguous(grammar, length) for length in normal_form(grammar).lengths(longest)):
        return derivation_circuit(grammar, longest, device)
    return determinise(grammar, longest).to(device)


_CELLS = 10_000_000  # far beyond any grammar's own cells; only values need a real budget
