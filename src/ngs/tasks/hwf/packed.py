"""A data set in one file: tensors mapped into memory, with a checksum over all that it holds."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import torch

from ngs.errors import DataError
from ngs.grammar.padding import PAD
from ngs.learning.packed_file import Column, Contents, Format, Group, texts
from ngs.tasks.hwf.archive import is_archive
from ngs.tasks.hwf.dataset import GRAMMAR, SIDE, Formulas, HandwrittenFormulas
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.source import EMBEDDED, packed_at


def _gaps(contents: Contents, _: object) -> Iterator[str]:
    filled = contents["where"] != PAD
    if not filled.any(1).all() or (filled[:, 1:] & ~filled[:, :-1]).any():
        yield "a formula is empty, or has a gap"


FORMULAS = Group(
    {
        "where": Column(torch.int32, ("formulas", None), PAD, "images"),
        "numerators": Column(torch.int64, ("formulas",)),
        "denominators": Column(torch.int64, ("formulas",), 1),
        "names": texts("formulas"),
    },
    [_gaps],
)

FORMAT = Format(
    "a packed data set of handwritten formulas",
    "pack an archive with `ngs data import ARCHIVE`",
    Group(
        {
            "images": Column(torch.uint8, ("images", SIDE, SIDE)),
            "columns": Column(torch.uint8, ("images",), 0, len(GRAMMAR.symbols)),
            "sources": texts("images"),
            "train": FORMULAS,
            "test": FORMULAS,
        }
    ),
)


def write(path: Path, data: HandwrittenFormulas) -> None:
    """Put `data` into the file `path`, all of it or nothing: what was there stays until all is written."""
    try:
        parts = {"train": _contents(data.train), "test": _contents(data.test)}
    except OverflowError:
        raise DataError(
            f"{path} cannot be written: an answer needs more than 64 bits; leave its formula out"
        ) from None
    own = {"images": data.images, "columns": data.columns, "sources": data.sources}
    FORMAT.save(path, {**own, **parts}, {"name": data.name})


def load(source: str) -> HandwrittenFormulas:
    return embedded() if source == EMBEDDED else read(packed_at(source, EMBEDDED, "ARCHIVE", raw=is_archive))


def read(path: Path) -> HandwrittenFormulas:
    """The data set in the file `path`, checked; its images stay in the file until they are used."""
    contents, facts = FORMAT.load(path)
    parts = {part: _as_formulas(contents[part]) for part in ("train", "test")}
    return HandwrittenFormulas(facts["name"], **{**contents, **parts})


def _contents(formulas: Formulas) -> Contents:
    numerators = np.array([answer.numerator for answer in formulas.answers], np.int64)
    denominators = np.array([answer.denominator for answer in formulas.answers], np.int64)
    return {
        "where": formulas.where.to(torch.int32),
        "numerators": torch.from_numpy(numerators),
        "denominators": torch.from_numpy(denominators),
        "names": formulas.names,
    }


def _as_formulas(own: Contents) -> Formulas:
    answers = map(Fraction, own["numerators"].tolist(), own["denominators"].tolist())
    return Formulas(own["where"].long(), tuple(answers), own["names"])
