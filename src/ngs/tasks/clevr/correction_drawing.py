"""Programs as a picture: trees side by side, each step with the objects it found.

A program is read from its root at the top; what a module works on stands below it. The objects of a set
keep their places in a row, and those that are not in it are pale.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from xml.etree import ElementTree

from ngs.explanations.drawing import GAP, LETTER, LINE, MARGIN, SMALL, add, page
from ngs.explanations.text import width
from ngs.reasoning.operation import UNDEFINED
from ngs.tasks.clevr.correction import ProgramCorrection
from ngs.tasks.clevr.correction_text import result
from ngs.tasks.clevr.execution import Step, Type, modules
from ngs.tasks.clevr.program_text import Executed, description, shown_answer, shown_value
from ngs.tasks.clevr.scenes import COLORS, Scene, Thing

LEGEND = (
    "squares are cubes, circles are spheres, barrels are cylinders; shiny ones are metal; "
    "pale ones are not in the set"
)
SLOT, RISE = 24.0, 16.0
"""The width of an object, and the space between a box and the one below it."""
RADIUS = {"small": 6.0, "large": 9.5}
PALE = 0.12
WIDEST = 100
"""Letters of a question on one line."""


@dataclass(frozen=True)
class Panel:
    """One program of the picture."""

    title: str
    executed: Executed
    marked: Mapping[int, str]
    """the classes of modules that are to be noticed, by position"""


def drawn_correction(correction: ProgramCorrection) -> str:
    """The program that was read and the corrected one, with the modules that changed places."""
    chosen, first = correction.chosen, correction.first
    old = dict.fromkeys(chosen.edit.old if chosen else (), "refuse")
    panels = [Panel(f"read: {shown_answer(first.answer)}", first, old)]
    if chosen is not None and correction.corrected is not None:
        new = dict.fromkeys(chosen.edit.new, "changed")
        panels.append(Panel(f"corrected: {correction.target}", correction.corrected, new))
    return drawn(correction.reading.text, result(correction, arrow="→"), panels)


def drawn_program(question: str, executed: Executed) -> str:
    """One program with what every step of it found."""
    return drawn(question, f"answer: {shown_answer(executed.answer)}", [Panel("program", executed, {})])


def drawn(question: str, title: str, panels: Sequence[Panel]) -> str:
    """An SVG that needs nothing else, for a light or a dark page."""
    trees = [_layout(panel) for panel in panels]
    asked = wrap("".join(c if c.isprintable() else " " for c in question), WIDEST)
    across = sum(tree.width for tree in trees) + 2 * MARGIN * (len(trees) - 1)
    texts = max(LETTER * max(map(width, [*asked, title])), SMALL * width(LEGEND))
    top = MARGIN + LINE * (len(asked) + 4)
    below = top + max(tree.height for tree in trees) + 2 * LINE
    root = _page(max(across, texts) + 2 * MARGIN, below + MARGIN, asked, title)
    left = MARGIN + max(0.0, texts - across) / 2
    for panel, tree in zip(panels, trees, strict=True):
        group = add(root, "g", "program", transform=f"translate({left:.1f} {top:.1f})")
        add(group, "text", "middle name", panel.title, x=tree.width / 2, y=-LINE / 2)
        _draw_tree(group, tree, panel)
        left += tree.width + 2 * MARGIN
    add(root, "text", "caption", LEGEND, x=MARGIN, y=below)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


# Layout


@dataclass(frozen=True)
class _Box:
    """A step: `x` is its middle, `y` its top."""

    module: str
    value: str
    objects: frozenset[int] | None
    """what is in the set; None where it is no set"""
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0
    parent: int | None = None
    """the number of the box above"""


@dataclass(frozen=True)
class _Tree:
    boxes: tuple[_Box, ...]
    """in the order of the prefix notation"""
    width: float
    height: float


def _layout(panel: Panel) -> _Tree:
    executed = panel.executed
    if executed.steps is None:
        return _stacked([_box(module, "", None, 0) for module in executed.program])
    tree = _placed(executed.steps, executed.scene)
    return replace(tree, width=max(tree.width, LETTER * width(panel.title)))


def _stacked(boxes: Sequence[_Box]) -> _Tree:
    """Modules that make no tree, one below the other."""
    across, y, placed = max(box.width for box in boxes), 0.0, []
    for box in boxes:
        placed.append(replace(box, x=across / 2, y=y))
        y += box.height + RISE
    return _Tree(tuple(placed), across, y - RISE)


def _placed(step: Step, scene: Scene) -> _Tree:
    """A step above the middle of its arguments, which stand side by side."""
    root = _box_of(step, scene)
    below = [_placed(argument, scene) for argument in step.arguments]
    inner = sum(tree.width for tree in below) + GAP * max(0, len(below) - 1)
    across = max(root.width, inner)
    x, y = (across - inner) / 2, root.height + (RISE if below else 0.0)
    boxes = [replace(root, x=across / 2)]
    for tree in below:
        boxes += _shifted(tree.boxes, x, y, len(boxes))
        x += tree.width + GAP
    return _Tree(tuple(boxes), across, y + max((tree.height for tree in below), default=0.0))


def _shifted(boxes: Sequence[_Box], x: float, y: float, first: int) -> Iterator[_Box]:
    """Boxes whose numbers begin with `first`, and whose root hangs below box 0."""
    for box in boxes:
        parent = 0 if box.parent is None else box.parent + first
        yield replace(box, x=box.x + x, y=box.y + y, parent=parent)


def _box_of(step: Step, scene: Scene) -> _Box:
    gives = modules()[step.module].gives
    if step.value is UNDEFINED or gives not in (Type.OBJECTS, Type.OBJECT):
        return _box(step.module, f"= {shown_value(step, scene)}", None, 0)
    objects = frozenset([step.value]) if gives is Type.OBJECT else step.value
    return _box(step.module, "", objects, len(scene.things))


def _box(module: str, value: str, objects: frozenset[int] | None, slots: int) -> _Box:
    across = max(LETTER * max(width(module), width(value)), SLOT * slots) + 20
    lines = 1 + bool(value) + (objects is not None) * 1.5
    return _Box(module, value, objects, across, LINE * lines + 8)


# Drawing


def _draw_tree(group: ElementTree.Element, tree: _Tree, panel: Panel) -> None:
    for box in tree.boxes:
        if box.parent is not None:
            above = tree.boxes[box.parent]
            start, bend = f"{above.x:.1f} {above.y + above.height:.1f}", f"{box.y - RISE / 2:.1f}"
            add(group, "path", "edge", d=f"M{start}V{bend}H{box.x:.1f}V{box.y:.1f}")
    for position, box in enumerate(tree.boxes):
        _draw_box(group, box, panel.executed.scene, panel.marked.get(position, ""))


def _draw_box(parent: ElementTree.Element, box: _Box, scene: Scene, mark: str) -> None:
    group = add(parent, "g", f"step {mark}".rstrip(), transform=f"translate({box.x:.1f} {box.y:.1f})")
    add(group, "rect", "box", x=-box.width / 2, width=box.width, height=box.height, rx=7)
    add(group, "text", f"middle {mark}".rstrip(), box.module, y=LINE)
    if box.value:
        add(group, "text", "middle value", box.value, y=2 * LINE)
    if box.objects is not None:
        _draw_objects(group, box.objects, scene, 2.2 * LINE)


def _draw_objects(group: ElementTree.Element, chosen: Collection[int], scene: Scene, y: float) -> None:
    """All objects in a row, pale unless they are chosen."""
    left = -SLOT * (len(scene.things) - 1) / 2
    for k, thing in enumerate(scene.things):
        place = f"translate({left + SLOT * k:.1f} {y:.1f})"
        glyph = add(group, "g", "object" if k in chosen else "other", transform=place)
        if k not in chosen:
            glyph.set("opacity", str(PALE))
        _draw_thing(glyph, thing)


def _draw_thing(glyph: ElementTree.Element, thing: Thing) -> None:
    add(glyph, "title", text=description(thing))
    r, look = RADIUS[thing.size], {"fill": COLORS[thing.color], "stroke": "#808890"}
    if thing.shape == "sphere":
        add(glyph, "circle", r=r, **look)
    elif thing.shape == "cube":
        add(glyph, "rect", x=-0.88 * r, y=-0.88 * r, width=1.76 * r, height=1.76 * r, **look)
    else:
        bulge = f"a{0.7 * r:.1f} {0.3 * r:.1f} 0 0"
        side, down = f"{0.7 * r:.1f}", f"{1.4 * r:.1f}"
        outline = f"M-{side} -{side}v{down}{bulge} 0 {down} 0v-{down}{bulge} 0 -{down} 0{bulge} 0 {down} 0"
        add(glyph, "path", d=outline, **look)
    if thing.material == "metal":
        add(glyph, "circle", cx=-0.25 * r, cy=-0.3 * r, r=0.28 * r, fill="#ffffff", opacity="0.85")


def _page(across: float, down: float, asked: Sequence[str], title: str) -> ElementTree.Element:
    told = "Programs from the root down; each step shows the objects that it found."
    root = page(across, down, " ".join([*asked, title]), told)
    for k, line in enumerate(asked):
        add(root, "text", "result", line, x=MARGIN, y=MARGIN + 12 + LINE * k)
    add(root, "text", "", title, x=MARGIN, y=MARGIN + 12 + LINE * (len(asked) + 0.5))
    return root
