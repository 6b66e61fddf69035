"""Files that a command writes where its user said: never over what it reads."""

import os
from collections.abc import Iterable
from itertools import product
from pathlib import Path

from ngs.errors import NGSError


def check_apart(written: Iterable[Path | None], given: Iterable[Path | None]) -> None:
    """Refuse to write over what is read, whatever links and other spellings of paths lead there."""
    for path, other in product(filter(None, written), filter(None, given)):
        if os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other):
            raise NGSError(f"{path} would be written over {other}, which is read; write elsewhere")


def check_free(path: Path, overwrite: bool) -> None:
    """Refuse to write over what is there, unless that was asked for."""
    if path.is_dir():
        raise NGSError(f"{path} is a folder; give --out a file name")
    if path.exists() and not overwrite:
        raise NGSError(f"{path} exists; give another --out, or replace it with --overwrite")


def write_drawing(path: Path, text: str) -> None:
    """An SVG drawing, into the file that --svg names."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise NGSError(
            f"{path} cannot be written: {error.strerror or error}; give --svg another file"
        ) from None
