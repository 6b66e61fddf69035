"""The four operations over exact fractions, with their inverses."""

from fractions import Fraction

from ngs.errors import SemanticsError
from ngs.reasoning.elementwise import elementwise
from ngs.reasoning.fraction_array import FractionArray
from ngs.reasoning.operation import ANY, Value, inverses
from ngs.reasoning.semantics import Semantics

TOLERANCE = 1e-6  # how far a decimal from a data set may be from the exact result it stands for


class Arithmetic(Semantics):
    """The meaning of arithmetic: `add`, `subtract`, `multiply` and `divide`, over exact fractions.

    Digits are their own value. Division by zero is UNDEFINED.
    """

    @staticmethod
    def symbol(name: str) -> Fraction:
        return Fraction(name)

    @staticmethod
    @inverses(lambda target, b: target - b, lambda target, a: target - a)
    @elementwise(FractionArray)
    def add(a: Fraction, b: Fraction) -> Fraction:
        return a + b

    @staticmethod
    @inverses(lambda target, b: target + b, lambda target, a: a - target)
    @elementwise(FractionArray)
    def subtract(a: Fraction, b: Fraction) -> Fraction:
        return a - b

    @staticmethod
    @inverses(lambda target, b: _quotient(target, b), lambda target, a: _quotient(target, a))
    @elementwise(FractionArray)
    def multiply(a: Fraction, b: Fraction) -> Fraction:
        return a * b

    @staticmethod
    @inverses(lambda target, b: target * b, lambda target, a: _quotient(a, target))
    @elementwise(FractionArray)
    def divide(a: Fraction, b: Fraction) -> Fraction:
        return a / b


def _quotient(a: Fraction, b: Fraction) -> Value:
    """The x with x * b = a: any, where both are zero."""
    return ANY if a == 0 == b else a / b


def exact(decimal: float | str | Fraction, tolerance: float = TOLERANCE) -> Fraction:
    """Return the fraction with the smallest denominator within `tolerance` of a decimal from a data set.

    >>> exact(0.3333333), exact(2.0)
    (Fraction(1, 3), Fraction(2, 1))
    """
    try:
        value = Fraction(decimal)
    except (ValueError, OverflowError, TypeError, ZeroDivisionError):
        raise SemanticsError(
            f"{decimal!r} is no number with an exact value; leave examples with an undefined result out"
        ) from None
    return _simplest(value - Fraction(tolerance), value + Fraction(tolerance))


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction with the smallest denominator in [low, high], down the Stern-Brocot tree."""
    if low <= 0 <= high:
        return Fraction(0)
    if high < 0:
        return -_simplest(-high, -low)
    whole = -(-low.numerator // low.denominator)  # ceiling
    if whole <= high:
        return Fraction(whole)
    return (whole - 1) + 1 / _simplest(1 / (high - whole + 1), 1 / (low - whole + 1))
