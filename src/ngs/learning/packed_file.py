"""Data sets in files: which tensors they have, declared once for each kind of data and checked in one way."""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ngs.errors import DataError
from ngs.grammar.padding import PAD
from ngs.learning import tensor_file


@dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of different lengths, one behind the other."""

    flat: Tensor  # [entry] or [entry, ...]
    offsets: Tensor  # int64 [row + 1]: row k is flat[offsets[k]:offsets[k + 1]]

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


Content = Tensor | Ragged | Sequence[str]

Contents = Mapping[str, Any]
"""By the names of columns their Content, and by those of groups the Contents of these."""

Size = str | int | None  # of a dimension: this number, as many as whatever else has this name, or any

Counts = ChainMap[str, int]  # how many there are of something, in a group and in those around it


@dataclass(frozen=True)
class Column:
    """A tensor with its type and sizes. Floating-point numbers must be finite."""

    dtype: torch.dtype
    sizes: tuple[Size, ...]
    low: int | None = None
    high: Size | tuple[int, ...] = None
    """integers are from `low` to below `high`: a number, a count, or one for each of the last dimension"""
    rows: str | None = None
    """what has rows of different lengths, one after another: NAME.offsets tells where each begins"""
    least: int = 0  # entries in such a row
    texts: bool = False  # JSON in UTF-8: a list of texts, of which `sizes` tells the number

    def content(self, name: str, tensors: Mapping[str, Tensor]) -> Any:
        """What the column stands for; None where it is no list of texts."""
        if self.texts:
            return as_texts(tensors[name])
        return tensors[name] if self.rows is None else Ragged(tensors[name], tensors[f"{name}.offsets"])

    def faults(self, name: str, tensors: Mapping[str, Tensor], counts: Counts) -> Iterator[str]:
        """What keeps the tensors from having this column; the counts that it is the first to name are set."""
        yield from _faults_of_type(name, self.dtype, len(self.sizes), tensors)
        tensor = tensors[name]
        entries = as_texts(tensor) if self.texts else tensor
        if entries is None:
            yield f"{name} is no list of texts"
            return
        shape = [len(entries), *tensor.shape[1:]]
        needed = [
            counts.setdefault(size, found) if isinstance(size, str) else found if size is None else size
            for size, found in zip(self.sizes, shape, strict=True)
        ]
        if shape != needed:
            yield f"{name} is {shape}, and {needed} is needed"
        if self.rows is not None:
            yield from self._faults_of_rows(name, tensors, counts)
        if tensor.is_floating_point() and not tensor.isfinite().all():
            yield f"{name} has what is no number"
        if self.low is not None and tensor.numel():
            yield from self._faults_of_numbers(name, tensor, self.low, counts)

    def _faults_of_rows(self, name: str, tensors: Mapping[str, Tensor], counts: Counts) -> Iterator[str]:
        yield from _faults_of_type(f"{name}.offsets", torch.int64, 1, tensors)
        offsets = tensors[f"{name}.offsets"]
        rows = counts.setdefault(self.rows or "", len(offsets) - 1)
        ends = offsets[[0, -1]].tolist() if len(offsets) == rows + 1 else None
        if ends != [0, len(tensors[name])] or (offsets.diff() < self.least).any():
            yield f"the rows of {name} do not add up"

    def _faults_of_numbers(self, name: str, tensor: Tensor, low: int, counts: Counts) -> Iterator[str]:
        high = counts[self.high] if isinstance(self.high, str) else self.high
        least, most = int(tensor.min()), int(tensor.max())
        # With a dimension of its own, or the limit would be cut to fit the type of the tensor.
        above = high is not None and bool((tensor >= torch.tensor(high).reshape(-1)).any())
        if least < low or above:
            known = f"{low} or more" if high is None else f"{low} to below {high}"
            yield f"{name} has {least} to {most}, and {known} can be"


def texts(number: Size) -> Column:
    return Column(torch.uint8, (number,), texts=True)


def _faults_of_type(
    name: str, dtype: torch.dtype, dimensions: int, tensors: Mapping[str, Tensor]
) -> Iterator[str]:
    if name not in tensors:
        yield f"the tensor {name} is missing"
    elif tensors[name].dtype != dtype or tensors[name].ndim != dimensions:
        given = f"{tensors[name].dtype} with {tensors[name].ndim} dimensions"
        yield f"{name} is {given}, and {dtype} with {dimensions} is needed"


Rule = Callable[[Contents, Mapping[str, Any]], Iterator[str]]
"""The faults of contents that have their columns, given the facts about the file."""


@dataclass(frozen=True)
class Group:
    """Columns by their names, groups in it by theirs (the tensors of GROUP are called GROUP.NAME), and rules.

    What is counted is counted where it is named first, in the group or around it.
    """

    columns: Mapping[str, Column | Group]
    rules: Sequence[Rule] = ()

    def content(self, name: str, tensors: Mapping[str, Tensor]) -> Contents:
        return {own: each.content(_joined(name, own), tensors) for own, each in self.columns.items()}

    def faults(
        self, name: str, tensors: Mapping[str, Tensor], counts: Counts, facts: Mapping[str, Any]
    ) -> Iterator[str]:
        for own, each in self.columns.items():
            if isinstance(each, Group):
                yield from each.faults(_joined(name, own), tensors, counts.new_child(), facts)
            else:
                yield from each.faults(_joined(name, own), tensors, counts)
        contents = self.content(name, tensors)
        for rule in self.rules:
            yield from (f"{name}: {fault}" if name else fault for fault in rule(contents, facts))


def _joined(name: str, own: str) -> str:
    return f"{name}.{own}" if name else own


@dataclass(frozen=True)
class Format:
    """A kind of data set in a file."""

    kind: str
    remedy: str  # what to do where a file is none
    whole: Group

    def save(self, path: Path, contents: Contents, facts: Mapping[str, Any]) -> None:
        """All of it or nothing: what was there stays until all is written."""
        tensors = flattened(contents)
        fault = next(self.faults(tensors, facts), None)
        if fault is not None:
            raise DataError(f"{path} cannot be written: {fault}")
        tensor_file.save(path, self.kind, tensors, facts)

    def load(self, path: Path) -> tuple[Contents, Any]:
        """What each column stands for, which stays in the file until it is used, and facts; checked."""
        tensors, facts = tensor_file.load(path, self.kind, self.remedy)
        fault = next(self.faults(tensors, facts), None)
        if fault is not None:
            raise DataError(f"{path} is no proper data set: {fault}; {self.remedy}")
        return self.whole.content("", tensors), facts

    def is_at(self, path: Path) -> bool:
        """Whether a file says that it is of this kind; only its header is read."""
        return bool(tensor_file.stated_kind(path) == self.kind)

    def faults(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> Iterator[str]:
        """What keeps these from being a data set; what comes later relies on what came before."""
        name = facts.get("name")
        if not isinstance(name, str) or not name.isprintable():
            yield f"the name {name!r} cannot be printed"
        yield from self.whole.faults("", tensors, ChainMap(), facts)


# From contents to tensors and back


def flattened(contents: Contents, name: str = "") -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for own, content in contents.items():
        full = _joined(name, own)
        if isinstance(content, Mapping):
            tensors |= flattened(content, full)
        elif isinstance(content, Ragged):
            tensors |= {full: content.flat, f"{full}.offsets": content.offsets}
        else:
            tensors[full] = content if isinstance(content, Tensor) else as_bytes(content)
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
