"""What is read in a drawing, with the value of each part."""

from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from ngs.explanations.text import reasoning_nodes
from ngs.grammar.tree import sentence_of
from ngs.parsing.sentence import parse
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.semantics import evaluate
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.playground.reading import Node, reading_of
from ngs.tasks.hwf.playground.strokes import seen_in
from tests.tasks.hwf.playground.drawings import seen_as, strokes_of


def nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from nodes(child)


def test_a_drawing_is_read(network) -> None:
    reading = reading_of(seen_in(strokes_of("3*4"), network))
    assert (reading.formula, reading.value, reading.decimal, reading.message) == ("3*4", "12", 12.0, None)
    assert reading.by_symbol == "3*4" and reading.by_symbol_is_formula
    assert reading.probability == reading.alternatives[0].probability > 0.5
    assert [each.likeliest[0].symbol for each in reading.symbols] == ["3", "*", "4"]
    for symbol in reading.symbols:
        shares = [choice.probability for choice in symbol.likeliest]
        assert len(shares) == 5 and shares == sorted(shares, reverse=True) and sum(shares) <= 1 + 1e-9
    lefts = [symbol.box.left for symbol in reading.symbols]
    assert lefts == sorted(lefts) and all(symbol.box.width > 5 for symbol in reading.symbols)


def test_the_picture_is_what_the_network_saw(network) -> None:
    seen = seen_in(strokes_of("8"), network)
    (symbol,) = reading_of(seen).symbols
    kind, _, data = symbol.picture.partition(",")
    assert kind == "data:image/png;base64"
    assert (np.asarray(Image.open(BytesIO(b64decode(data)))) == seen.images[0].numpy()).all()


def test_alternatives_are_formulas_with_their_values() -> None:
    reading = reading_of(seen_as("8/4"))
    assert len(reading.alternatives) == 5 and reading.alternatives[0].formula == "8/4"
    shares = [each.probability for each in reading.alternatives]
    assert shares == sorted(shares, reverse=True)
    for each in reading.alternatives:
        value = evaluate(parse(GRAMMAR, list(each.formula)), Arithmetic)
        assert each.value == (str(value) if isinstance(value, Fraction) else "undefined")


@pytest.mark.parametrize(
    ("sentence", "value", "decimal"), [("7/3", "7/3", 7 / 3), ("2-9", "-7", -7.0), ("5/0", "undefined", None)]
)
def test_values(sentence, value, decimal) -> None:
    reading = reading_of(seen_as(sentence))
    assert reading.formula == sentence and reading.value == value
    assert reading.decimal == (decimal if decimal is None else pytest.approx(decimal))


@pytest.mark.parametrize("sentence", ["7", "3*4", "8-5+2*3", "1+2*3-4/5", "6/0-1*2"])
def test_the_tree_has_a_node_for_each_symbol_with_its_value(sentence) -> None:
    reading = reading_of(seen_as(sentence))
    found = list(nodes(reading.tree))
    assert sorted(node.position for node in found) == list(range(len(sentence)))
    trees = dict(reasoning_nodes(parse(GRAMMAR, list(sentence))))
    for node in found:
        assert node.label == sentence[node.position]
        tree = trees[tuple(node.path)]
        assert node.text == "".join(sentence_of(tree))
        value = evaluate(tree, Arithmetic)
        assert node.value == (str(value) if isinstance(value, Fraction) else "undefined")
        assert len(node.children) == (2 if node.label in "+-*/" else 0)
        if node.children:
            assert node.label.join(child.text for child in node.children) == node.text


def test_what_is_no_formula_is_shown_with_a_reason(network) -> None:
    reading = reading_of(seen_as("34"))
    assert reading.formula is reading.value is reading.tree is reading.probability is None
    assert reading.by_symbol == "34" and not reading.by_symbol_is_formula
    assert len(reading.symbols) == 2 and reading.alternatives == []
    assert "2 symbols" in reading.message and "odd" in reading.message
    long = reading_of(seen_as("1" + "+1" * 16))
    assert long.formula is None and "at most 31" in long.message


def test_the_grammar_corrects_single_symbols() -> None:
    seen = seen_as("345", sure=0.5)
    seen.log_probs[1, GRAMMAR.symbol_id("+")] = seen.log_probs[1, GRAMMAR.symbol_id("4")] - 0.1
    scores = replace(seen, log_probs=seen.log_probs.log_softmax(-1))
    reading = reading_of(scores)
    assert (reading.by_symbol, reading.by_symbol_is_formula, reading.formula) == ("345", False, "3+5")
