"""The record of a run as curves, drawn by a template: text and colours are those of the page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, floor, isfinite, log10
from typing import Any

import numpy as np

Row = Mapping[str, Any]
COLOURS = 4  # the number of series in the style sheet
POINTS = 300  # at most on a curve; with more records, each point is the mean of several
TIMES = {"step": "training step", "seconds": "training seconds"}
"""The times of curves, and the names of their axes."""
TICKS = 6  # roughly, on an axis


@dataclass(frozen=True)
class Curve:
    """Numbers over time."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


Moment = tuple[str, float]  # an event and its time, drawn as a line across a chart


@dataclass(frozen=True)
class Axis:
    """Numbers from low to high, drawn from pixel `first` over `pixels`, which is negative upwards."""

    low: float
    high: float
    first: float
    pixels: float
    share: bool = False  # written as percentages

    def __call__(self, value: float) -> str:
        """The pixel of a number."""
        return f"{self.first + self.pixels * (value - self.low) / (self.high - self.low):.1f}"

    @property
    def ticks(self) -> Iterator[tuple[str, str]]:
        """The pixels and labels of round numbers."""
        least = (self.high - self.low) / TICKS
        power: float = 10.0 ** floor(log10(least))
        step = next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= least * 0.999)
        for k in range(ceil(self.low / step), floor(self.high / step) + 1):
            yield self(k * step), f"{k * step:.0%}" if self.share else f"{k * step:,.10g}"


@dataclass(frozen=True)
class Chart:
    """Curves over time; `share`: their numbers lie between 0 and 1."""

    title: str
    time: str
    curves: Sequence[Curve]
    moments: Sequence[Moment] = ()
    share: bool = False

    @property
    def x(self) -> Axis:
        ends = [x for curve in self.curves for x in curve.x] + [x for _, x in self.moments]
        return Axis(0, 1.04 * max(ends) or 1, 48, 300)

    @property
    def y(self) -> Axis:
        ends = [y for curve in self.curves for y in curve.y]
        low, high = (0.0, 1.0) if self.share else (min(ends), max(ends))
        room = 0.04 * (high - low) or abs(high) / 2 or 1
        return Axis(low - room, high + room, 166, -148, self.share)

    @property
    def lines(self) -> Iterator[tuple[int, list[tuple[str, str]]]]:
        """Colour and pixels of each curve; the first is drawn last, on top."""
        x, y = self.x, self.y
        for k, each in reversed(list(enumerate(self.curves))):
            yield k % COLOURS + 1, [(x(a), y(b)) for a, b in zip(each.x, each.y, strict=True)]


def charts(rows: Sequence[Row], chosen_step: int | None, shares: Mapping[str, str]) -> Iterator[Chart]:
    """The charts of a run that have numbers; `shares` are drawn under their names."""
    for chart in _all_charts(rows, chosen_step, shares):
        if curves := [each for each in chart.curves if each.x]:
            yield replace(chart, curves=curves)


def _all_charts(rows: Sequence[Row], chosen_step: int | None, shares: Mapping[str, str]) -> Iterator[Chart]:
    training = [row for row in rows if "loss" in row]
    validations = [row for row in rows if "validation" in row]
    for time, called in TIMES.items():
        chosen = [("chosen", row[time]) for row in validations if row["step"] == chosen_step]
        for part in ("validation", "test"):
            drawn = [curve(right, validations, time, part, name) for name, right in shares.items()]
            yield Chart(f"{part.capitalize()} accuracy", called, drawn, chosen[:1], share=True)
        loss = [curve("loss", training, time, "loss")]
        yield Chart("Training loss", called, loss, lesson_changes(training, time))
    changes = lesson_changes(training, "step")
    named = (curve(name.replace("_", " "), training, "step", name) for name in measures(training))
    told = [each for each in named if each.x]
    for first in range(0, len(told), COLOURS):
        some = told[first : first + COLOURS]
        share = all(0 <= y <= 1 for each in some for y in each.y)
        name = "Measures of the objective" + (f", from {some[0].name} on" if first else "")
        yield Chart(name, TIMES["step"], some, changes, share)
    rate = [curve("learning rate", training, "step", "learning_rate")]
    yield Chart("Learning rate", TIMES["step"], rate, changes)


def measures(training: Sequence[Row]) -> list[str]:
    """Measures of the objective other than the loss."""
    usual = {"step", "lesson", "learning_rate", "loss", "seconds"}
    return list(dict.fromkeys(name for row in training for name in row if name not in usual))


def lesson_changes(training: Sequence[Row], time: str) -> list[Moment]:
    """The times of new lessons."""
    pairs = pairwise(training)
    return [(later["lesson"], later[time]) for row, later in pairs if row["lesson"] != later["lesson"]]


def curve(name: str, rows: Sequence[Row], time: str, *path: str) -> Curve:
    """The number under `path` of each row that has one, thinned to POINTS."""
    points = [(row[time], value) for row in rows if (value := _under(row, path)) is not None]
    parts = np.array_split(np.array(points, dtype=float).reshape(-1, 2), min(len(points), POINTS) or 1)
    means = [part.mean(0) for part in parts if len(part)]
    return Curve(name, [float(x) for x, _ in means], [float(y) for _, y in means])


def _under(row: Row, path: Sequence[str]) -> float | None:
    value: Any = row
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, int | float) and isfinite(value) else None
