"""Exponents: exact on exact powers, with the textbook's standard error, and never of what has none."""

from __future__ import annotations

import numpy as np
import pytest

from ngs.errors import NGSError
from ngs.tasks.costs.step_cost import power_law


@pytest.mark.parametrize("exponent", [-1.5, 0.0, 1.0, 3.0])
@pytest.mark.parametrize("constant", [1e-4, 7.0])
def test_exact_powers_are_found_exactly(exponent: float, constant: float) -> None:
    x = [1, 3, 5, 7, 20]
    law = power_law(x, [constant * n**exponent for n in x])
    assert law.exponent == pytest.approx(exponent, abs=1e-12)
    assert law.constant == pytest.approx(constant, rel=1e-12)
    assert law.standard_error == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_linear_algebra(seed: int) -> None:
    random = np.random.default_rng(seed)
    x = random.integers(1, 100, size=12)
    y = 0.1 * x**1.7 * np.exp(0.2 * random.standard_normal(12))
    (slope, intercept), covariance = np.polyfit(np.log(x), np.log(y), 1, cov=True)
    law = power_law(x.tolist(), y.tolist())
    assert law.exponent == pytest.approx(slope)
    assert law.constant == pytest.approx(np.exp(intercept))
    assert law.standard_error == pytest.approx(np.sqrt(covariance[0, 0]))


def test_the_standard_error_covers_the_truth() -> None:
    random = np.random.default_rng(0)
    x = [1, 2, 4, 8, 16, 32, 64, 128]
    within = 0
    for _ in range(400):
        law = power_law(x, [n**1.5 * np.exp(0.3 * random.standard_normal()) for n in x])
        assert law.standard_error is not None
        within += abs(law.exponent - 1.5) < 2.45 * law.standard_error  # 95% of Student's t, 6 degrees
    assert 0.92 <= within / 400 <= 0.98


def test_two_points_have_an_exponent_and_no_error() -> None:
    law = power_law([2, 4], [1, 8])
    assert law.exponent == pytest.approx(3)
    assert law.standard_error is None


@pytest.mark.parametrize(
    ("x", "y", "told"),
    [
        ([], [], "0 different x"),
        ([3], [1.0], "1 different x"),
        ([3, 3, 3], [1.0, 2.0, 3.0], "1 different x"),
        ([1, 2], [1.0], "2 and 1 values"),
        ([0, 2], [1.0, 2.0], "smallest x is 0"),
        ([1, 2], [-1.0, 2.0], "smallest y -1.0"),
        ([1, 2], [0.0, 2.0], "smallest y 0.0"),
        ([1, 2], [float("nan"), 2.0], "positive"),
    ],
)
def test_what_has_no_exponent_is_refused(x: list[float], y: list[float], told: str) -> None:
    with pytest.raises(NGSError, match=told):
        power_law(x, y)
