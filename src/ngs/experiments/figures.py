"""The pictures of a report, as markup to put into a page: curves, confusions, and formulas with their fate.

Curves are drawn in stand-in colours that become variables of the page's style sheet, so that one drawing
serves light and dark. Nothing depends on the date or on chance: the same numbers give the same bytes.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from io import BytesIO, StringIO
from itertools import cycle, pairwise
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from PIL import Image
from torch import Tensor

from ngs.experiments.gallery import Corrected, Misreading
from ngs.grammar.tree import Sentence
from ngs.reasoning.operation import UNDEFINED, Value

Row = Mapping[str, Any]

SIGNS = {"*": "×", "/": "÷", "-": "−"}
"""How symbols are printed that are not themselves."""


class Html(str):
    """Markup. Any other text is escaped when it is put into an element."""


def element(tag: str, *content: str, **attributes: object) -> Html:
    """An HTML element; `class_` stands for `class`, and an attribute of None is left out.

    >>> element("p", "1 < 2 ", element("b", "so"), class_="note")
    '<p class="note">1 &lt; 2 <b>so</b></p>'
    """
    given = {name.rstrip("_"): value for name, value in attributes.items() if value is not None}
    names = "".join(f' {name}="{escape(str(value))}"' for name, value in given.items())
    return Html(f"<{tag}{names}>{joined(*content)}</{tag}>")


def joined(*content: str) -> Html:
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in content))


# Curves

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
GRAYS = 16
"""Shades of handwriting: half a byte each, and no eye sees the difference."""

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


@dataclass(frozen=True)
class Chart:
    """Curves over the same axis, drawn."""

    title: str
    time: str
    key: Html
    """which colour is which curve"""
    svg: Html


@dataclass(frozen=True)
class Moment:
    """A time worth a line across a chart."""

    name: str
    x: float


TIMES = {"step": "training step", "seconds": "training seconds"}
"""What curves run over, and how the axis is called."""
SHARES = {"calculation": "answers", "formula": "formulas", "symbol": "symbols"}
"""The shares of a score, and what is right in each."""


def charts(rows: Sequence[Row], chosen_step: int | None) -> Iterator[Chart]:
    """The record of a run as charts; those without any numbers are left out."""
    training = [row for row in rows if "loss" in row]
    validations = [row for row in rows if "validation" in row]
    for time, called in TIMES.items():
        chosen = [Moment("chosen", row[time]) for row in validations if row["step"] == chosen_step]
        for part in ("validation", "test"):
            shares = [curve(right, validations, time, part, name) for name, right in SHARES.items()]
            yield from chart(f"{part.capitalize()} accuracy", called, shares, chosen[:1], share=True)
        losses, changes = [curve("loss", training, time, "loss")], lesson_changes(training, time)
        yield from chart("Training loss, nats per formula", called, losses, changes)
    changes = lesson_changes(training, "step")
    told = [curve(name.replace("_", " "), training, "step", name) for name in measures(training)]
    yield from chart("Measures of the objective", TIMES["step"], told, changes, share=True)
    rate = [curve("learning rate", training, "step", "learning_rate")]
    yield from chart("Learning rate", TIMES["step"], rate, changes)


def measures(training: Sequence[Row]) -> list[str]:
    """What the objective tells about its steps beside the loss: shares such as `found` or `reward`."""
    usual = {"step", "lesson", "learning_rate", "loss", "seconds"}
    return list(dict.fromkeys(name for row in training for name in row if name not in usual))


def lesson_changes(training: Sequence[Row], time: str) -> list[Moment]:
    """Where one lesson follows another, named after the later."""
    pairs = pairwise(training)
    return [Moment(later["lesson"], later[time]) for row, later in pairs if row["lesson"] != later["lesson"]]


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
) -> list[Chart]:
    """One chart, or none where there is nothing to draw; `share` for numbers from 0 to 1."""
    drawn = [curve for curve in curves if curve.x]
    if not drawn:
        return []
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(5.0, 2.9), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        for colour, each in reversed(list(zip(cycle(SERIES), drawn, strict=False))):  # the first on top
            axes.plot(each.x, each.y, color=colour, marker="o" if len(each.x) <= MARKED else "")
        _label(axes, time, share)
        for moment in moments:
            _mark(axes, moment)
        return [Chart(title, time, _key(drawn), _as_markup(figure, f"{title}, by {time}"))]


def _key(curves: Sequence[Curve]) -> Html:
    named = zip(cycle(SERIES), curves, strict=False)
    spans = [element("span", each.name, style=f"--colour:{VARIABLES[colour]}") for colour, each in named]
    return element("p", *spans, class_="key")


def _label(axes: Axes, time: str, share: bool) -> None:
    axes.set_xlabel(time)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.tick_params(length=0)
    if share:
        axes.set_ylim(-0.03, 1.03)
        axes.yaxis.set_major_formatter(PercentFormatter(1))


def _mark(axes: Axes, moment: Moment) -> None:
    axes.axvline(moment.x, color=MUTED, linewidth=1, linestyle=(0, (3, 3)))
    axes.annotate(
        moment.name,
        (moment.x, 1),
        (0, 3),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="right",
        color=MUTED,
        fontsize=10,
    )


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


# Confusions


def confusion_table(counts: Tensor, symbols: Sequence[str]) -> Html:
    """How often each symbol (row) was read as which (column): mistakes are shaded, what is right is muted."""
    signs = [sign(symbol) for symbol in symbols]
    most = max(int((counts - counts.diag().diag()).max()), 1)

    def cell(true: str, read: str, n: int) -> Html:
        if true == read:
            return element("td", f"{n:,}", class_="same")
        if not n:
            return element("td")
        title = f"{true} read as {read}: {n:,}"
        return element("td", f"{n:,}", class_="other", style=f"--share:{n / most:.3f}", title=title)

    def line(k: int, row: Sequence[int]) -> Html:
        cells = [cell(signs[k], read, n) for read, n in zip(signs, row, strict=True)]
        total = sum(row)
        sums = [f"{total:,}", percent(row[k] / total) if total else "–"]
        return element(
            "tr",
            element("th", signs[k], scope="row"),
            *cells,
            *(element("td", n, class_="side") for n in sums),
        )

    heads = [element("th", name, scope="col") for name in signs]
    sides = [element("th", name, class_="side", scope="col") for name in ("of", "right")]
    head = element("tr", element("td", class_="side"), *heads, *sides)
    body = [line(k, row) for k, row in enumerate(counts.tolist())]
    return element("table", element("thead", head), element("tbody", *body), class_="confusion")


# Formulas


def misread_formula(misreading: Misreading, images: Tensor) -> Html:
    """The handwriting, what it says, what was read, and how sure the network was where it erred."""
    written, read = misreading.written, misreading.read

    def chances(name: str, of: Sequence[float]) -> Html:
        shown = (chance(p) if t in misreading.wrong else "" for t, p in enumerate(of))
        return _line(name, [element("td", text, class_="p") for text in shown])

    return _formula(
        images,
        _line("written", _signs(written), equals(misreading.answer)),
        _line("read", _signs(read, written), equals(misreading.value)),
        chances("p(read)", misreading.p_read),
        chances("p(written)", misreading.p_written),
    )


def corrected_formula(corrected: Corrected, images: Tensor) -> Html:
    """The handwriting, what was read, how 1-BS and the posterior would have it, and what it says."""
    misreading, length = corrected.misreading, len(corrected.misreading.written)
    written, read, fix = misreading.written, misreading.read, corrected.correction
    if fix is None:
        text = f"no single change gives {number(misreading.answer)}"
        fixed = _line("1-BS", [element("td", text, class_="none", colspan=length + 1)])
    else:
        fixed = _line("1-BS", _signs(fix, written, read), equals(misreading.answer))
    alternatives = [
        _line("" if rank else "posterior", _signs(other, written), _share(p, right=other == written))
        for rank, (other, p) in enumerate(corrected.alternatives)
    ]
    return _formula(
        images,
        _line("read", _signs(read, written), equals(misreading.value)),
        fixed,
        *alternatives,
        _line("written", _signs(written), _share(corrected.p_written), class_="told"),
    )


def _formula(images: Tensor, *lines: Html) -> Html:
    picture = Html(f'<img class="handwriting" alt="" src="{handwriting(images)}">')
    top = element("tr", element("td"), element("td", picture, colspan=len(images)))
    return element("table", top, *lines, class_="formula")


def _line(name: str, cells: Sequence[Html], end: str = "", class_: str | None = None) -> Html:
    last = [element("td", end, class_="end")] if end else []
    return element("tr", element("th", name, scope="row"), *cells, *last, class_=class_)


def _signs(sentence: Sentence, written: Sentence | None = None, before: Sentence | None = None) -> list[Html]:
    """A cell for each symbol: marked where it is not what is written, and where it is not what was before."""

    def marks(t: int) -> Iterator[str]:
        yield "sign"
        wrong = written is not None and sentence[t] != written[t]
        if wrong:
            yield "wrong"
        if before is not None and sentence[t] != before[t]:
            yield "changed" if wrong else "right"

    return [element("td", sign(symbol), class_=" ".join(marks(t))) for t, symbol in enumerate(sentence)]


def _share(p: float, *, right: bool = False) -> Html:
    bar = element("span", element("i", style=f"--share:{100 * p:.1f}%"), class_="bar")
    return joined(
        bar, chance(p, digits=3), *([element("span", " ✓", class_="tick", title="what is written")] * right)
    )


def handwriting(images: Tensor) -> str:
    """The address of a picture that is its own content: images [symbol, height, width] side by side."""
    strip = Image.fromarray(np.hstack(list(images.numpy())))
    file = BytesIO()
    strip.quantize(GRAYS).save(file, "PNG", optimize=True, bits=4)
    return "data:image/png;base64," + b64encode(file.getvalue()).decode()


# Numbers


def sign(symbol: str) -> str:
    return SIGNS.get(symbol, symbol)


def chance(p: float, digits: int = 2) -> str:
    """A probability in few digits; 0 and 1 only where it is exactly that.

    >>> chance(0.25), chance(0.001), chance(0.001, digits=3), chance(1.0)
    ('.25', '<.01', '.001', '1')
    """
    if p in (0, 1):
        return f"{p:.0f}"
    smallest = 10**-digits
    if round(p, digits) == 0:
        return f"<{smallest:.{digits}f}".replace("0.", ".")
    if round(p, digits) == 1:
        return f">{1 - smallest:.{digits}f}".replace("0.", ".")
    return f"{p:.{digits}f}".removeprefix("0")


def percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.2%}"


def number(value: Value) -> str:
    """An answer: as a decimal where it is one of few digits, else as a fraction.

    >>> number(Fraction(21, 2)), number(Fraction(-1, 3)), number(UNDEFINED)
    ('10.5', '−1/3', 'undefined')
    """
    if not isinstance(value, Fraction):
        return "undefined" if value is UNDEFINED else str(value)
    short = f"{float(value):.6g}"
    return (short if Fraction(short) == value else str(value)).replace("-", "−")


def equals(value: Value) -> str:
    return f"= {number(value)}"
