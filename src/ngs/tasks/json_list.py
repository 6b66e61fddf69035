"""A long list in a JSON file, plain or gzip, read element by element: memory holds a few at a time."""

import codecs
import gzip
import zlib
from collections.abc import Iterator
from io import BufferedReader
from itertools import chain, count, takewhile
from pathlib import Path
from typing import Any

import ijson

from ngs.errors import DataError
from ngs.tasks.faults import naming

LARGEST = 1 << 26  # bytes of one element: a small file can unpack to more than the memory

DEEPEST = 50
"""Nested brackets; official files have 5. Only `basic_parse` of ijson is used: it keeps no paths to values,
which would fill the memory for 100,000 brackets."""

_DEEPER = {"start_map": 1, "start_array": 1, "end_map": -1, "end_array": -1}


def elements(path: Path, key: str) -> Iterator[tuple[int, Any]]:
    """The elements of the list under `key` of the object in the file `path`, counted from 0.

    A DataError names the file and the element where it is no JSON, has no such list or is cut short.
    """
    with naming(path), _opened(path) as file:
        source = _Source(file)
        if next(source.events)[0] != "start_map":
            raise DataError(f"an object with the list {key!r} is needed")
        found: list[str] = []
        for _, name in takewhile(lambda event: event[0] == "map_key", source.events):
            found.append(name)
            if name == key:
                yield from enumerate(source.items(key))
            else:
                source.value()
        source.finish()
        if found.count(key) != 1:
            has = ", ".join(map(repr, found[:10])) or "nothing"
            raise DataError(f"one list {key!r} is needed, and the object holds {has}")


def whole(path: Path) -> Any:
    """The value in the file `path`."""
    with naming(path), _opened(path) as file:
        source = _Source(file)
        value = source.value()
        source.finish()
        return value


def _opened(path: Path) -> gzip.GzipFile | BufferedReader:
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    if path.suffix == ".gz" and not compressed:
        raise DataError("it is called .gz, but is not compressed by gzip; rename it, or fetch it again")
    return gzip.open(path) if compressed else path.open("rb")


class _Source:
    """A file that is read lazily."""

    def __init__(self, file: gzip.GzipFile | BufferedReader) -> None:
        self.file, self.left, self.ended = file, LARGEST, False
        self.events = self._events()

    def read(self, size: int) -> bytes:
        begins = self.file.tell() == 0
        content = self.file.read(size)
        self.ended, self.left = size > 0 and not content, self.left - len(content)
        if self.left < 0:
            raise DataError(f"more than {LARGEST:,} bytes belong together; give another file")
        return content.removeprefix(codecs.BOM_UTF8) if begins else content

    def _events(self) -> Iterator[tuple[str, Any]]:
        """Events of ijson: ("start_map", None), ("map_key", "a"), ("number", 1)."""
        try:
            yield from ijson.basic_parse(self, use_float=True)
        except (ijson.JSONError, UnicodeDecodeError, EOFError, zlib.error) as error:
            if self.ended or isinstance(error, EOFError):
                raise DataError("the file is cut short here; fetch it again") from None
            raise DataError(f"no proper JSON, {str(error).splitlines()[0]:.80}") from None

    def value(self, *begun: tuple[str, Any]) -> Any:
        """The next value, given the events of it that were already read."""
        built, depth = ijson.ObjectBuilder(), 0
        for event, value in chain(begun, self.events):
            built.event(event, value)
            if event in _DEEPER:
                depth += _DEEPER[event]
                if depth > DEEPEST:
                    raise DataError(f"no proper JSON, more than {DEEPEST} brackets within brackets")
            if not depth:
                break
        return built.value

    def items(self, key: str) -> Iterator[Any]:
        """The elements of the next list."""
        if next(self.events)[0] != "start_array":
            raise DataError(f"{key} is no list in brackets")
        for index in count():
            with naming(f"{key.removesuffix('s')} {index}"):
                self.left = LARGEST
                begun = next(self.events)
                if begun[0] == "end_array":
                    return
                value = self.value(begun)
            yield value

    def finish(self) -> None:
        """Refuse anything after the value."""
        next(self.events, None)
