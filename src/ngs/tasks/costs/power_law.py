"""How one quantity grows with another: the exponent of a power, by least squares of logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt
from statistics import linear_regression, variance
from typing import NamedTuple

from ngs.errors import NGSError


class PowerLaw(NamedTuple):
    """y = constant * x ** exponent"""

    exponent: float
    standard_error: float | None
    """of the exponent; None of two points, which tell nothing about it"""
    constant: float


def power_law(x: Sequence[float], y: Sequence[float]) -> PowerLaw:
    """The line a + b u through the points (u, v) = (log x, log y) with the least squares, and

        se(b)^2 = sum of (v - a - b u)^2 / ((n - 2) S_uu),    S_uu the sum of (u - mean u)^2

    The errors of v count as independent and alike, so the
    standard error says how well a power fits these points, and nothing about x beyond them.

    >>> law = power_law([1, 2, 4], [3, 12, 48])
    >>> round(law.exponent, 9), round(law.constant, 9)
    (2.0, 3.0)
    """
    if len(x) != len(y) or len(set(x)) < 2:
        raise NGSError(
            f"a power is fitted to {len(x)} and {len(y)} values with {len(set(x))} different x; give as many "
            f"y as x, and at least 2 different x"
        )
    if not all(value > 0 for value in (*x, *y)):
        raise NGSError(f"the smallest x is {min(x)}, the smallest y {min(y)}; powers need positive values")
    u, v = [log(value) for value in x], [log(value) for value in y]
    exponent, offset = linear_regression(u, v)
    left_over = sum((b - offset - exponent * a) ** 2 for a, b in zip(u, v, strict=True))
    freedom = len(x) - 2
    error = sqrt(left_over / freedom / (len(x) - 1) / variance(u)) if freedom else None
    return PowerLaw(exponent, error, exp(offset))
