"""A correction in words: the tree with its values, the history of the queue, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import exp, inf
from numbers import Real
from unicodedata import combining, east_asian_width

from ngs.grammar.tree import Leaf, Node, Tree, leaves, sentence_of
from ngs.reasoning.operation import ANY, UNDEFINED, Expected, Value
from ngs.search.one_step import Action, Correction, Path, reasoning_parts

WIDEST = 28
"""Letters of a value that are shown: a set of objects would push everything else off the page."""
MOST = 3
"""Expected values that are listed: the automatic inverse may name hundreds."""

HEADER = ("#", "action", "node", "at", "expected", "priority", "replacement")
Row = tuple[str, str, str, str, str, str, str]
"""The cells under HEADER: pops are numbered; `at` is a leaf's position, or a node's first and last."""


def as_text(correction: Correction) -> str:
    """The tree with its values, the queue's history line by line, and the result.

    >>> seven = Leaf(0, "7")
    >>> print(as_text(Correction(seven, {(): 7}, target=7, sentence=("7",))))
    7
    <BLANKLINE>
    7 = 7, right as it stands
    """
    table = [HEADER, *history(correction)] if correction.trace else []
    return "\n".join(
        [*_tree_lines(correction), "", *_aligned(table), *[""] * bool(table), result(correction)]
    )


def history(correction: Correction) -> Iterator[Row]:
    """What happened to the queue, event by event."""
    trees = dict(reasoning_nodes(correction.tree))
    pops = 0
    for event in correction.trace:
        pops += event.action is Action.POP
        yield (
            str(pops) if event.action is Action.POP else "",
            event.action.value,
            shown(event.name),
            _positions(trees[event.path]),
            shown_expected(event.expected) if event.path in correction.values else "",
            shown_ratio(event.log_priority),
            "" if event.replacement is None else shown(event.replacement),
        )


def result(correction: Correction, arrow: str = "->") -> str:
    """`2 * 4 + 3 = 11  ->  2 * 9 + 3 = 21`"""
    read = sentence_of(correction.tree)
    said, target = _equation(read, correction.values[()]), correction.target
    if correction.sentence is None:
        return f"{said}  {arrow}  no change of one symbol gives {shown(target)} with positive probability"
    if correction.sentence == read:
        return f"{said}, right as it stands"
    return f"{said}  {arrow}  {_equation(correction.sentence, target)}"


def reasoning_nodes(tree: Tree, path: Path = ()) -> Iterator[tuple[Path, Tree]]:
    """Every node and leaf with its path, parents first; inlined nodes are passed over."""
    yield path, tree
    if isinstance(tree, Node):
        for part in reasoning_parts(tree, path):
            yield from reasoning_nodes(part.tree, part.path)


# Words


def shown(value: Value) -> str:
    """A value or symbol on one line: printable, not too long, and the same in every run.

    >>> shown(frozenset("ba")), shown("line\\nbreak"), shown(UNDEFINED)
    ('{a, b}', 'line\\\\nbreak', 'undefined')
    """
    text = _text(value)
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    text = text if text.strip() else repr(text)
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


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


def _equation(sentence: Sequence[str], value: Value) -> str:
    return f"{' '.join(map(shown, sentence))} = {shown(value)}"


def _positions(tree: Tree) -> str:
    covered = [leaf.position for leaf in leaves(tree)]
    return "-".join(dict.fromkeys(str(position) for position in (*covered[:1], *covered[-1:])))


# Lines


def _tree_lines(correction: Correction) -> list[str]:
    def lines(tree: Tree, path: Path) -> Iterator[str]:
        yield _labelled(tree, path, correction.values)
        parts = list(reasoning_parts(tree, path)) if isinstance(tree, Node) else []
        for part in parts:
            first, rest = ("└─ ", "   ") if part is parts[-1] else ("├─ ", "│  ")
            for k, line in enumerate(lines(part.tree, part.path)):
                yield (rest if k else first) + line

    return list(lines(correction.tree, ()))


def _labelled(tree: Tree, path: Path, values: Mapping[Path, Value]) -> str:
    """The name with its value, unless that says the same again."""
    name = shown(tree.symbol if isinstance(tree, Leaf) else tree.rule.name)
    value = shown(values[path]) if path in values else name
    return name if isinstance(tree, Leaf) and value == name else f"{name} = {value}"


def _aligned(table: Sequence[Row]) -> Iterator[str]:
    widths = [max(map(width, column)) for column in zip(*table, strict=True)]
    for number, *cells in table:
        padded = (cell + " " * (w - width(cell)) for cell, w in zip(cells, widths[1:], strict=True))
        yield "  ".join(chain([number.rjust(widths[0])], padded)).rstrip()
