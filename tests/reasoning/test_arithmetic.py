"""Exact arithmetic, and exact results from the decimals of a data set."""

import operator
from fractions import Fraction
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngs import UNDEFINED, SemanticsError, evaluate, exact, parse
from ngs.grammar.grammar import arithmetic
from ngs.reasoning.arithmetic import Arithmetic

ARITHMETIC = arithmetic()
FUNCTIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def by_hand(sentence: str) -> Fraction | None:
    """Products first, then sums, each from left to right; None where something is divided by zero."""
    terms: list[Fraction] = [Fraction(sentence[0])]
    signs: list[str] = []
    for sign, digit in zip(sentence[1::2], sentence[2::2], strict=True):
        if sign in "+-":
            signs.append(sign)
            terms.append(Fraction(digit))
        elif sign == "/" and digit == "0":
            return None
        else:
            terms[-1] = FUNCTIONS[sign](terms[-1], Fraction(digit))
    total = terms[0]
    for sign, term in zip(signs, terms[1:], strict=True):
        total = FUNCTIONS[sign](total, term)
    return total


@st.composite
def calculations(draw: st.DrawFn) -> str:
    length = draw(st.integers(0, 5))
    rest = [draw(st.sampled_from("+-*/")) + draw(st.sampled_from("0123456789")) for _ in range(length)]
    return draw(st.sampled_from("0123456789")) + "".join(rest)


@given(calculations())
def test_sums_and_products_have_the_value_they_have_on_paper(sentence: str) -> None:
    have, want = evaluate(parse(ARITHMETIC, sentence), Arithmetic), by_hand(sentence)
    assert have == (UNDEFINED if want is None else want)
    assert want is None or type(have) is Fraction


@given(calculations())
def test_decimals_are_read_back_exactly(sentence: str) -> None:
    """As data sets store them: floats, or text with six digits after the point."""
    value = by_hand(sentence)
    if value is not None and value.denominator <= 500 and abs(value) < 1000:
        assert exact(float(value)) == value
        assert exact(f"{float(value):.8f}") == value


@given(st.fractions(-30, 30, max_denominator=10**9), st.sampled_from([1e-1, 1e-2, 1e-3]))
def test_no_fraction_as_near_has_a_smaller_denominator(value: Fraction, tolerance: float) -> None:
    simplest = exact(value, tolerance)
    near = Fraction(tolerance)
    assert abs(simplest - value) <= near
    for denominator in range(1, simplest.denominator):
        closest = Fraction(round(value * denominator), denominator)
        assert abs(closest - value) > near, (closest, simplest)


@pytest.mark.parametrize(
    "decimal, value",
    [
        (0.3333333, Fraction(1, 3)),
        (-0.6666667, Fraction(-2, 3)),
        ("0.125", Fraction(1, 8)),
        ("1/3", Fraction(1, 3)),
        (Fraction(22, 7), Fraction(22, 7)),
        (-0.0, Fraction(0)),
        (123456.0000005, Fraction(123456)),
        (1e-9, Fraction(0)),
    ],
)
def test_exact(decimal: float | str | Fraction, value: Fraction) -> None:
    assert exact(decimal) == value


@pytest.mark.parametrize("decimal", [nan, inf, -inf, "nan", "seven", "", None, "1/0"])
def test_no_number_is_refused(decimal: object) -> None:
    with pytest.raises(SemanticsError, match="is no number with an exact value; leave examples with"):
        exact(decimal)
