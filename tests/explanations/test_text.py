"""Corrections as text and as pictures."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from xml.etree import ElementTree

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from ngs.errors import ParseError
from ngs.explanations.drawing import CANDIDATES, as_svg
from ngs.explanations.text import FIRST_ROWS, LAST_ROWS, as_text, shown, shown_expected
from ngs.grammar.grammar import Grammar, arithmetic
from ngs.grammar.tree import leaves, sentence_of
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import ANY
from ngs.reasoning.semantics import Semantics
from ngs.search.correction import Correction
from ngs.search.one_step import one_step
from tests.grammars import score_tables

SVG = "{http://www.w3.org/2000/svg}"


def reading(grammar: Grammar, sentence: Sequence[str], doubts: dict[int, str] | None = None) -> Tensor:
    """Log-probabilities of a network that reads `sentence`, each symbol with 0.8; it gives 0.15 to a
    `doubt` at a position, and shares the rest evenly."""
    probs = torch.zeros(len(sentence), len(grammar.symbols), dtype=torch.float64)
    for t, symbol in enumerate(sentence):
        known = {symbol: 0.8, **({doubts[t]: 0.15} if doubts and t in doubts else {})}
        probs[t] = (1 - sum(known.values())) / (len(grammar.symbols) - len(known))
        for name, prob in known.items():
            probs[t, grammar.symbol_id(name)] = prob
    return probs.log()


def correction(formula: str, target: int, doubts: dict[int, str] | None = None) -> Correction:
    return one_step(arithmetic(), Arithmetic, reading(arithmetic(), formula, doubts), target, formula)


LISTS = Grammar.parse("""
    start: "<" items ">" -> total
    items: item ("&" item)* -> listed
    item: "'1'" | "\\"2\\"" | "\\n" | "数"
""")


class Lists(Semantics):
    """Symbols that are awkward in XML and in columns, values that are tuples, and no inverse."""

    @staticmethod
    def symbol(name: str) -> int:
        return {"'1'": 1, '"2"': 2, "\n": 3, "数": 40}[name]

    @staticmethod
    def listed(*items: int) -> tuple[int, ...]:
        return items

    @staticmethod
    def total(items: tuple[int, ...]) -> int:
        return sum(items)


AWKWARD = ("<", "'1'", "&", '"2"', "&", "\n", ">")


def awkward_correction() -> Correction:
    return one_step(LISTS, Lists, reading(LISTS, AWKWARD), 44, AWKWARD)


OPTIONAL = Grammar.parse("""
    start: sign "x" -> apply
    sign: "-" | -> plus
""")


class Optional(Semantics):
    @staticmethod
    def plus() -> int:
        return 1

    @staticmethod
    def apply(sign: int) -> int:
        return sign


CASES = {
    "corrected": correction("2*4+3", 21, {2: "9"}),
    "already right": correction("2*4+3", 11),
    "not found": correction("2*4+3", 1000),
    "any value will do": correction("0/0+5", 5),
    "no value will do": correction("4/0+3*0", 5),
    "one symbol": correction("3", 5),
    "one symbol, and nothing to try": correction("3", 50),
    "nineteen symbols": correction("2*4+3-1*6/3+8*8-1-1", 79, {2: "8"}),
    "awkward symbols, inlined nodes": awkward_correction(),
    "a node without symbols": one_step(OPTIONAL, Optional, reading(OPTIONAL, "x"), 2, "x"),
}

each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def test_a_correction_reads_like_this() -> None:
    assert as_text(correction("2*4+3", 21, {2: "9"})) == (
        "add         = 11\n"
        "├─ multiply = 8\n"
        "│  ├─ 2\n"
        "│  ├─ *\n"
        "│  └─ 4\n"
        "├─ +\n"
        "└─ 3\n"
        "\n"
        "#  action   node      at   expected  priority  edit\n"
        "   push     add       0-4  21        1\n"
        "1  pop      add       0-4  21        1\n"
        "   push     multiply  0-2  18        0.953\n"
        "   push     +         3              0.0192    -\n"
        "   push     +         3              0.0192    *\n"
        "   push     +         3              0.0192    /\n"
        "   discard  3         4    13        0\n"
        "2  pop      multiply  0-2  18        0.953\n"
        "   discard  2         0    9/2       0\n"
        "   push     *         1              0.0192    +\n"
        "   push     *         1              0.0192    -\n"
        "   push     *         1              0.0192    /\n"
        "   push     4         2    9         0.188     9\n"
        "3  pop      4         2    9         0.188     9\n"
        "   accept   4         2    9         0.188     9\n"
        "\n"
        "2 * 4 + 3 = 11  ->  2 * 9 + 3 = 21"
    )


def test_a_sentence_that_is_right_has_no_history_and_a_failure_says_so() -> None:
    text = as_text(CASES["already right"])
    assert text.endswith("\n\n2 * 4 + 3 = 11, right as it stands") and "action" not in text
    nothing = "2 * 4 + 3 = 11  ->  nothing one step away gives 1000 with positive probability"
    assert as_text(CASES["not found"]).endswith(f"\n\n{nothing}")


def test_columns_stand_below_each_other_whatever_the_symbols() -> None:
    lines = as_text(awkward_correction()).splitlines()
    assert '│  ├─ "2" = 2' in lines and "│  └─ \\n  = 3" in lines
    assert lines[-1] == "< '1' & \"2\" & \\n > = 6  ->  < '1' & 数 & \\n > = 44"
    pushed = [line for line in lines if line.startswith("   push") and line.endswith("数")]
    assert len({line.index("数") for line in pushed}) == 1


@pytest.mark.parametrize(
    "value, text",
    [
        (Fraction(9, 2), "9/2"),
        (frozenset([10, 9]), "{9, 10}"),
        ((frozenset("ba"), 1), "({a, b}, 1)"),
        ("\x00\ud800", "\\x00\\ud800"),
        ("  ", "'  '"),
        ("", "''"),
        ("x" * 100, "x" * 27 + "…"),
    ],
)
def test_values_are_shown_on_one_line(value: object, text: str) -> None:
    assert shown(value) == text


def test_expected_values_are_shown_in_order_and_not_by_the_hundred() -> None:
    assert shown_expected(ANY) == "any"
    assert shown_expected(frozenset()) == "none"
    assert shown_expected(frozenset([Fraction(2), Fraction(-2)])) == "-2 or 2"
    assert shown_expected(frozenset(range(4))) == "0 or 1 or 2 or 3"
    assert shown_expected(frozenset(range(200))) == "0 or 1 or 2 or 197 more"


@each_case
def test_a_picture_is_xml_with_every_symbol_and_the_replacement(case: Correction) -> None:
    check_picture(case)


@pytest.mark.parametrize("name", ["corrected", "awkward symbols, inlined nodes", "one symbol"])
def test_the_changed_leaf_shows_the_old_and_the_new_symbol(name: str) -> None:
    case = CASES[name]
    assert case.sentence is not None and case.position is not None
    (changed,) = ElementTree.fromstring(as_svg(case)).iterfind(f".//{SVG}g[@class='leaf changed']")
    symbols = {span.get("class"): span.text for span in changed.iter(f"{SVG}tspan")}
    assert symbols["old"] == shown(sentence_of(case.tree)[case.position])
    assert symbols["new"] == shown(case.sentence[case.position])


def test_a_long_history_is_cut_in_the_middle() -> None:
    case = CASES["nineteen symbols"]
    rows = ElementTree.fromstring(as_svg(case)).findall(f".//{SVG}g[@class='table']/{SVG}text")
    assert len(case.trace) + 1 > len(rows) == FIRST_ROWS + 1 + LAST_ROWS
    assert rows[-1].get("class") == "row accept"


def test_of_many_replacements_some_are_listed() -> None:
    root = ElementTree.fromstring(as_svg(CASES["any value will do"]))
    (leaf,) = root.iterfind(f".//{SVG}g[@data-position='2']")
    listed = [text.text for text in leaf.iter(f"{SVG}text") if "candidate" in str(text.get("class"))]
    assert len(listed) == CANDIDATES + 1 and listed[-1] == "5 more"
    assert "expected any" in "".join(leaf.itertext())


def test_a_picture_has_a_title_a_description_and_two_colour_schemes() -> None:
    svg = as_svg(CASES["corrected"])
    root = ElementTree.fromstring(svg)
    assert root[0].text == "2 * 4 + 3 = 11  →  2 * 9 + 3 = 21"
    assert root[1].tag == f"{SVG}desc" and "add, multiply, 4" in str(root[1].text)
    assert "prefers-color-scheme: dark" in svg
    assert "url(" not in svg and "href" not in svg and "<script" not in svg


def test_visits_are_numbered_in_their_order() -> None:
    root = ElementTree.fromstring(as_svg(CASES["corrected"]))
    numbers = [text.text for text in root.iterfind(f".//{SVG}text[@class='middle order']")]
    assert sorted(map(str, numbers)) == ["1", "2", "3"]


@settings(max_examples=60)
@given(st.sampled_from([1, 3, 5, 7]), st.fractions(-20, 20, max_denominator=3), st.data())
def test_every_correction_can_be_explained(length: int, target: Fraction, data: st.DataObject) -> None:
    scores = data.draw(score_tables(arithmetic(), length, impossible=0.2))
    sentence = data.draw(st.none() | random_formula(length))
    try:
        case = one_step(arithmetic(), Arithmetic, scores, target, sentence)
    except ParseError as error:
        assert "positive probability" in str(error)
        return
    assert sentence_of(case.tree)[0] in as_text(case)
    check_picture(case)


def random_formula(length: int) -> st.SearchStrategy[tuple[str, ...]]:
    digits, operators = st.sampled_from("0123456789"), st.sampled_from("+-*/")
    return st.tuples(*[operators if t % 2 else digits for t in range(length)])


def check_picture(case: Correction) -> None:
    """Every leaf in its place, from left to right, and no box on another or off the page."""
    root = ElementTree.fromstring(as_svg(case))
    boxes: dict[str, list[tuple[float, float, float, str]]] = {"leaf": [], "node": []}
    for group in root.iter(f"{SVG}g"):
        kind = str(group.get("class")).split()[0]
        if kind in boxes:
            x, y = map(float, str(group.get("transform"))[len("translate(") : -1].split())
            half = float(str(group[0].get("width"))) / 2
            boxes[kind].append((y, x - half, x + half, "".join(group.itertext())))
    drawn = sorted(boxes["leaf"], key=lambda box: box[1])
    assert len({y for y, *_ in drawn}) == 1
    assert all(left[2] < right[1] for left, right in pairwise(drawn))
    for (*_, text), leaf in zip(drawn, leaves(case.tree), strict=True):
        assert shown(leaf.symbol) in text
    for y in {y for y, *_ in boxes["node"]}:
        row = sorted(box[1:3] for box in boxes["node"] if box[0] == y)
        assert all(left[1] < right[0] for left, right in pairwise(row))
    across = float(str(root.get("width")))
    assert all(left >= 0 and right <= across for _, left, right, _ in drawn + boxes["node"])
    if case.sentence is not None and case.position is not None:
        assert shown(case.sentence[case.position]) in drawn[case.position][3]
