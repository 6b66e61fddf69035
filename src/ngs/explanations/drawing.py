"""A correction as a picture: one SVG that needs nothing else, for a light or a dark page.

The leaves stand on one line in the order of the sentence, every node above the middle of its children,
at a height that only depends on what is below it. Edges run straight down from the node's height to the
child, inside the child's own strip of the page, so that nothing crosses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from string import Template
from xml.etree import ElementTree

from ngs.explanations.text import HEADER, Row, history, result, shown, shown_expected, shown_ratio, width
from ngs.grammar.tree import Leaf, Node, Tree, leaves
from ngs.reasoning.operation import Expected
from ngs.search.one_step import Action, Correction, Path, reasoning_parts

LETTER, SMALL = 7.8, 6.6
"""The width of a letter of 13 and of 11 pixels: fixed-width fonts are 0.6 as wide as high."""
MARGIN, GAP, LINE, STEP = 24.0, 14.0, 16.0, 36.0
"""Around everything, between neighbours, from one line of text to the next, from a box to the one above."""
CANDIDATES = 4
"""Replacements listed below a leaf."""
FIRST_ROWS, LAST_ROWS = 22, 8
"""Rows of the history where it does not fit: how it began, and how it ended."""


def as_svg(correction: Correction) -> str:
    """The reasoning tree, what was expected of each node, and the history of the queue as an SVG."""
    trials = trials_of(correction)
    layout = _layout(correction, trials)
    rows = _shortened([HEADER, *history(correction)]) if correction.trace else []
    title = result(correction, arrow="→")
    texts = SMALL * max(sum(_column_widths(rows)), *map(width, LEGEND)) if rows else 0.0
    across = max(layout.width, LETTER * width(title), texts)
    tree_top = MARGIN + 2 * LINE
    legend_top = tree_top + layout.height + 2 * LINE
    table_top = legend_top + (len(LEGEND) + 1) * LINE
    below = table_top + LINE * len(rows) if rows else legend_top - LINE
    root = page(across + 2 * MARGIN, below + MARGIN, title, _description(correction))
    add(root, "text", "result", title, x=MARGIN, y=MARGIN + 12)
    left = MARGIN + (across - layout.width) / 2
    tree = add(root, "g", transform=f"translate({left:.1f} {tree_top:.1f})")
    _draw_edges(tree, layout, correction)
    for place in layout.places:
        _draw_place(tree, place, correction, trials.get(place.path, ()))
    if rows:
        for k, line in enumerate(LEGEND):
            add(root, "text", "caption", line, x=MARGIN, y=legend_top + LINE * k)
        _draw_table(root, rows, table_top)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


LEGEND = (
    "circles: the order of visits; beside edges: (1 - p) / p of the node",
    "below leaves: what could stand there instead, with p(new) / p(old)",
)


@dataclass(frozen=True)
class Trial:
    """A node, or a replacement at a leaf, on its way through the queue."""

    replacement: str | None
    expected: Expected
    log_priority: float
    order: int | None = None
    """when it was popped, counted from 1"""
    last: Action = Action.PUSH
    """the last thing that happened to it"""


def trials_of(correction: Correction) -> dict[Path, list[Trial]]:
    """What was tried at each path: what was popped in its order, then what was left by priority."""
    found: dict[tuple[Path, str | None], Trial] = {}
    pops = 0
    for event in correction.trace:
        key = event.path, event.replacement
        trial = found.setdefault(key, Trial(event.replacement, event.expected, event.log_priority))
        if event.action is Action.POP:
            pops += 1
            trial = replace(trial, order=pops)
        found[key] = replace(trial, last=event.action)
    by_path: dict[Path, list[Trial]] = {}
    for (path, _), trial in found.items():
        by_path.setdefault(path, []).append(trial)
    for listed in by_path.values():
        listed.sort(key=lambda trial: (trial.order is None, trial.order or 0, -trial.log_priority))
    return by_path


# Layout


@dataclass(frozen=True)
class Place:
    """A box of the tree: its lines of text, its middle `x`, its `top`, and its size."""

    path: Path
    tree: Tree
    lines: tuple[tuple[str, str], ...]
    """(class, text), top to bottom"""
    level: int
    """leaves are at 0, a node one above its highest child"""
    children: tuple[Path, ...]
    width: float
    height: float
    x: float = 0.0
    top: float = 0.0

    @property
    def bottom(self) -> float:
        return self.top + self.height


@dataclass(frozen=True)
class Layout:
    places: tuple[Place, ...]
    width: float
    height: float


@dataclass(frozen=True)
class _Strip:
    """A subtree before it has a place: `x` counts from the middle of its root, the first of `places`."""

    places: tuple[Place, ...]
    left: float
    right: float
    """how far it reaches to either side"""


def _layout(correction: Correction, trials: Mapping[Path, Sequence[Trial]]) -> Layout:
    strip = _strip(correction, trials, correction.tree, ())
    heights: dict[int, float] = {}
    for place in strip.places:
        heights[place.level] = max(heights.get(place.level, 0.0), place.height)
    tops, top = {}, 10.0  # room for the circle on the root
    for level in sorted(heights, reverse=True):
        tops[level] = top
        top += heights[level] + STEP
    places = tuple(
        replace(place, x=place.x + strip.left, top=tops[place.level], height=heights[place.level])
        for place in strip.places
    )
    listed = max(len(_candidates(tried)) for tried in [(), *trials.values()])
    return Layout(places, strip.left + strip.right, top - STEP + LINE * listed)


def _strip(correction: Correction, trials: Mapping[Path, Sequence[Trial]], tree: Tree, path: Path) -> _Strip:
    """The subtree at `path`, its children side by side and its root above their middle."""
    parts = list(reasoning_parts(tree, path)) if isinstance(tree, Node) else []
    children = [_strip(correction, trials, part.tree, part.path) for part in parts]
    middles, reach = [], 0.0
    for child in children:
        middles.append(reach + child.left)
        reach += child.left + child.right + GAP
    middle = (middles[0] + middles[-1]) / 2 if middles else 0.0
    lines = tuple(_lines(correction, tree, path, trials.get(path, ())))
    box = LETTER * max(width(text) for _, text in lines) + 24
    level = 1 + max((child.places[0].level for child in children), default=-1)
    root = Place(path, tree, lines, level, tuple(p.path for p in parts), box, LINE * len(lines) + 10)
    below = (
        replace(place, x=place.x + x - middle)
        for child, x in zip(children, middles, strict=True)
        for place in child.places
    )
    half = max(box / 2, *_half_widths(tree, trials.get(path, ())))
    return _Strip((root, *below), max(half, middle), max(half, reach - GAP - middle))


def _half_widths(tree: Tree, tried: Sequence[Trial]) -> Iterator[float]:
    """The room that is needed on both sides for what stands above or below the box."""
    yield 0.0
    if isinstance(tree, Leaf):
        yield from (SMALL * width(text) / 2 + 15 for _, text in _candidates(tried))  # 15: the circle
    elif tried:
        yield SMALL * width(shown_ratio(tried[0].log_priority)) + 8


def _lines(
    correction: Correction, tree: Tree, path: Path, tried: Sequence[Trial]
) -> Iterator[tuple[str, str]]:
    """What stands in the box: the name, the value, and the expected value."""
    value = shown(correction.values[path]) if path in correction.values else None
    if isinstance(tree, Leaf):
        symbol, new = shown(tree.symbol), _replacement(correction, tree)
        yield "symbol", symbol if new is None else f"{symbol} → {new}"
        if value is not None and value != symbol:
            yield "value", f"= {value}"
    else:
        yield "name", shown(tree.rule.name)
        yield "value", f"= {value}"
    if tried and value is not None:
        yield "expected", f"expected {shown_expected(tried[0].expected)}"


def _candidates(tried: Sequence[Trial]) -> list[tuple[Trial | None, str]]:
    """The replacements listed below a leaf; the last line may say how many are left out."""
    listed: list[tuple[Trial | None, str]] = [
        (trial, f"{shown(trial.replacement)}  {shown_ratio(trial.log_priority)}")
        for trial in tried
        if trial.replacement is not None
    ]
    more = len(listed) - CANDIDATES
    return listed if more <= 1 else [*listed[:CANDIDATES], (None, f"{more} more")]


def _replacement(correction: Correction, leaf: Leaf) -> str | None:
    if correction.sentence is None or correction.position != leaf.position:
        return None
    return shown(correction.sentence[leaf.position])


# Drawing


def _draw_edges(parent: ElementTree.Element, layout: Layout, correction: Correction) -> None:
    """Down from each node, across, and down to the child; the way to the corrected leaf on top."""
    places = {place.path: place for place in layout.places}
    edges = [(place, places[child]) for place in layout.places for child in place.children]
    for place, child in sorted(edges, key=lambda edge: _leads_to_change(edge[1], correction)):
        kind = "edge changed" if _leads_to_change(child, correction) else "edge"
        start, bend = f"{place.x:.1f} {place.bottom:.1f}", f"{place.bottom + STEP / 3:.1f}"
        add(parent, "path", kind, d=f"M{start}V{bend}H{child.x:.1f}V{child.top:.1f}")


def _leads_to_change(place: Place, correction: Correction) -> bool:
    return correction.position is not None and correction.position in (
        leaf.position for leaf in leaves(place.tree)
    )


def _draw_place(
    parent: ElementTree.Element, place: Place, correction: Correction, tried: Sequence[Trial]
) -> None:
    leaf = place.tree if isinstance(place.tree, Leaf) else None
    new = None if leaf is None else _replacement(correction, leaf)
    kind = "node" if leaf is None else "leaf" if new is None else "leaf changed"
    group = add(parent, "g", kind, transform=f"translate({place.x:.1f} {place.top:.1f})")
    if leaf is not None:
        group.set("data-position", str(leaf.position))
    add(group, "rect", "box", x=-place.width / 2, width=place.width, height=place.height, rx=7)
    first = (place.height - LINE * len(place.lines)) / 2 + 12
    for k, (name, text) in enumerate(place.lines):
        line = add(group, "text", f"middle {name}", y=first + LINE * k)
        if leaf is not None and new is not None and name == "symbol":
            add(line, "tspan", "old", shown(leaf.symbol))
            add(line, "tspan", text=" → ")
            add(line, "tspan", "new", new)
        else:
            line.text = text
    if leaf is not None:
        add(group, "text", "position", str(leaf.position), x=4, y=-4)
        for k, (trial, text) in enumerate(_candidates(tried)):
            _draw_candidate(group, trial, text, place.height + LINE * (k + 1))
    elif tried:
        if place.path:
            add(group, "text", "priority", shown_ratio(tried[0].log_priority), x=4, y=-6)
        _draw_circle(group, tried[0].order, -place.width / 2, 0.0)


def _draw_candidate(group: ElementTree.Element, trial: Trial | None, text: str, y: float) -> None:
    fate = Action.PUSH if trial is None else trial.last
    add(group, "text", f"middle candidate {fate.value}", text, x=8, y=y)
    _draw_circle(group, trial.order if trial else None, -SMALL * width(text) / 2 - 4, y - 4)


def _draw_circle(group: ElementTree.Element, order: int | None, x: float, y: float) -> None:
    if order is not None:
        add(group, "circle", "order", cx=x, cy=y, r=7.5)
        add(group, "text", "middle order", str(order), x=x, y=y + 3)


def _draw_table(root: ElementTree.Element, rows: Sequence[Row], top: float) -> None:
    table = add(root, "g", "table", transform=f"translate({MARGIN:.1f} {top:.1f})")
    widths = _column_widths(rows)
    for k, row in enumerate(rows):
        line = add(table, "text", f"row {'header' if k == 0 else row[1]}", y=LINE * k)
        for n, cell in enumerate(row):
            if cell:
                add(line, "tspan", text=cell, x=SMALL * sum(widths[:n]))


def _column_widths(rows: Sequence[Row]) -> list[int]:
    """In letters, with the space between columns."""
    return [max(map(width, column)) + 2 for column in zip(*rows, strict=True)]


def _shortened(rows: list[Row]) -> list[Row]:
    left_out = len(rows) - FIRST_ROWS - LAST_ROWS
    if left_out <= 1:
        return rows
    return [*rows[:FIRST_ROWS], ("", "…", f"{left_out} more", "", "", "", ""), *rows[-LAST_ROWS:]]


def page(across: float, down: float, title: str, description: str) -> ElementTree.Element:
    """An empty page in the reader's light or dark colours; what it is called is said to who cannot see it."""
    size = {"width": f"{across:.0f}", "height": f"{down:.0f}", "viewBox": f"0 0 {across:.0f} {down:.0f}"}
    names = {"xmlns": "http://www.w3.org/2000/svg", "class": "ngs-correction", "role": "img"}
    root = ElementTree.Element("svg", names | size)
    add(root, "title", text=title)
    add(root, "desc", text=description)
    add(root, "style", text=STYLE)
    add(root, "rect", "page", width=across, height=down, rx=10)
    return root


def _description(correction: Correction) -> str:
    popped = [row[2] for row in history(correction) if row[1] == Action.POP.value]
    if not popped:
        return "A reasoning tree with the value of each node; nothing was tried."
    return (
        "A reasoning tree with the value of each node and the value that would make the answer right. "
        f"Visited in this order: {', '.join(popped)}."
    )


def add(
    parent: ElementTree.Element, tag: str, kind: str = "", text: str = "", **attributes: float | str
) -> ElementTree.Element:
    """A new child; numbers are rounded to a tenth of a pixel."""
    child = ElementTree.SubElement(parent, tag, {"class": kind} if kind else {})
    child.text = text or None
    for name, value in attributes.items():
        child.set(name, value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0"))
    return child


_RULES = Template("""
.ngs-correction text { fill: $ink; font: 13px ui-monospace, Menlo, Consolas, monospace; white-space: pre }
.ngs-correction .page { fill: $page }
.ngs-correction .result { font-weight: bold }
.ngs-correction .middle { text-anchor: middle }
.ngs-correction .box { fill: $box; stroke: $line }
.ngs-correction .edge { fill: none; stroke: $line; stroke-width: 1.5; stroke-linejoin: round }
.ngs-correction .edge.changed { stroke: $good; stroke-width: 2.5 }
.ngs-correction .leaf .symbol, .ngs-correction .value { font-weight: bold }
.ngs-correction .changed .box { fill: $good_box; stroke: $good; stroke-width: 2 }
.ngs-correction .old { fill: $bad; text-decoration: line-through }
.ngs-correction .new { fill: $good }
.ngs-correction text.expected { fill: $accent }
.ngs-correction .name, .ngs-correction .caption, .ngs-correction .header { fill: $muted }
.ngs-correction .position { fill: $muted; font-size: 9px }
.ngs-correction .priority, .ngs-correction .candidate, .ngs-correction .row, .ngs-correction .caption {
  font-size: 11px }
.ngs-correction .priority, .ngs-correction .candidate { fill: $muted }
.ngs-correction .accept { fill: $good; font-weight: bold }
.ngs-correction .refuse { fill: $bad }
.ngs-correction circle.order { fill: $accent }
.ngs-correction text.order { fill: $page; font-size: 9px; font-weight: bold }
""")

_LIGHT = {
    "page": "#ffffff",
    "ink": "#1f2328",
    "muted": "#59636e",
    "line": "#c8d1da",
    "box": "#f6f8fa",
    "accent": "#0969da",
    "good": "#1a7f37",
    "good_box": "#dafbe1",
    "bad": "#cf222e",
}
_DARK = {
    "page": "#0d1117",
    "ink": "#f0f6fc",
    "muted": "#9198a1",
    "line": "#3d444d",
    "box": "#151b23",
    "accent": "#4493f8",
    "good": "#3fb950",
    "good_box": "#12261e",
    "bad": "#f85149",
}
STYLE = _RULES.substitute(_LIGHT) + "@media (prefers-color-scheme: dark) {" + _RULES.substitute(_DARK) + "}\n"
"""Plain rules, twice, and no variables: many viewers of SVG files know no others."""
