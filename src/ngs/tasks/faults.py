"""How messages show what is wrong with data from elsewhere: not all of it, if it is long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ngs.errors import DataError

SHOWN = 20
"""How many faults a message lists; the rest are counted."""


def listed(faults: Sequence[object]) -> str:
    """The first of them, one a line, and how many more there are."""
    more = [f"  ... and {len(faults) - SHOWN:,} more"] if len(faults) > SHOWN else []
    return "\n".join([*(f"  {fault}" for fault in faults[:SHOWN]), *more])


def shown(value: Any) -> str:
    """A value from a file."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def given(fields: Mapping[str, Any], name: str) -> str:
    """What a field holds, or that it is missing."""
    return shown(fields[name]) if name in fields else "missing"


@contextmanager
def naming(what: object) -> Iterator[None]:
    """Errors name the file or folder, or the place in it."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{what}: {error}") from None
    except OSError as error:
        raise DataError(f"{what} cannot be read: {error.strerror or error}") from None
