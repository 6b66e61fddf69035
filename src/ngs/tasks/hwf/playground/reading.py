"""What is read in a drawing: its symbols, the likeliest formula, and the value of each part."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from PIL import Image

from ngs.grammar.tree import Leaf, Tree, sentence_of
from ngs.parsing.sentence import parse, recognises
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import evaluate
from ngs.search.correction import Part, Path, reasoning_parts
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.formula_reading import Seen, likeliest
from ngs.tasks.playground.messages import Message, part
from ngs.tasks.report.sections import address_of

SHOWN = 5  # symbols of each box, and formulas, that are listed


class Rectangle(Message):
    """A part of the canvas, in its pixels."""

    left: float = part("X of the left side.", 20)
    top: float = part("Y of the upper side, downwards.", 15)
    width: float = part("Pixels.", 48)
    height: float = part("Pixels.", 80)


class Choice(Message):
    """What a symbol may be."""

    symbol: str = part("A digit or one of + - * /.", "3")
    probability: float = part("p(symbol | image).", 0.97)


class SeenSymbol(Message):
    """One symbol of a drawing."""

    box: Rectangle = part("Where it is on the canvas.")
    picture: str = part("As the network sees it: a PNG as a data URL.", "data:image/png;base64,iVBORw0KGgo=")
    likeliest: list[Choice] = part("The five likeliest symbols, best first.")


class Node(Message):
    """A step of reasoning, or a digit, each at a position of its own."""

    path: list[int] = part("The way from the root: the number of the child at each step.", [0, 2])
    label: str = part("The operator, or the digit.", "*")
    text: str = part("The part of the formula below it.", "3*4")
    value: str = part("Its value; `undefined` after a division by zero.", "12")
    position: int = part("Of its symbol in the formula, from 0.", 1)
    children: list[Node] = part("The two parts of an operation; none of a digit.")


class Alternative(Message):
    """A formula that the drawing may show."""

    formula: str = part("Its symbols.", "3*4")
    value: str = part("Its value.", "12")
    probability: float = part("Among all formulas with as many symbols.", 0.98)


class Reading(Message):
    """What a network reads in a drawing."""

    symbols: list[SeenSymbol] = part("From left to right.")
    by_symbol: str = part("The likeliest symbols, each by itself.", "3*4")
    by_symbol_is_formula: bool = part("Whether the grammar allows `by_symbol`.")
    formula: str | None = part("The likeliest formula; null where there is none.", default=None)
    probability: float | None = part("Of the formula, among all with as many symbols.", default=None)
    value: str | None = part("Its value: `12`, `7/3`, `undefined`; or null.", "12", "7/3", default=None)
    decimal: float | None = part("The value as a decimal, where there is one.", 12.0, default=None)
    tree: Node | None = part("How the value comes about; null where there is no formula.", default=None)
    alternatives: list[Alternative] = part("The five likeliest formulas, best first.")
    message: str | None = part("Why there is no formula; null where there is one.")


def reading_of(seen: Seen) -> Reading:
    formulas = [] if seen.no_formula else likeliest(seen.log_probs, SHOWN)
    alternatives = [
        Alternative(formula="".join(z), value=plain_value(value), probability=p) for z, value, p in formulas
    ]
    found: dict[str, Any] = {}
    if formulas:
        decimal, tree = formulas[0].as_facts()["decimal"], parse(GRAMMAR, formulas[0].sentence)
        found = {**dict(alternatives[0]), "decimal": decimal, "tree": node_of(tree)}
    return Reading(
        symbols=list(_symbols(seen)),
        by_symbol="".join(seen.symbol_by_symbol),
        by_symbol_is_formula=not seen.no_formula and recognises(GRAMMAR, seen.symbol_by_symbol),
        alternatives=alternatives,
        message=seen.no_formula,
        **found,
    )


def node_of(tree: Tree, path: Path = ()) -> Node:
    symbol, _, arguments = symbol_of(tree, path)
    return Node(
        path=list(path),
        label=symbol.symbol,
        text="".join(sentence_of(tree)),
        value=plain_value(evaluate(tree, Arithmetic)),
        position=symbol.position,
        children=[node_of(each.tree, each.path) for each in arguments],
    )


def symbol_of(tree: Tree, path: Path) -> tuple[Leaf, Path, list[Part]]:
    """The symbol that a step of reasoning is shown by, its path, and what it works on."""
    if isinstance(tree, Leaf):
        return tree, path, []
    parts = list(reasoning_parts(tree, path))
    (operator,) = (each for each in parts if not each.is_argument)
    assert isinstance(operator.tree, Leaf)
    return operator.tree, operator.path, [each for each in parts if each.is_argument]


def plain_value(value: Value) -> str:
    return str(value) if isinstance(value, Fraction) else "undefined"


def _symbols(seen: Seen) -> Iterator[SeenSymbol]:
    ranked = seen.log_probs.exp().topk(SHOWN)
    rows = zip(seen.boxes, seen.images, ranked.indices, ranked.values, strict=True)
    for (left, top, right, bottom), image, columns, probs in rows:
        choices = zip(columns.tolist(), probs.tolist(), strict=True)
        yield SeenSymbol(
            box=Rectangle(left=left, top=top, width=right - left, height=bottom - top),
            picture=address_of(Image.fromarray(image.numpy()), "png"),
            likeliest=[Choice(symbol=GRAMMAR.symbols[k], probability=min(p, 1.0)) for k, p in choices],
        )
