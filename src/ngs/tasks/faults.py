"""Messages about faulty data, shortened if they are long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ngs.errors import DataError

SHOWN = 20  # faults that a message lists; the rest are counted


def listed(faults: Sequence[object]) -> str:
    """The first faults, one a line, and the number of the others."""
    more = [f"  ... and {len(faults) - SHOWN:,} more"] if len(faults) > SHOWN else []
    return "\n".join([*(f"  {fault}" for fault in faults[:SHOWN]), *more])


def shown(value: Any) -> str:
    """A value from a file, shortened."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


MISSING = type("Missing", (), {"__repr__": lambda _: "missing"})()  # the value of a missing member


class Field(NamedTuple):
    """A value from a JSON file, with its place in the file for messages.

    >>> scene = Field({"objects": [{"color": "pink"}]})
    >>> scene.member("objects").entries()[0].member("color").need(False, "give one of red, blue")
    Traceback (most recent call last):
    ngs.errors.DataError: objects[0].color is 'pink'; give one of red, blue
    """

    value: Any
    place: str = ""

    def member(self, name: str, default: Any = MISSING) -> Field:
        """The member of an object."""
        return Field(self.value.get(name, default), f"{self.place}.{name}" if self.place else name)

    def entries(self) -> list[Field]:
        """The entries of a list."""
        return [Field(each, f"{self.place}[{k}]") for k, each in enumerate(self.value)]

    def need(self, sound: bool, needed: str) -> None:
        """Raise a DataError with the value and the need, unless the value is sound."""
        if not sound:
            raise DataError(f"{self.place or 'it'} is {shown(self.value)}; {needed}")

    def a(self, kind: type, needed: str) -> Field:
        """The field, which must be of this kind."""
        self.need(isinstance(self.value, kind), f"{needed} is needed")
        return self


@contextmanager
def naming(what: object) -> Iterator[None]:
    """Add the file, the folder or the place in it to errors."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{what}: {error}") from None
    except OSError as error:
        raise DataError(f"{what} cannot be read: {error.strerror or error}") from None
