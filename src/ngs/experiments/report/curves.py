"""The record of a run as curves, drawn to be put into a page.

Curves are drawn in stand-in colours that become variables of the page's style sheet, so that one drawing
serves light and dark. Nothing depends on the date or on chance: the same numbers give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import cycle, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ngs.experiments.report.markup import Html, element

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = Mapping[str, Any]

INK, MUTED, LINE = "#010101", "#010102", "#010103"
SERIES = ("#010111", "#010112", "#010113", "#010114")
VARIABLES = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    LINE: "var(--line)",
    **{colour: f"var(--series-{k})" for k, colour in enumerate(SERIES, 1)},
}
"""What each stand-in colour becomes."""

POINTS = 300
"""Points of a curve; where there are more records, each point is the mean of several."""
MARKED = 30
"""Curves of at most this many points have their points marked."""

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small, and in the page's font
    "svg.hashsalt": "ngs",
    "text.parse_math": False,
    "font.size": 11,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "lines.linewidth": 1.8,
    "lines.markersize": 3.5,
}


@dataclass(frozen=True)
class Curve:
    """Numbers over time."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


Moment = tuple[str, float]
"""What happened, and when: a time worth a line across a chart."""
TIMES = {"step": "training step", "seconds": "training seconds"}
"""What curves run over, and how the axis is called."""
SHARES = {
    **{"calculation": "answers", "formula": "formulas", "symbol": "symbols"},
    **{"answers": "answers", "programs": "programs identical", "equivalent": "programs equivalent"},
    **{"objects_right": "objects", "found": "objects found", "relations": "relations"},
    **{"pictures_right": "pictures"},
}
"""The shares of the scores of all tasks, and what is right in each."""


def charts(rows: Sequence[Row], chosen_step: int | None) -> Iterator[Html]:
    """The record of a run as figures; those without any numbers are left out."""
    training = [row for row in rows if "loss" in row]
    validations = [row for row in rows if "validation" in row]
    for time, called in TIMES.items():
        chosen = [("chosen", row[time]) for row in validations if row["step"] == chosen_step]
        for part in ("validation", "test"):
            shares = [curve(right, validations, time, part, name) for name, right in SHARES.items()]
            yield from chart(f"{part.capitalize()} accuracy", called, shares, chosen[:1], share=True)
        losses, changes = [curve("loss", training, time, "loss")], lesson_changes(training, time)
        yield from chart("Training loss", called, losses, changes)
    changes = lesson_changes(training, "step")
    told = [curve(name.replace("_", " "), training, "step", name) for name in measures(training)]
    for first in range(0, len(told), len(SERIES)):  # as many in a chart as there are colours
        some = told[first : first + len(SERIES)]
        share = all(0 <= y <= 1 for each in some for y in each.y)
        name = "Measures of the objective" + (f", from {some[0].name} on" if first else "")
        yield from chart(name, TIMES["step"], some, changes, share=share)
    rate = [curve("learning rate", training, "step", "learning_rate")]
    yield from chart("Learning rate", TIMES["step"], rate, changes)


def measures(training: Sequence[Row]) -> list[str]:
    """What the objective tells about its steps beside the loss: shares such as `found`, parts of the loss."""
    usual = {"step", "lesson", "learning_rate", "loss", "seconds"}
    return list(dict.fromkeys(name for row in training for name in row if name not in usual))


def lesson_changes(training: Sequence[Row], time: str) -> list[Moment]:
    """Where one lesson follows another, named after the later."""
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
    return value if isinstance(value, int | float) else None


def chart(
    title: str, time: str, curves: Sequence[Curve], moments: Sequence[Moment], *, share: bool = False
) -> Iterator[Html]:
    """One chart, or none where there is nothing to draw; `share` for numbers from 0 to 1."""
    drawn = [curve for curve in curves if curve.x]
    if not drawn:
        return
    from matplotlib import rc_context  # here: it is slow to import, and most commands draw nothing
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(5.0, 2.9), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        for colour, each in reversed(list(zip(cycle(SERIES), drawn, strict=False))):  # the first on top
            axes.plot(each.x, each.y, color=colour, marker="o" if len(each.x) <= MARKED else "")
        _label(axes, time, share)
        for name, x in moments:
            axes.axvline(x, color=MUTED, linewidth=1, linestyle=(0, (3, 3)))
            axes.annotate(
                name,
                xy=(x, 1),
                xytext=(0, 3),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                ha="right",
                color=MUTED,
                fontsize=10,
            )
        svg = _as_markup(figure, f"{title}, by {time}")
    named = zip(cycle(SERIES), drawn, strict=False)
    key = [element("span", each.name, style=f"--colour:{VARIABLES[colour]}") for colour, each in named]
    caption = element("figcaption", title, element("small", f", by {time}"))
    yield element("figure", caption, element("p", *key, class_="key"), svg, class_="card")


def _label(axes: Axes, time: str, share: bool) -> None:
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    axes.set_xlabel(time)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.tick_params(length=0)
    if share:
        axes.set_ylim(-0.03, 1.03)
        axes.yaxis.set_major_formatter(PercentFormatter(1))


def _as_markup(figure: Figure, title: str) -> Html:
    """The figure as an <svg> element that takes its font and its width from the page."""
    file = StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(file, format="svg", transparent=True, metadata=nothing)
    text = file.getvalue()
    text = text[text.index("<svg") :].strip()
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, variable)
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, flags=re.DOTALL)  # it means every page
    text = re.sub(r' font-family: [^;"]*;', "", text)
    text = re.sub(r'<svg ([^>]*?)width="[^"]*" height="[^"]*"', r"<svg \1", text, count=1)
    # Names of groups are not needed; those of marks and clips must not clash with another chart's.
    own = re.sub(r"\W+", "-", title.lower())
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r'\bid="', f'id="{own}-', text)
    text = re.sub(r'(url\(|href=")#', rf"\1#{own}-", text)
    return Html(text.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1))
