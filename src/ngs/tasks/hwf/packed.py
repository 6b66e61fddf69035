"""A data set in one file: tensors mapped into memory, with a checksum over all that it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ngs.errors import DataError
from ngs.grammar.padding import PAD
from ngs.learning import packed_file
from ngs.learning.packed_file import Column, as_bytes, as_texts, texts
from ngs.tasks.hwf.dataset import GRAMMAR, SIDE, Formulas, HandwrittenFormulas

LIMIT = 1 << 63
"""Numbers of 64 bits, with their sign, lie below."""


def _formulas(part: str) -> packed_file.Layout:
    return {
        f"{part}.where": Column(torch.int32, (f"{part} formulas", None), PAD, "images"),
        f"{part}.numerators": Column(torch.int64, (f"{part} formulas",)),
        f"{part}.denominators": Column(torch.int64, (f"{part} formulas",), 1),
        f"{part}.names": texts(f"{part} formulas"),
    }


def _gaps(tensors: Mapping[str, Tensor], _: Any) -> Iterator[str]:
    for part in ("train", "test"):
        filled = tensors[f"{part}.where"] != PAD
        if not filled.any(1).all() or (filled[:, 1:] & ~filled[:, :-1]).any():
            yield f"one of the {part} formulas is empty, or has a gap"


FORMAT = packed_file.Format(
    "a packed data set of handwritten formulas",
    "pack an archive with `ngs data import ARCHIVE`",
    {
        "images": Column(torch.uint8, ("images", SIDE, SIDE)),
        "columns": Column(torch.uint8, ("images",), 0, len(GRAMMAR.symbols)),
        "sources": texts("images"),
        **_formulas("train"),
        **_formulas("test"),
    },
    _gaps,
)


def write(path: Path, data: HandwrittenFormulas) -> None:
    """Put `data` into the file `path`, all of it or nothing: what was there stays until all is written."""
    FORMAT.save(path, _tensors(path, data), {"name": data.name})


def read(path: Path) -> HandwrittenFormulas:
    """The data set in the file `path`, checked; its images stay in the file until they are used."""
    tensors, facts = FORMAT.load(path)
    parts = (_as_formulas(packed_file.under(tensors, part)) for part in ("train", "test"))
    sources = as_texts(tensors["sources"])
    return HandwrittenFormulas(facts["name"], tensors["images"], tensors["columns"], sources, *parts)


def _tensors(path: Path, data: HandwrittenFormulas) -> dict[str, Tensor]:
    tensors = {"images": data.images, "columns": data.columns, "sources": as_bytes(data.sources)}
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
            f"{part}.names": as_bytes(formulas.names),
        }
    # Not `contiguous`, which leaves a single element the stride it has.
    return {name: each.cpu().clone(memory_format=torch.contiguous_format) for name, each in tensors.items()}


def _as_formulas(own: Mapping[str, Tensor]) -> Formulas:
    answers = map(Fraction, own["numerators"].tolist(), own["denominators"].tolist())
    return Formulas(own["where"].long(), tuple(answers), as_texts(own["names"]))
