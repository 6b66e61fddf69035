"""What is read in a drawing: its symbols, the likeliest formula, and what each part of it comes to."""

from __future__ import annotations

from base64 import b64encode
from fractions import Fraction
from io import BytesIO

from PIL import Image
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from ngs.apps.formula_reading import Seen, likeliest
from ngs.grammar.tree import Leaf, Tree, sentence_of
from ngs.parsing.sentence import parse, recognises
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import evaluate
from ngs.search.correction import Path, reasoning_parts
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.pictures import MOST_SYMBOLS
from ngs.tasks.hwf.segmentation import Box

SHOWN = 5
"""Symbols of each box, and formulas, that are listed."""


class Answer(BaseModel):
    """A part of an answer of ours."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Rectangle(Answer):
    """A part of the canvas, in its pixels."""

    left: float = Field(description="X of the left side.", examples=[20])
    top: float = Field(description="Y of the upper side, downwards.", examples=[15])
    width: float = Field(description="Pixels.", examples=[48])
    height: float = Field(description="Pixels.", examples=[80])


class Choice(Answer):
    """What a symbol may be."""

    symbol: str = Field(description="A digit or one of + - * /.", examples=["3"])
    probability: float = Field(description="p(symbol | image).", examples=[0.97])


class SeenSymbol(Answer):
    """One symbol of a drawing."""

    box: Rectangle = Field(description="Where it is on the canvas.")
    picture: str = Field(
        description="As the network sees it: a PNG of 45 x 45 pixels as a data URL.",
        examples=["data:image/png;base64,iVBORw0KGgo="],
    )
    likeliest: list[Choice] = Field(description="The five likeliest symbols, best first.")


class Node(Answer):
    """A step of reasoning, or a digit. Each stands at a position of its own, by which it can be named."""

    path: list[int] = Field(
        description="The way from the root: the number of the child at each step.", examples=[[0, 2]]
    )
    label: str = Field(description="The operator, or the digit.", examples=["*"])
    text: str = Field(description="The part of the formula below it.", examples=["3*4"])
    value: str = Field(description="What it comes to; `undefined` after a division by zero.", examples=["12"])
    position: int = Field(description="Of its symbol in the formula, from 0.", examples=[1])
    children: list[Node] = Field(description="The two parts of an operation; none of a digit.")


class Alternative(Answer):
    """A formula that the drawing may show."""

    formula: str = Field(description="Its symbols.", examples=["3*4"])
    value: str = Field(description="What it comes to.", examples=["12"])
    probability: float = Field(description="Among all formulas with as many symbols.", examples=[0.98])


class Reading(Answer):
    """What a network reads in a drawing."""

    symbols: list[SeenSymbol] = Field(description="From left to right.")
    by_symbol: str = Field(description="The likeliest symbols, each by itself.", examples=["3*4"])
    by_symbol_is_formula: bool = Field(description="Whether the grammar allows `by_symbol`.")
    formula: str | None = Field(description="The likeliest formula; null where there is none.")
    probability: float | None = Field(description="Of the formula, among all with as many symbols.")
    value: str | None = Field(
        description="What it comes to: `12`, `7/3`, `undefined`; null where there is no formula.",
        examples=["12", "7/3"],
    )
    decimal: float | None = Field(description="The value as a decimal, where there is one.", examples=[12.0])
    tree: Node | None = Field(description="How the value comes about; null where there is no formula.")
    alternatives: list[Alternative] = Field(description="The five likeliest formulas, best first.")
    message: str | None = Field(description="Why there is no formula; null where there is one.")


def no_formula(seen: Seen) -> str | None:
    """Why the symbols are no formula, if they are not."""
    count = len(seen.log_probs)
    if count > MOST_SYMBOLS:
        return f"{count} symbols are there, and a formula may have at most {MOST_SYMBOLS}"
    if not seen.is_long_as_a_formula:
        return (
            f"{count} symbols are there, and a formula has an odd number: "
            f"digits with an operator between each two"
        )
    return None


def reading_of(seen: Seen) -> Reading:
    """The likeliest formula of what is seen, or why there is none."""
    message = no_formula(seen)
    formulas = [] if message else likeliest(seen.log_probs, SHOWN)
    first = formulas[0] if formulas else None
    is_number = first is not None and isinstance(first.value, Fraction)
    return Reading(
        symbols=_symbols(seen),
        by_symbol="".join(seen.symbol_by_symbol),
        by_symbol_is_formula=not message and recognises(GRAMMAR, seen.symbol_by_symbol),
        formula="".join(first.sentence) if first else None,
        probability=first.probability if first else None,
        value=plain_value(first.value) if first else None,
        decimal=float(first.value) if first and is_number else None,
        tree=node_of(parse(GRAMMAR, first.sentence)) if first else None,
        alternatives=[
            Alternative(
                formula="".join(each.sentence), value=plain_value(each.value), probability=each.probability
            )
            for each in formulas
        ],
        message=message,
    )


def node_of(tree: Tree, path: Path = ()) -> Node:
    """A reasoning tree with the value of each node."""
    text, value = "".join(sentence_of(tree)), plain_value(evaluate(tree, Arithmetic))
    if isinstance(tree, Leaf):
        return Node(
            path=list(path), label=tree.symbol, text=text, value=value, position=tree.position, children=[]
        )
    parts = list(reasoning_parts(tree, path))
    (operator,) = (part.tree for part in parts if not part.is_argument and isinstance(part.tree, Leaf))
    return Node(
        path=list(path),
        label=operator.symbol,
        text=text,
        value=value,
        position=operator.position,
        children=[node_of(part.tree, part.path) for part in parts if part.is_argument],
    )


def plain_value(value: Value) -> str:
    """`12`, `7/3` or `undefined`."""
    return str(value) if isinstance(value, Fraction) else "undefined"


def _symbols(seen: Seen) -> list[SeenSymbol]:
    ranked = seen.log_probs.exp().topk(SHOWN)
    rows = zip(ranked.indices.tolist(), ranked.values.tolist(), strict=True)
    return [
        SeenSymbol(
            box=_rectangle(box),
            picture=_data_url(image),
            likeliest=[
                Choice(symbol=GRAMMAR.symbols[column], probability=min(probability, 1.0))
                for column, probability in zip(*row, strict=True)
            ],
        )
        for box, image, row in zip(seen.symbols.boxes, seen.symbols.images, rows, strict=True)
    ]


def _rectangle(box: Box) -> Rectangle:
    return Rectangle(left=box.left, top=box.top, width=box.right - box.left, height=box.bottom - box.top)


def _data_url(image: Tensor) -> str:
    file = BytesIO()
    Image.fromarray(image.numpy()).save(file, "PNG")
    return f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"
