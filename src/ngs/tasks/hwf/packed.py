"""A data set in one file: tensors mapped into memory, with a checksum over all that it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ngs.errors import DataError
from ngs.grammar.padding import PAD
from ngs.learning import packed_file
from ngs.learning.packed_file import Column, Content, texts, under, within
from ngs.tasks.hwf.archive import is_archive
from ngs.tasks.hwf.dataset import GRAMMAR, SIDE, Formulas, HandwrittenFormulas
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.source import EMBEDDED, packed_at


def _formulas(part: str) -> packed_file.Layout:
    formulas = f"{part} formulas"
    return within(
        part,
        {
            "where": Column(torch.int32, (formulas, None), PAD, "images"),
            "numerators": Column(torch.int64, (formulas,)),
            "denominators": Column(torch.int64, (formulas,), 1),
            "names": texts(formulas),
        },
    )


def _gaps(contents: Mapping[str, Any], _: Any) -> Iterator[str]:
    for part in ("train", "test"):
        filled = contents[f"{part}.where"] != PAD
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
    contents: dict[str, Content] = {"images": data.images, "columns": data.columns, "sources": data.sources}
    for part, formulas in (("train", data.train), ("test", data.test)):
        try:
            contents |= within(part, _contents(formulas))
        except OverflowError:
            raise DataError(
                f"{path} cannot be written: an answer of the {part} formulas needs more than 64 bits; "
                f"leave that formula out"
            ) from None
    FORMAT.save(path, contents, {"name": data.name})


def load(source: str) -> HandwrittenFormulas:
    """The data set of a packed file, or the embedded one."""
    return embedded() if source == EMBEDDED else read(packed_at(source, EMBEDDED, "ARCHIVE", raw=is_archive))


def read(path: Path) -> HandwrittenFormulas:
    """The data set in the file `path`, checked; its images stay in the file until they are used."""
    contents, facts = FORMAT.load(path)
    parts = (_as_formulas(under(contents, part)) for part in ("train", "test"))
    own = (contents[name] for name in ("images", "columns", "sources"))
    return HandwrittenFormulas(facts["name"], *own, *parts)


def _contents(formulas: Formulas) -> dict[str, Content]:
    numerators = np.array([answer.numerator for answer in formulas.answers], np.int64)
    denominators = np.array([answer.denominator for answer in formulas.answers], np.int64)
    return {
        "where": formulas.where.to(torch.int32),
        "numerators": torch.from_numpy(numerators),
        "denominators": torch.from_numpy(denominators),
        "names": formulas.names,
    }


def _as_formulas(own: Mapping[str, Any]) -> Formulas:
    answers = map(Fraction, own["numerators"].tolist(), own["denominators"].tolist())
    return Formulas(own["where"].long(), tuple(answers), own["names"])
