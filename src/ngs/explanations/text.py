"""A correction in words: the tree with its values, the history of the queue, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from math import exp, inf
from numbers import Real
from typing import Any
from unicodedata import combining, east_asian_width

from ngs.grammar.tree import Leaf, Node, Sentence, Tree, leaves
from ngs.reasoning.operation import ANY, UNDEFINED, Expected, Value
from ngs.search.correction import Action, Correction, Evaluated, Event, Path, name_of, reasoning_parts

WIDEST = 28  # letters of a value that are shown: a set of objects would push everything else off the page
MOST = 3  # expected values that are listed: the automatic inverse may name hundreds
MARK = "* "  # before the symbols of a tree that are put elsewhere
FIRST_ROWS, LAST_ROWS = 22, 8  # rows of the history where it is long: how it began, and how it ended

HEADER = ("#", "action", "node", "at", "expected", "priority", "edit")
Row = tuple[str, str, str, str, str, str, str]
"""The cells under HEADER: pops are numbered; `at` is where an edit changes, or a node's first and last."""


@dataclass(frozen=True)
class Box:
    """A step of reasoning or a symbol as it is shown, with those that it works on below it."""

    name: str
    value: str = ""  # nothing where the name says it
    children: tuple[Box, ...] = ()
    path: Path = ()  # that of no other box of the tree
    position: int | None = None  # of its symbol; None where the symbols are boxes of their own
    width: float = 0.0
    draw: Callable[[Any, float], None] | None = None
    """draws the value in place of the words, so wide, into an XML element, at a height"""


@dataclass(frozen=True)
class Look:
    """How sentences are shown: what is different from task to task."""

    box: Callable[[Evaluated], Box]  # the tree of a sentence
    said: Callable[[Evaluated], str]  # what a sentence comes to
    heading: str = ""  # above a picture
    legend: tuple[str, ...] = ()  # below a picture


def as_text(correction: Correction, look: Look | None = None) -> str:
    """Return the tree with its values, the queue's history line by line, and the result.

    The tree after it follows where more than one symbol was replaced; what was moved has a star in both.

    >>> seven = Evaluated(("7",), Leaf(0, "7"), {(): 7})
    >>> print(as_text(Correction(seven, target=7, corrected=seven)))
    7
    <BLANKLINE>
    7 = 7, right as it stands
    """
    look = look or PLAIN
    edit = None if correction.position is not None else correction.edit
    parts = [tree_text(look.box(correction.read), edit.old if edit else ())]
    if correction.trace:
        parts.append("\n".join(_aligned([HEADER, *history(correction)])))
    parts.append(result(correction, look))
    if edit is not None and correction.corrected is not None:
        parts.append(tree_text(look.box(correction.corrected), edit.new))
    return "\n\n".join(parts)


def history(correction: Correction) -> list[Row]:
    """What happened to the queue, event by event; of a long history the beginning and the end."""
    trees = dict(reasoning_nodes(correction.read.tree))
    rows: list[Row] = []
    pops = 0
    for event in correction.trace:
        pops += event.action is Action.POP
        rows.append(
            (
                str(pops) if event.action is Action.POP else "",
                event.action.value,
                shown(event.name) if event.name else "",
                _where(event, trees),
                shown_expected(event.expected) if event.path in correction.values else "",
                shown_ratio(event.log_priority),
                "" if event.edit is None else shown(event.edit.text, widest=None),
            )
        )
    left_out = len(rows) + 1 - FIRST_ROWS - LAST_ROWS
    if left_out <= 1:
        return rows
    return [*rows[: FIRST_ROWS - 1], ("", "…", f"{left_out} more", "", "", "", ""), *rows[-LAST_ROWS:]]


def result(correction: Correction, look: Look, arrow: str = "->") -> str:
    """`2 * 4 + 3 = 11  ->  2 * 9 + 3 = 21`"""
    said, edit = look.said(correction.read), correction.edit
    if correction.is_right:
        return f"{said}, right as it stands"
    if correction.corrected is None:
        nothing = f"nothing one step away gives {shown(correction.target)} with positive probability"
        return f"{said}  {arrow}  {nothing}"
    how = "" if edit is None or edit.is_substitution else f": {edit.text}"
    return f"{said}  {arrow}  {look.said(correction.corrected)}{how}"


def reasoning_nodes(tree: Tree | None, path: Path = ()) -> Iterator[tuple[Path, Tree]]:
    """Every node and leaf with its path, parents first; inlined nodes are passed over."""
    if tree is not None:
        yield path, tree
    if isinstance(tree, Node):
        for part in reasoning_parts(tree, path):
            yield from reasoning_nodes(part.tree, part.path)


# Trees


def tree_text(box: Box, marked: Collection[int] = ()) -> str:
    """A box on each line with its value; branches begin where there are several below it."""
    lines = list(_lines(box, "", ""))
    if marked:
        lines = [
            ((MARK if each.position in marked else " " * len(MARK)) + name, each) for name, each in lines
        ]
    widest = max(width(name) for name, each in lines)
    return "\n".join(
        f"{name}{' ' * (widest - width(name))} = {each.value}" if each.value else name for name, each in lines
    )


def _lines(box: Box, first: str, rest: str) -> Iterator[tuple[str, Box]]:
    """The name of each box behind the branches that lead to it."""
    yield first + box.name, box
    for child in box.children:
        if len(box.children) == 1:
            yield from _lines(child, rest, rest)
        else:
            branch, below = ("└─ ", "   ") if child is box.children[-1] else ("├─ ", "│  ")
            yield from _lines(child, rest + branch, rest + below)


def reasoning_box(read: Evaluated) -> Box:
    """Nodes by the names of their rules, and every symbol below its node."""

    def box(tree: Tree, path: Path) -> Box:
        name, value = shown(name_of(tree)), shown(read.values[path]) if path in read.values else ""
        if isinstance(tree, Leaf):
            return Box(name, "" if value == name else value, path=path, position=tree.position)
        parts = reasoning_parts(tree, path)
        return Box(name, value, tuple(box(part.tree, part.path) for part in parts), path)

    return stacked(read.sentence) if read.tree is None else box(read.tree, ())


def stacked(sentence: Sentence) -> Box:
    """Symbols that make no tree, one below the other."""
    boxes: tuple[Box, ...] = ()
    for position in reversed(range(len(sentence))):
        boxes = (Box(shown(sentence[position]), "", boxes, (position,), position),)
    return boxes[0]


def equation(read: Evaluated) -> str:
    return f"{' '.join(map(shown, read.sentence))} = {shown(read.value)}"


PLAIN = Look(reasoning_box, equation)  # formulas, and whatever has no look of its own


# Words


def shown(value: Value, widest: int | None = WIDEST) -> str:
    """A value or symbol on one line: printable, not too long, and the same in every run.

    >>> shown(frozenset("ba")), shown("line\\nbreak"), shown(UNDEFINED)
    ('{a, b}', 'line\\\\nbreak', 'undefined')
    """
    text = _text(value)
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    text = text if text.strip() else repr(text)
    return text if widest is None or len(text) <= widest else text[: widest - 1] + "…"


def shown_expected(expected: Expected) -> str:
    """`18`, `-2 or 2`, `any`, or `none` where no value helps."""
    if expected is ANY:
        return "any"
    assert isinstance(expected, frozenset)
    values = [shown(value) for value in _in_order(expected)]
    more = [f"{len(values) - MOST} more"] if len(values) > MOST + 1 else []
    return " or ".join(values[:MOST] + more if more else values) or "none"


def shown_ratio(log_ratio: float) -> str:
    """A ratio of probabilities, from its logarithm.

    >>> [shown_ratio(x) for x in (0.0, -8.0, 9.3, -1000.0, inf)]
    ['1', '3.4e-4', '1.1e4', 'e^-1000', 'inf']
    """
    if abs(log_ratio) == inf:
        return "0" if log_ratio < 0 else "inf"
    if abs(log_ratio) > 690:  # exp would leave the floating-point numbers
        return f"e^{log_ratio:.0f}"
    ratio = exp(log_ratio)
    if 1e-3 <= ratio < 1e4:
        return f"{ratio:.3g}"
    digits, exponent = f"{ratio:.1e}".split("e")
    return f"{digits}e{int(exponent)}"


def width(text: str) -> int:
    """The columns `text` takes in a fixed-width font."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _text(value: Value) -> str:
    if value is UNDEFINED:
        return "undefined"
    if isinstance(value, frozenset | set):
        return "{" + ", ".join(_text(part) for part in _in_order(value)) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_text, value)) + ")"
    return str(value)


def _in_order(values: frozenset[Value] | set[Value]) -> list[Value]:
    """By size if all are numbers, else by name: a set has no order, and its hashes change from run to run."""
    if all(isinstance(value, Real) for value in values):
        return sorted(values)
    return sorted(values, key=_text)


def _where(event: Event, trees: dict[Path, Tree]) -> str:
    if event.edit is not None:
        return " ".join(map(str, event.edit.old))
    covered = [leaf.position for leaf in leaves(trees[event.path])]
    return "-".join(dict.fromkeys(str(position) for position in (*covered[:1], *covered[-1:])))


def _aligned(table: Sequence[Row]) -> Iterator[str]:
    first, *widths = column_widths(table)
    for number, *cells in table:
        padded = (cell + " " * (w - width(cell)) for cell, w in zip(cells, widths, strict=True))
        yield (number.rjust(first - 2) + "  " + "".join(padded)).rstrip()


def column_widths(rows: Sequence[Row]) -> list[int]:
    """In letters, with the space between columns."""
    return [max(map(width, column)) + 2 for column in zip(*rows, strict=True)]
