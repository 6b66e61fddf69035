"""Trees of sentences and corrections as pictures: one SVG, for a light or a dark page.

Every box is above the middle of its children, at a height that depends on what is below it, so leaves are on
one line in the order of the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from operator import itemgetter
from string import Template
from textwrap import wrap
from xml.etree import ElementTree

from ngs.explanations.text import (
    HEADER,
    PLAIN,
    Box,
    Look,
    Row,
    column_widths,
    history,
    result,
    shown,
    shown_expected,
    shown_ratio,
    width,
)
from ngs.search.correction import Action, Correction, Path

LETTER, SMALL = 7.8, 6.6
"""The width of a letter of 13 and of 11 pixels: fixed-width fonts are 0.6 as wide as high."""
MARGIN, GAP, LINE, STEP = 24.0, 14.0, 16.0, 36.0
"""Around everything, between neighbours, between lines of text, from a box to the one above."""
CANDIDATES = 4  # replacements listed below a leaf
WIDEST = 120  # letters of a heading on one line

LEGEND = (
    "circles: the order of visits; beside edges: (1 - p) / p of the node",
    "below leaves: what could stand there instead, with p(new) / p(old)",
)


@dataclass(frozen=True)
class Panel:
    """A tree of the picture, with what is to be noticed in it."""

    box: Box
    title: str = ""
    marked: Mapping[int, str] = field(default_factory=dict)  # the classes of symbols, by position
    new: str = ""  # what is put in place of the marked one
    trials: Mapping[Path, Sequence[Trial]] = field(default_factory=dict)
    """what was tried at each box"""


def as_svg(correction: Correction, look: Look = PLAIN) -> str:
    """Return the tree, the expected values, the queue's history, and a corrected tree that differs, as SVG.

    >>> import torch
    >>> from ngs import Arithmetic, arithmetic_grammar, one_step
    >>> log_probs = torch.zeros(3, 14).log_softmax(-1)
    >>> as_svg(one_step(arithmetic_grammar(), Arithmetic, log_probs, target=2, sentence="1+2"))[:4]
    '<svg'
    """
    edit, box, corrected = correction.edit, look.box(correction.read), correction.corrected
    trials = trials_of(correction)
    if edit is not None and edit.is_substitution:
        panels = [Panel(box, "", {edit.new[0]: "changed"}, shown(edit.text), trials)]
    elif edit is not None and corrected is not None:
        old, new = dict.fromkeys(edit.old, "refuse"), dict.fromkeys(edit.new, "changed")
        panels = [Panel(box, "read", old), Panel(look.box(corrected), "corrected", new)]
    else:
        panels = [Panel(box, trials=trials)]
    rows = [HEADER, *history(correction)] if correction.trace else []
    return drawn(panels, result(correction, look, arrow="→"), look, _description(correction), rows)


def drawn(panels: Sequence[Panel], title: str, look: Look, description: str, rows: Sequence[Row] = ()) -> str:
    """Trees side by side, under a title and over a table."""
    layouts = [Layout.of(panel) for panel in panels]
    legend = [*look.legend, *(LEGEND if any(panel.trials for panel in panels) else ())]
    asked, titled = wrap(look.heading, WIDEST), wrap(title, WIDEST)
    trees = sum(layout.width for layout in layouts) + 2 * MARGIN * (len(panels) - 1)
    small = SMALL * max(0, sum(column_widths(rows)), *map(width, legend))
    across = max(trees, LETTER * max(map(width, [*asked, *titled])), small)
    tree_top = MARGIN + LINE * (len(asked) + len(titled) + 1 + any(panel.title for panel in panels))
    legend_top = tree_top + max(layout.height for layout in layouts) + 2 * LINE
    table_top = legend_top + (len(legend) + bool(legend)) * LINE
    below = table_top + LINE * len(rows) + MARGIN * bool(rows)
    root = page(across + 2 * MARGIN, below, " ".join([*asked, title]), description)
    for k, line in enumerate([*asked, *titled]):
        add(root, "text", "" if k < len(asked) else "result", line, x=MARGIN, y=MARGIN + 12 + LINE * k)
    left = MARGIN + (across - trees) / 2
    for panel, layout in zip(panels, layouts, strict=True):
        tree = add(root, "g", "tree", transform=f"translate({left:.1f} {tree_top:.1f})")
        if panel.title:
            add(tree, "text", "middle name", panel.title, x=layout.width / 2, y=-LINE / 2)
        _draw_edges(tree, layout)
        for place in layout.places:
            _draw_place(tree, place)
        left += layout.width + 2 * MARGIN
    for k, line in enumerate(legend):
        add(root, "text", "caption", line, x=MARGIN, y=legend_top + LINE * k)
    if rows:
        _draw_table(root, rows, table_top)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


@dataclass(frozen=True)
class Trial:
    """A node, or a replacement at a leaf, on its way through the queue."""

    text: str  # its ratio of probabilities, and what was to replace a leaf
    replaces: bool
    fate: Action  # the last thing that happened to it
    order: int | None  # when it was popped, counted from 1
    expected: str = ""  # nothing at what has no value


def trials_of(correction: Correction) -> dict[Path, list[Trial]]:
    """What was tried at each path: what was popped in its order, then what was left by priority."""
    tried = [each for each in correction.trace if each.edit is None or each.edit.is_substitution]
    popped = [(each.path, each.edit) for each in tried if each.action is Action.POP]
    found: dict[Path, list[tuple[float, float, Trial]]] = {}
    for key, last in {(each.path, each.edit): each for each in tried}.items():
        expected = f"expected {shown_expected(last.expected)}" if last.path in correction.values else ""
        order = popped.index(key) + 1 if key in popped else None
        new, ratio = f"{shown(last.edit.text)}  " if last.edit else "", shown_ratio(last.log_priority)
        trial = Trial(new + ratio, last.edit is not None, last.action, order, expected)
        found.setdefault(last.path, []).append((order or inf, -last.log_priority, trial))
    return {
        path: [trial for *_, trial in sorted(tried, key=itemgetter(0, 1))] for path, tried in found.items()
    }


# Layout


@dataclass
class Place:
    """A box of the tree with what is written in and around it, and its place: its middle and its top."""

    box: Box
    kind: str  # its class: a node, or a leaf and how its symbol is marked
    lines: list[tuple[str, str]]  # (class, text), top to bottom
    new: str
    tried: Sequence[Trial]
    listed: Sequence[Trial]
    """below a leaf: the replacements that were tried; the last may say how many are left out"""
    children: list[Place]
    width: float
    height: float
    left: float
    right: float  # how far the tree below reaches to either side of the middle
    x: float = 0.0
    top: float = 0.0

    @property
    def level(self) -> int:
        """Leaves are at 0, a node one above its highest child."""
        return 1 + max((child.level for child in self.children), default=-1)

    @property
    def leads_to_change(self) -> bool:
        """Whether it is the box whose symbol is replaced, or above it."""
        return bool(self.new) or any(child.leads_to_change for child in self.children)

    def moved(self, x: float) -> Iterator[Place]:
        """This and all below, whose `x` counted from the middle of the one above."""
        self.x += x
        yield self
        for child in self.children:
            yield from child.moved(self.x)


@dataclass(frozen=True)
class Layout:
    places: list[Place]
    width: float
    height: float

    @classmethod
    def of(cls, panel: Panel) -> Layout:
        root = _placed(panel, panel.box)
        across = max(root.left + root.right, LETTER * width(panel.title))
        places = list(root.moved(root.left + (across - root.left - root.right) / 2))
        top = 10.0  # space for the circle on the root
        for level in range(root.level, -1, -1):
            row = [place for place in places if place.level == level]
            height = max(place.height for place in row)
            for place in row:
                place.top, place.height = top, height
            top += height + STEP
        return cls(places, across, top - STEP + LINE * max(len(place.listed) for place in places))


def _placed(panel: Panel, box: Box) -> Place:
    """The tree below a box, its children side by side and the box above their middle."""
    children, reach = [_placed(panel, child) for child in box.children], 0.0
    for child in children:
        child.x = reach + child.left
        reach += child.left + child.right + GAP
    middle = (children[0].x + children[-1].x) / 2 if children else 0.0
    for child in children:
        child.x -= middle
    is_leaf, tried = box.position is not None, panel.trials.get(box.path, ())
    mark = panel.marked.get(box.position, "") if box.position is not None else ""
    new, kind = panel.new if mark else "", f"leaf {mark}".rstrip() if is_leaf else "node"
    lines, listed = list(_lines(box, mark, new, tried)), _candidates(tried)
    across = max(LETTER * max(width(text) for _, text in lines), box.width) + 24
    down = LINE * (len(lines) + (1.5 if box.draw else 0)) + 10
    below = [SMALL * width(each.text) / 2 + 15 for each in listed]  # 15: the circle
    above = [] if is_leaf else [SMALL * width(each.text) + 8 for each in tried]
    half = max([across / 2, *below, *above])
    left, right = max(half, middle), max(half, reach - GAP - middle)
    return Place(box, kind, lines, new, tried, listed, children, across, down, left, right)


def _lines(box: Box, mark: str, new: str, tried: Sequence[Trial]) -> Iterator[tuple[str, str]]:
    if box.position is None:
        yield "name", box.name
    elif new:
        yield "symbol", f"{box.name} → {new}"
    else:
        yield f"symbol {mark}".rstrip(), box.name
    if box.value and not box.draw:
        yield "value", f"= {box.value}"
    if tried and tried[0].expected:
        yield "expected", tried[0].expected


def _candidates(tried: Sequence[Trial]) -> list[Trial]:
    listed = [each for each in tried if each.replaces]
    more = len(listed) - CANDIDATES
    return listed if more <= 1 else [*listed[:CANDIDATES], Trial(f"{more} more", True, Action.PUSH, None)]


# Drawing


def _draw_edges(parent: ElementTree.Element, layout: Layout) -> None:
    """Down from each box, across, and down to the child; the way to the replaced symbol on top."""
    edges = [(above, child) for above in layout.places for child in above.children]
    for above, child in sorted(edges, key=lambda edge: edge[1].leads_to_change):
        bottom = above.top + above.height
        way = f"M{above.x:.1f} {bottom:.1f}V{bottom + STEP / 3:.1f}H{child.x:.1f}V{child.top:.1f}"
        add(parent, "path", "edge changed" if child.leads_to_change else "edge", d=way)


def _draw_place(parent: ElementTree.Element, place: Place) -> None:
    box, tried = place.box, place.tried
    group = add(parent, "g", place.kind, transform=f"translate({place.x:.1f} {place.top:.1f})")
    add(group, "rect", "box", x=-place.width / 2, width=place.width, height=place.height, rx=7)
    drawn = 1.5 * LINE if box.draw else 0.0
    first = (place.height - LINE * len(place.lines) - drawn) / 2 + 12
    for k, (name, text) in enumerate(place.lines):
        line = add(group, "text", f"middle {name}", y=first + LINE * k)
        if name == "symbol" and place.new:
            add(line, "tspan", "old", box.name)
            add(line, "tspan", text=" → ")
            add(line, "tspan", "new", place.new)
        else:
            line.text = text
    if box.draw:
        box.draw(group, first + LINE * (len(place.lines) - 0.1))
    if box.position is not None:
        group.set("data-position", str(box.position))
        add(group, "text", "position", str(box.position), x=4, y=-4)
        for k, each in enumerate(place.listed):
            y = place.height + LINE * (k + 1)
            add(group, "text", f"middle candidate {each.fate.value}", each.text, x=8, y=y)
            _draw_circle(group, each.order, -SMALL * width(each.text) / 2 - 4, y - 4)
    elif tried:
        if box.path:
            add(group, "text", "priority", tried[0].text, x=4, y=-6)
        _draw_circle(group, tried[0].order, -place.width / 2, 0.0)


def _draw_circle(group: ElementTree.Element, order: int | None, x: float, y: float) -> None:
    if order is not None:
        add(group, "circle", "order", cx=x, cy=y, r=7.5)
        add(group, "text", "middle order", str(order), x=x, y=y + 3)


def _draw_table(root: ElementTree.Element, rows: Sequence[Row], top: float) -> None:
    table = add(root, "g", "table", transform=f"translate({MARGIN:.1f} {top:.1f})")
    widths = column_widths(rows)
    for k, row in enumerate(rows):
        line = add(table, "text", f"row {'header' if k == 0 else row[1]}", y=LINE * k)
        for n, cell in enumerate(row):
            if cell:
                add(line, "tspan", text=cell, x=SMALL * sum(widths[:n]))


def page(across: float, down: float, title: str, description: str) -> ElementTree.Element:
    """An empty page in the reader's light or dark colours, with title and description for screen readers."""
    size = {"width": f"{across:.0f}", "height": f"{down:.0f}", "viewBox": f"0 0 {across:.0f} {down:.0f}"}
    names = {"xmlns": "http://www.w3.org/2000/svg", "class": "ngs-correction", "role": "img"}
    root = ElementTree.Element("svg", names | size)
    add(root, "title", text=title)
    add(root, "desc", text=description)
    add(root, "style", text=STYLE)
    add(root, "rect", "page", width=across, height=down, rx=10)
    return root


def _description(correction: Correction) -> str:
    told = "A reasoning tree with the value of each node"
    popped = [
        shown(event.name) if event.edit is None or event.edit.is_substitution else event.edit.text
        for event in correction.trace
        if event.action is Action.POP
    ]
    if not popped:
        return f"{told}; nothing was tried."
    return (
        f"{told} and the value that would make the answer right. Visited in this order: {', '.join(popped)}."
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

_COLOURS = {
    "page": ("#ffffff", "#0d1117"),
    "ink": ("#1f2328", "#f0f6fc"),
    "muted": ("#59636e", "#9198a1"),
    "line": ("#c8d1da", "#3d444d"),
    "box": ("#f6f8fa", "#151b23"),
    "accent": ("#0969da", "#4493f8"),
    "good": ("#1a7f37", "#3fb950"),
    "good_box": ("#dafbe1", "#12261e"),
    "bad": ("#cf222e", "#f85149"),
}
"""On a light page, and on a dark one."""
_LIGHT, _DARK = (_RULES.substitute({name: pair[k] for name, pair in _COLOURS.items()}) for k in (0, 1))
STYLE = _LIGHT + "@media (prefers-color-scheme: dark) {" + _DARK + "}\n"
"""Plain rules, twice, and no variables: many viewers of SVG files know no others."""
