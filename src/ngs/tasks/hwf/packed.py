"""A data set in one file: tensors mapped into memory, with a checksum over all that it holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ngs.errors import DataError
from ngs.grammar.padding import PAD
from ngs.learning import tensor_file
from ngs.tasks.hwf.dataset import GRAMMAR, SIDE, Formulas, HandwrittenFormulas

KIND = "a packed data set of handwritten formulas"
REMEDY = "pack an archive with `ngs data import ARCHIVE`"

LIMIT = 1 << 63
"""Numbers of 64 bits, with their sign, lie below."""

LAYOUT: tensor_file.Layout = {
    "images": (torch.uint8, 3),
    "columns": (torch.uint8, 1),
    "sources": (torch.uint8, 1),
    "train.where": (torch.int32, 2),
    "train.numerators": (torch.int64, 1),
    "train.denominators": (torch.int64, 1),
    "train.names": (torch.uint8, 1),
    "test.where": (torch.int32, 2),
    "test.numerators": (torch.int64, 1),
    "test.denominators": (torch.int64, 1),
    "test.names": (torch.uint8, 1),
}
"""The tensors of a file, each with its type and number of dimensions; names and sources are JSON in UTF-8."""


def write(path: Path, data: HandwrittenFormulas) -> None:
    """Put `data` into the file `path`, all of it or nothing: what was there stays until all is written."""
    tensors = _tensors(path, data)
    if not data.name.isprintable():
        raise DataError(f"{path} cannot be written: the name {data.name!r} cannot be printed")
    tensor_file.save_sound(path, KIND, tensors, {"name": data.name}, _faults)


def read(path: Path) -> HandwrittenFormulas:
    """The data set in the file `path`, checked; its images stay in the file until they are used."""
    tensors, facts = tensor_file.load_sound(path, KIND, REMEDY, _faults)
    return HandwrittenFormulas(
        str(facts.get("name", path.stem)),
        tensors["images"],
        tensors["columns"],
        _as_texts(tensors["sources"]),
        _as_formulas(tensors, "train"),
        _as_formulas(tensors, "test"),
    )


def _tensors(path: Path, data: HandwrittenFormulas) -> dict[str, Tensor]:
    tensors = {"images": data.images, "columns": data.columns, "sources": _as_bytes(data.sources)}
    for part, formulas in (("train", data.train), ("test", data.test)):
        fractions = [(answer.numerator, answer.denominator) for answer in formulas.answers]
        if any(not -LIMIT <= number < LIMIT for fraction in fractions for number in fraction):
            raise DataError(
                f"{path} cannot be written: an answer of the {part} formulas needs more than 64 bits; "
                f"leave that formula out"
            )
        tensors |= {
            f"{part}.where": formulas.where.to(torch.int32),
            f"{part}.numerators": torch.tensor([above for above, _ in fractions], dtype=torch.int64),
            f"{part}.denominators": torch.tensor([below for _, below in fractions], dtype=torch.int64),
            f"{part}.names": _as_bytes(formulas.names),
        }
    # Not `contiguous`, which leaves a single element the stride it has.
    return {name: each.cpu().clone(memory_format=torch.contiguous_format) for name, each in tensors.items()}


def _as_formulas(tensors: Mapping[str, Tensor], part: str) -> Formulas:
    fractions = zip(
        tensors[f"{part}.numerators"].tolist(), tensors[f"{part}.denominators"].tolist(), strict=True
    )
    answers = tuple(Fraction(*fraction) for fraction in fractions)
    return Formulas(tensors[f"{part}.where"].long(), answers, _as_texts(tensors[f"{part}.names"]))


def _as_bytes(texts: Sequence[str]) -> Tensor:
    return torch.frombuffer(bytearray(json.dumps(texts), "utf-8"), dtype=torch.uint8)


def _as_texts(tensor: Tensor) -> tuple[str, ...]:
    return tuple(json.loads(tensor.numpy().tobytes()))


def _faults(tensors: Mapping[str, Tensor], _: Mapping[str, Any]) -> Iterator[str]:
    """What keeps the tensors from being a data set; what comes later relies on what came before."""
    yield from tensor_file.layout_faults(tensors, LAYOUT)
    images, columns = tensors["images"], tensors["columns"]
    if images.shape[1:] != (SIDE, SIDE):
        yield f"the images are {list(images.shape[1:])}, and {[SIDE, SIDE]} is needed"
    for name, count in (("columns", len(columns)), ("sources", _count(tensors["sources"]))):
        if count != len(images):
            yield f"there are {len(images)} images, but {count} {name}"
    if len(columns) and int(columns.max()) >= len(GRAMMAR.symbols):
        yield f"an image shows symbol {int(columns.max())} of a grammar of {len(GRAMMAR.symbols)}"
    for part in ("train", "test"):
        yield from _faults_of_formulas(tensors, part, len(images))


def _faults_of_formulas(tensors: Mapping[str, Tensor], part: str, images: int) -> Iterator[str]:
    where = tensors[f"{part}.where"]
    for name in ("numerators", "denominators", "names"):
        column = tensors[f"{part}.{name}"]
        count = _count(column) if name == "names" else len(column)
        if count != len(where):
            yield f"there are {len(where)} {part} formulas, but {count} {name}"
    if (tensors[f"{part}.denominators"] < 1).any():
        yield f"an answer of the {part} formulas has a denominator below 1"
    if where.numel() and not PAD <= int(where.min()) <= int(where.max()) < images:
        yield f"the {part} formulas name images {int(where.min())} to {int(where.max())} of {images}"
    filled = where != PAD
    if not filled.any(1).all() or (filled[:, 1:] & ~filled[:, :-1]).any():
        yield f"one of the {part} formulas is empty, or has a gap"


def _count(texts: Tensor) -> int | None:
    """How many texts there are; None where these bytes are no list of texts."""
    try:
        found = json.loads(texts.numpy().tobytes())
    except (ValueError, RecursionError):
        return None
    is_list = isinstance(found, list) and all(isinstance(text, str) for text in found)
    return len(found) if is_list else None
