"""Many fractions at once: what `Fraction` does with two, NumPy does with all pairs of two lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Never, Self

import numpy as np

from ngs.parsing.tables import Indices
from ngs.reasoning.operation import UNDEFINED, Value

LIMIT = 2**31
"""Above every numerator and denominator: a sum of two products of such numbers fits into 64 bits."""


@dataclass(frozen=True, eq=False)
class FractionArray:
    """Fractions in lowest terms, UNDEFINED among them as 0/0.

    By the rules for fractions, undefined values stay so: 0/0 + a/b = (0 b + a 0) / (0 b) = 0/0, and
    a/b : 0/1 = a/0 is reduced to 0/0.
    """

    numerators: Indices
    denominators: Indices

    @classmethod
    def of(cls, values: Sequence[Value]) -> Self | None:
        """None where one of the values is neither a small fraction nor UNDEFINED."""
        pairs = []
        for value in values:
            if value is UNDEFINED:
                pairs.append((0, 0))
            elif type(value) is Fraction and abs(value.numerator) < LIMIT > value.denominator:
                pairs.append((value.numerator, value.denominator))
            else:
                return None
        numerators, denominators = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return cls(numerators, denominators)

    def along(self, axis: int) -> FractionArray:
        shape = (-1, 1) if axis == 0 else (1, -1)
        return FractionArray(self.numerators.reshape(shape), self.denominators.reshape(shape))

    def __eq__(self, other: object) -> Never:
        raise TypeError("a FractionArray has no truth: its elements differ")

    def __bool__(self) -> Never:
        raise TypeError("a FractionArray has no truth: its elements differ")

    def __neg__(self) -> FractionArray:
        return FractionArray(-self.numerators, self.denominators)

    def __add__(self, other: FractionArray | Rational) -> FractionArray:
        other = _array(other)
        return _reduced(
            self.numerators * other.denominators + other.numerators * self.denominators,
            self.denominators * other.denominators,
        )

    def __mul__(self, other: FractionArray | Rational) -> FractionArray:
        other = _array(other)
        return _reduced(self.numerators * other.numerators, self.denominators * other.denominators)

    def __truediv__(self, other: FractionArray | Rational) -> FractionArray:
        other = _array(other)
        return _reduced(self.numerators * other.denominators, self.denominators * other.numerators)

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other: FractionArray | Rational) -> FractionArray:
        return self + -_array(other)

    def __rsub__(self, other: Rational) -> FractionArray:
        return _array(other) - self

    def __rtruediv__(self, other: Rational) -> FractionArray:
        return _array(other) / self

    def distinct(self) -> tuple[list[Value], Indices]:
        """The values in the order in which they first appear, and for each element which it is."""
        keys = self.numerators * LIMIT + self.denominators
        _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        places = first[order]
        pairs = zip(self.numerators.flat[places], self.denominators.flat[places], strict=True)
        values = [Fraction(int(n), int(d)) if d else UNDEFINED for n, d in pairs]
        return values, rank[number].reshape(keys.shape)


def _array(value: FractionArray | Rational) -> FractionArray:
    if isinstance(value, FractionArray):
        return value
    if not isinstance(value, Rational):
        raise TypeError(f"{value!r} is neither a fraction nor a FractionArray")
    array = FractionArray.of([Fraction(value)])
    if array is None:
        raise OverflowError(f"{value} is too large for a FractionArray")
    return array.along(0)


def _reduced(numerators: Indices, denominators: Indices) -> FractionArray:
    """In lowest terms; an OverflowError where they are too large to go on with."""
    common = np.gcd(numerators, denominators)
    common[common == 0] = 1
    common[denominators < 0] *= -1
    numerators, denominators = numerators // common, denominators // common
    numerators[denominators == 0] = 0
    if max(np.abs(numerators).max(initial=0), denominators.max(initial=0)) >= LIMIT:
        raise OverflowError(f"a numerator or denominator is {LIMIT} or more")
    return FractionArray(numerators, denominators)
