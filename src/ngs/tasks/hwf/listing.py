"""A published list of formulas: JSON read entry by entry, so that each fault is found at its line."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

from ngs.errors import DataError, NGSError
from ngs.reasoning.operation import UNDEFINED
from ngs.tasks.faults import shown
from ngs.tasks.hwf.dataset import value_of

CLASSES: Mapping[str, str] = {
    **{"+": "+", "-": "-", "times": "*", "div": "/"},
    **{str(digit): str(digit) for digit in range(10)},
}
"""The folder that holds the images of a symbol, and the symbol."""

TOLERANCE = Fraction(1, 10**5)
"""How far a stated result may be off: lists round to five decimals. The 8,332 values that formulas of seven
symbols can have lie nearly twice as far apart, so that a result still names one of them."""

LONGEST = 99  # in symbols; parsing takes cubic time


@dataclass(frozen=True)
class Entry:
    """One formula as a list has it."""

    place: str  # file, line and number: the published lists are a single line
    name: str
    sentence: str
    images: tuple[str, ...]  # '<class>/<file>' for each symbol
    result: int | float


@dataclass(frozen=True)
class Problem:
    place: str
    what: str
    name: str | None = None  # the entry's own, where it can be read

    def __str__(self) -> str:
        return f"{self.place}{f' ({self.name})' if self.name else ''}: {self.what}"


def objects(text: str, file: str) -> Iterator[tuple[str, Any]]:
    """The elements of a JSON array with their places; objects are pairs, so that repeated keys are seen."""
    decoder, begins = json.JSONDecoder(object_pairs_hook=tuple), re.compile(r"[^\s,]")
    entries = _decoded(decoder, text, file)
    line, counted, end = 1, 0, text.index("[") + 1
    for number in range(1, len(entries) + 1):
        found = begins.search(text, end)
        assert found is not None  # as many are there as were decoded
        line += text.count("\n", counted, found.start())
        counted = found.start()
        value, end = decoder.raw_decode(text, counted)
        yield f"{file}, line {line}, entry {number}", value


def _decoded(decoder: json.JSONDecoder, text: str, file: str) -> list[Any]:
    try:
        entries = decoder.decode(text)
    except json.JSONDecodeError as error:
        place = f"{file}, line {error.lineno}, column {error.colno}"
        raise DataError(f"{place}: no proper JSON, {error.msg}") from None
    except (ValueError, RecursionError) as error:  # a number too long, brackets too deep
        raise DataError(f"{file}: no proper JSON, {error}") from None
    if not isinstance(entries, list):
        raise DataError(f"{file}: a list in brackets is needed")
    return entries


def as_entry(place: str, value: Any) -> Entry:
    """The entry that an element of the list stands for; a DataError says what it lacks."""
    if not isinstance(value, tuple):
        raise DataError("an object with id, img_paths, expr and res is needed")
    fields = dict(value)
    if len(fields) != len(value):
        raise DataError("a key is written twice")
    missing = [key for key in ("id", "img_paths", "expr", "res") if key not in fields]
    if missing:
        raise DataError(f"{' and '.join(missing)} missing")
    for key in ("id", "expr"):
        if not isinstance(fields[key], str) or not fields[key] or not fields[key].isprintable():
            raise DataError(f"{key} is {shown(fields[key])}, and printable text is needed")
    images, result = fields["img_paths"], fields["res"]
    if not isinstance(images, list) or not all(isinstance(image, str) for image in images):
        raise DataError("img_paths is no list of texts")
    is_number = isinstance(result, int | float) and not isinstance(result, bool)
    if not is_number or (isinstance(result, float) and not isfinite(result)):
        raise DataError(f"res is {shown(result)}, and a number is needed")
    return Entry(place, fields["id"], fields["expr"], tuple(images), result)


def faults(entry: Entry) -> Iterator[str]:
    """What is wrong with an entry, leaving aside what its images hold."""
    yield from _faults_of_sentence(entry)
    if len(entry.images) != len(entry.sentence):
        yield f"{len(entry.images)} images for the {len(entry.sentence)} symbols of {shown(entry.sentence)}"
        return
    for symbol, image in zip(entry.sentence, entry.images, strict=True):
        seen = label(image)
        if seen is None:
            yield f"the image {shown(image)} is not '<class>/<file>' with a class of {' '.join(CLASSES)}"
        elif seen != symbol:
            yield f"the image {shown(image)} shows {seen}, but expr has {symbol} there"


def label(image: str) -> str | None:
    """The symbol that an image shows according to its folder; None where the name is not '<class>/<file>'."""
    folder, _, file = image.partition("/")
    is_file = file not in ("", ".", "..") and "/" not in file and "\\" not in file and file.isprintable()
    return CLASSES.get(folder) if is_file else None


def _faults_of_sentence(entry: Entry) -> Iterator[str]:
    sentence = entry.sentence
    if len(sentence) > LONGEST:
        yield f"expr has {len(sentence)} symbols, and at most {LONGEST} are read"
        return
    try:
        value = value_of(sentence)
    except NGSError as error:
        reason = str(error).partition(";")[0]  # the advice behind it is for callers of the parser
        yield f"expr is {sentence!r}: {reason}"
        return
    if value is UNDEFINED:
        yield f"expr is {sentence!r}, which divides by zero and has no result"
    elif abs(value - Fraction(entry.result)) > TOLERANCE:
        yield f"res is {shown(entry.result)}, but {sentence} is {value}"
