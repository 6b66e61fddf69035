"""Data sets in files: which tensors they have, declared once for each kind of data and checked in one way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ngs.errors import DataError
from ngs.learning import tensor_file

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
    further: Callable[[Mapping[str, Tensor], Any], Iterator[str]] = lambda tensors, facts: iter(())
    """faults of tensors that have the layout"""

    def save(self, path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """All of it or nothing: what was there stays until all is written."""
        fault = next(self.faults(tensors, facts), None)
        if fault is not None:
            raise DataError(f"{path} cannot be written: {fault}")
        tensor_file.save(path, self.kind, tensors, facts)

    def load(self, path: Path) -> tuple[dict[str, Tensor], Any]:
        """Tensors, which stay in the file until they are used, and facts; checked."""
        tensors, facts = tensor_file.load(path, self.kind, self.remedy)
        fault = next(self.faults(tensors, facts), None)
        if fault is not None:
            raise DataError(f"{path} is no proper data set: {fault}; {self.remedy}")
        return tensors, facts

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
        yield from self.further(tensors, facts)


def _faults_of_column(
    name: str, column: Column, tensors: Mapping[str, Tensor], counts: dict[str, int]
) -> Iterator[str]:
    yield from _faults_of_type(name, column.dtype, len(column.sizes), tensors)
    tensor = tensors[name]
    number = count(tensor) if column.texts else len(tensor)
    if number is None:
        yield f"{name} is no list of texts"
        return
    shape = [number, *tensor.shape[1:]]
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


# Texts in a tensor


def as_bytes(texts: Sequence[str]) -> Tensor:
    return torch.frombuffer(bytearray(json.dumps(texts), "utf-8"), dtype=torch.uint8)


def as_texts(tensor: Tensor) -> tuple[str, ...]:
    return tuple(json.loads(tensor.numpy().tobytes()))


def count(texts: Tensor) -> int | None:
    """How many texts there are; None where these bytes are no list of texts."""
    try:
        found = json.loads(texts.numpy().tobytes())
    except (ValueError, RecursionError):
        return None
    return len(found) if isinstance(found, list) and all(isinstance(text, str) for text in found) else None


def under(tensors: Mapping[str, Tensor], part: str) -> dict[str, Tensor]:
    """The tensors of a part of the data, by their names within it."""
    return {name.removeprefix(f"{part}."): t for name, t in tensors.items() if name.startswith(f"{part}.")}
