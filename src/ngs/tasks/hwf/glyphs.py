"""How people write 0-9 + - × ÷: for each symbol several shapes, as strokes of a pen."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import NamedTuple


class Point(NamedTuple):
    """Where the pen passes, in hundredths of the box, from its upper left corner."""

    x: float
    y: float
    corner: bool = False
    """whether the pen turns sharply here, rather than running through in a curve"""


Stroke = tuple[Point, ...]
"""What the pen writes between touching the paper and leaving it."""

Shape = tuple[Stroke, ...]
"""One way to write a symbol."""


def stroke(text: str) -> Stroke:
    """A stroke from its points; `!` marks a corner.

    >>> stroke("12,6 84,4! 42,98")[1]
    Point(x=84.0, y=4.0, corner=True)
    """
    points = []
    for word in text.split():
        x, y = word.removesuffix("!").split(",")
        points.append(Point(float(x), float(y), word.endswith("!")))
    return tuple(points)


def _shapes() -> Iterator[tuple[str, tuple[Shape, ...]]]:
    table = tomllib.loads((files(__package__) / "glyphs.toml").read_text(encoding="utf-8"))
    for symbol, shapes in table.items():
        yield symbol, tuple(tuple(map(stroke, shape.split(";"))) for shape in shapes)


SHAPES: Mapping[str, tuple[Shape, ...]] = dict(_shapes())
"""Symbol -> its shapes."""
