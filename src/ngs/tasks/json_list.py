"""A long list in a JSON file, plain or gzip, read element by element: memory holds a few at a time."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, TextIO

from ngs.errors import DataError
from ngs.tasks.faults import naming

CHUNK = 1 << 20
"""Characters read at once."""

LARGEST = 1 << 26
"""Characters of one element: what is no JSON within them will not become any."""

_SPACE = re.compile(r"[ \t\r\n]*")
_ENDS = frozenset(" \t\r\n,:]}")


def elements(path: Path, key: str) -> Iterator[tuple[int, Any]]:
    """The elements of the list under `key` of the object in the file `path`, counted from 0.

    A DataError names the file and the element where it is no JSON, has no such list or is cut short.
    """
    with naming(path), _opened(path) as file:
        for index, (_, value) in enumerate(Reader(file).elements(key)):
            yield index, value


def whole(path: Path) -> Any:
    """The one value that the file `path` holds."""
    with naming(path), _opened(path) as file:
        reader = Reader(file)
        value = reader.value()
        reader.end()
        return value


def _opened(path: Path) -> TextIO:
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    if compressed:
        return gzip.open(path, "rt", encoding="utf-8-sig")
    if path.suffix == ".gz":
        raise DataError("it is called .gz, but is not compressed by gzip; rename it, or fetch it again")
    return path.open(encoding="utf-8-sig")


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


_DECODER = json.JSONDecoder(parse_constant=_constant)


class Reader:
    """Text that is read as far as it is needed, and forgotten when it is behind.

    A DataError says what is wrong with which element; `line` then tells where.
    """

    def __init__(self, file: TextIO, decoder: json.JSONDecoder = _DECODER) -> None:
        self.file, self.decoder = file, decoder
        self.text, self.at, self.ended = "", 0, False
        self.lines, self.counted = 0, 0
        """before the place `counted` in the text"""
        self.place = ""
        """the element that is read"""

    def line(self) -> int:
        self.lines += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return 1 + self.lines

    def elements(self, key: str) -> Iterator[tuple[int, Any]]:
        """Those of the list under `key`; all other entries of the object are read over."""
        self.expect("{", f"an object with the list {key!r}")
        found: list[str] = []
        more = not self.take("}")
        while more:
            found.append(self.value())
            if not isinstance(found[-1], str):
                self.refuse(f"a key in quotes is needed, got {found[-1]!r:.40}")
            self.expect(":", f"a colon behind {found[-1]!r}")
            if found[-1] == key:
                yield from self.items(key.removesuffix("s"))
            else:
                self.place = f"{found[-1]}: "
                self.value()
            self.place = ""
            more = self.take(",")
            if not more:
                self.expect("}", f"a comma or }} behind {found[-1]!r}")
        self.end()
        if found.count(key) != 1:
            has = ", ".join(map(repr, found[:10])) or "nothing"
            self.refuse(f"one list {key!r} is needed, and the object holds {has}")

    def items(self, noun: str, first: int = 0) -> Iterator[tuple[int, Any]]:
        """The elements of a list, each with the line where it begins; `place` counts them from `first` on."""
        self.expect("[", "a list in brackets")
        more = not self.take("]")
        while more:
            self.place, first = f"{noun} {first}: ", first + 1
            self.skip_space()
            yield self.line(), self.value()
            more = self.take(",")
            if not more:
                self.expect("]", "a comma or ] behind it")

    def value(self) -> Any:
        """The value that begins here; where the text at hand does not suffice, with more of it."""
        self.skip_space()
        while True:
            try:
                value, end = self.decoder.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                if self.read_more():
                    continue
                self.refuse_value(error)
            except (ValueError, RecursionError) as error:  # a number too long, brackets too deep
                self.refuse(f"no proper JSON, {error}")
            # A number may go on in what was not read yet: 1 | 2, 1. | 5
            if self.text[end : end + 1] in _ENDS or not self.read_more():
                self.at = end
                return value

    def refuse_value(self, error: json.JSONDecodeError) -> NoReturn:
        # The end of a whole file is a bracket, that of a cut one may also be part of a number or of `false`.
        self.at = error.pos
        rest = self.text[error.pos :].rstrip()
        cut = error.msg.startswith("Unterminated") or (len(rest) < len("false") and not {*rest} & {*"]}"})
        if self.ended and cut:
            self.refuse("the file is cut short here; fetch it again")
        self.refuse(f"no proper JSON, {error.msg}, got {self.text[error.pos : error.pos + 20]!r}")

    def expect(self, mark: str, needed: str) -> None:
        if not self.take(mark):
            got = repr(self.text[self.at : self.at + 20])
            self.refuse(f"{needed} is needed, got {got if got != repr('') else 'the end: it is cut short'}")

    def take(self, mark: str) -> bool:
        """Whether `mark` comes next; then it is behind us."""
        self.skip_space()
        taken = self.text.startswith(mark, self.at)
        self.at += taken
        return taken

    def end(self) -> None:
        self.skip_space()
        if self.at < len(self.text):
            self.refuse(f"more text follows the end: {self.text[self.at : self.at + 20]!r}; remove it")

    def skip_space(self) -> None:
        while True:
            space = _SPACE.match(self.text, self.at)
            assert space is not None  # it matches nothing, too
            self.at = space.end()
            if self.at < len(self.text) or not self.read_more():
                return

    def read_more(self) -> bool:
        """Twice as much text as is at hand; False at the end of the file, or where that would be too much."""
        rest = self.text[self.at :]
        if self.ended or len(rest) > LARGEST:
            return False
        try:
            new = self.file.read(max(CHUNK, len(rest)))
        except UnicodeDecodeError as error:
            self.refuse(f"no UTF-8 text ({error.reason}); save it as UTF-8")
        except EOFError:
            self.refuse("the compressed file is cut short; fetch it again")
        except (OSError, zlib.error) as error:
            self.refuse(f"it cannot be read ({error}); fetch it again")
        self.ended = not new
        if new:
            self.line()
            self.text, self.at, self.counted = rest + new, 0, 0
        return bool(new)

    def refuse(self, what: str) -> NoReturn:
        raise DataError(f"{self.place}{what}") from None
