"""Data sets in files: which tensors they have, declared once for each kind of data and checked in one way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from ngs.errors import DataError
from ngs.grammar.padding import PAD
from ngs.learning import tensor_file


@dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of different lengths, one behind the other."""

    flat: Tensor
    """[entry] or [entry, ...]"""
    offsets: Tensor
    """int64 [row + 1]: row k is flat[offsets[k]:offsets[k + 1]]"""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Tensor:
        """[row]"""
        return self.offsets.diff()

    def row(self, k: int) -> Tensor:
        return self.flat[int(self.offsets[k]) : int(self.offsets[k + 1])]

    def select(self, rows: Tensor) -> Ragged:
        """Some of the rows, in the order in which they are named."""
        starts, lengths = self.offsets[:-1][rows], self.lengths[rows]
        offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        shifts = (starts - offsets[:-1]).repeat_interleave(lengths)
        return Ragged(self.flat[shifts + torch.arange(len(shifts))], offsets)

    def padded(self) -> Tensor:
        """int64 [row, time, ...], PAD behind the end of each row."""
        lengths = self.lengths
        longest = int(lengths.max()) if len(lengths) else 0
        table = torch.full((len(self), longest, *self.flat.shape[1:]), PAD, dtype=torch.long)
        table[torch.arange(longest) < lengths[:, None]] = self.flat.long()
        return table


T = TypeVar("T")

Content = Tensor | Ragged | Sequence[str]
"""What a column stands for: a tensor, rows of different lengths, or texts."""

Size = str | int | None
"""Of a dimension: this number, as many as whatever else has this name, or any."""


@dataclass(frozen=True)
class Column:
    """A tensor with its type and sizes. Floating-point numbers must be finite."""

    dtype: torch.dtype
    sizes: tuple[Size, ...]
    low: int | None = None
    high: Size = None
    """whole numbers are from `low` to below `high`, which may be how many there are of something"""
    rows: str | None = None
    """what has rows of different lengths, one after another: NAME.offsets tells where each begins"""
    least: int = 0
    """entries in such a row"""
    texts: bool = False
    """JSON in UTF-8: a list of texts, of which `sizes` tells the number"""


def texts(number: Size) -> Column:
    return Column(torch.uint8, (number,), texts=True)


Layout = Mapping[str, Column]
"""What a file has, by the names of the tensors. What is counted is counted where it is named first."""


@dataclass(frozen=True)
class Format:
    """A kind of data set in a file."""

    kind: str
    remedy: str
    """what to do where a file is none"""
    layout: Layout
    further: Callable[[Mapping[str, Any], Any], Iterator[str]] = lambda contents, facts: iter(())
    """faults of contents that have the layout"""

    def save(self, path: Path, contents: Mapping[str, Content], facts: Mapping[str, Any]) -> None:
        """All of it or nothing: what was there stays until all is written."""
        tensors = flattened(contents)
        fault = next(self.faults(tensors, facts), None)
        if fault is not None:
            raise DataError(f"{path} cannot be written: {fault}")
        tensor_file.save(path, self.kind, tensors, facts)

    def load(self, path: Path) -> tuple[dict[str, Any], Any]:
        """What each column stands for, which stays in the file until it is used, and facts; checked."""
        tensors, facts = tensor_file.load(path, self.kind, self.remedy)
        fault = next(self.faults(tensors, facts), None)
        if fault is not None:
            raise DataError(f"{path} is no proper data set: {fault}; {self.remedy}")
        return self._contents(tensors), facts

    def is_at(self, path: Path) -> bool:
        """Whether a file says that it is of this kind; only its header is read."""
        return tensor_file.stated_kind(path) == self.kind

    def faults(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> Iterator[str]:
        """What keeps these from being a data set; what comes later relies on what came before."""
        name = facts.get("name")
        if not isinstance(name, str) or not name.isprintable():
            yield f"the name {name!r} cannot be printed"
        counts: dict[str, int] = {}
        for each, column in self.layout.items():
            yield from _faults_of_column(each, column, tensors, counts)
        yield from self.further(self._contents(tensors), facts)

    def _contents(self, tensors: Mapping[str, Tensor]) -> dict[str, Any]:
        return {
            name: Ragged(tensors[name], tensors[f"{name}.offsets"])
            if column.rows is not None
            else as_texts(tensors[name])
            if column.texts
            else tensors[name]
            for name, column in self.layout.items()
        }


def _faults_of_column(
    name: str, column: Column, tensors: Mapping[str, Tensor], counts: dict[str, int]
) -> Iterator[str]:
    yield from _faults_of_type(name, column.dtype, len(column.sizes), tensors)
    tensor = tensors[name]
    entries = as_texts(tensor) if column.texts else tensor
    if entries is None:
        yield f"{name} is no list of texts"
        return
    shape = [len(entries), *tensor.shape[1:]]
    needed = [
        counts.setdefault(size, found) if isinstance(size, str) else found if size is None else size
        for size, found in zip(column.sizes, shape, strict=True)
    ]
    if shape != needed:
        yield f"{name} is {shape}, and {needed} is needed"
    if column.rows is not None:
        yield from _faults_of_type(f"{name}.offsets", torch.int64, 1, tensors)
        offsets = tensors[f"{name}.offsets"]
        rows = counts.setdefault(column.rows, len(offsets) - 1)
        ends = offsets[[0, -1]].tolist() if len(offsets) == rows + 1 else None
        if ends != [0, len(tensor)] or (offsets.diff() < column.least).any():
            yield f"the rows of {name} do not add up"
    if tensor.is_floating_point() and not tensor.isfinite().all():
        yield f"{name} has what is no number"
    if column.low is not None and tensor.numel():
        high = counts[column.high] if isinstance(column.high, str) else column.high
        least, most = int(tensor.min()), int(tensor.max())
        if least < column.low or (high is not None and most >= high):
            known = f"{column.low} or more" if high is None else f"{column.low} to {high - 1}"
            yield f"{name} has {least} to {most}, and {known} can be"


def _faults_of_type(
    name: str, dtype: torch.dtype, dimensions: int, tensors: Mapping[str, Tensor]
) -> Iterator[str]:
    if name not in tensors:
        yield f"the tensor {name} is missing"
    elif tensors[name].dtype != dtype or tensors[name].ndim != dimensions:
        given = f"{tensors[name].dtype} with {tensors[name].ndim} dimensions"
        yield f"{name} is {given}, and {dtype} with {dimensions} is needed"


# From contents to tensors and back


def flattened(contents: Mapping[str, Content]) -> dict[str, Tensor]:
    """Rows one behind the other with their offsets, and texts as bytes."""
    tensors: dict[str, Tensor] = {}
    for name, content in contents.items():
        if isinstance(content, Ragged):
            tensors |= {name: content.flat, f"{name}.offsets": content.offsets}
        else:
            tensors[name] = content if isinstance(content, Tensor) else as_bytes(content)
    return tensors


def as_bytes(texts: Sequence[str]) -> Tensor:
    return torch.frombuffer(bytearray(json.dumps(texts), "utf-8"), dtype=torch.uint8)


def as_texts(tensor: Tensor) -> tuple[str, ...] | None:
    """None where these bytes are no list of texts."""
    try:
        found = json.loads(tensor.numpy().tobytes())
    except (ValueError, RecursionError):
        return None
    proper = isinstance(found, list) and all(isinstance(text, str) for text in found)
    return tuple(found) if proper else None


def under(contents: Mapping[str, Any], part: str) -> dict[str, Any]:
    """The contents of a part of the data, by their names within it."""
    return {name.removeprefix(f"{part}."): c for name, c in contents.items() if name.startswith(f"{part}.")}


def within(part: str, contents: Mapping[str, T]) -> dict[str, T]:
    """The reverse: contents of a part by their names in the whole."""
    return {f"{part}.{name}": content for name, content in contents.items()}
