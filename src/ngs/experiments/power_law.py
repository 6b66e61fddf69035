"""How one quantity grows with another: the exponent of a power, by least squares of logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean
from typing import Any

from ngs.errors import NGSError


@dataclass(frozen=True)
class PowerLaw:
    """y = constant * x ** exponent"""

    exponent: float
    standard_error: float | None
    """of the exponent; None of two points, which tell nothing about it"""
    constant: float

    def __call__(self, x: float) -> float:
        return float(self.constant * x**self.exponent)

    def as_facts(self) -> dict[str, Any]:
        """For JSON."""
        return dict(vars(self))


def power_law(x: Sequence[float], y: Sequence[float]) -> PowerLaw:
    """The line through the points (u, v) = (log x, log y) with the least squares sum of v - (a + b u):

        b = S_uv / S_uu,    a = mean v - b mean u,    se(b)^2 = (S_vv - b S_uv) / ((n - 2) S_uu)

    where S_uv is the sum of (u - mean u)(v - mean v). The errors of v count as independent and alike, so the
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
    mean_u, mean_v = fmean(u), fmean(v)
    s_uu = sum((a - mean_u) ** 2 for a in u)
    exponent = sum((a - mean_u) * (b - mean_v) for a, b in zip(u, v, strict=True)) / s_uu
    left_over = sum((b - mean_v - exponent * (a - mean_u)) ** 2 for a, b in zip(u, v, strict=True))
    error = sqrt(left_over / (len(x) - 2) / s_uu) if len(x) > 2 else None
    return PowerLaw(exponent, error, exp(mean_v - exponent * mean_u))
