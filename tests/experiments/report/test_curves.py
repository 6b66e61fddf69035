"""Curves show what was recorded."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngs.experiments.report.curves import POINTS, Axis, Chart, Curve, charts, curve

NUMBERS = st.floats(-1e6, 1e6)


def test_long_curves_are_thinned_by_means() -> None:
    chance = random.Random(0)
    rows = [{"step": k, "loss": chance.random()} for k in range(10 * POINTS)]
    thin = curve("loss", rows, "step", "loss")
    assert len(thin.x) == POINTS
    assert thin.x[0] == 4.5
    assert thin.y[0] == pytest.approx(sum(row["loss"] for row in rows[:10]) / 10)


def test_charts_show_what_was_recorded() -> None:
    score = {"calculation": 0.5, "formula": None, "symbol": 0.75}
    rows = [
        {"step": 1, "seconds": 0.1, "lesson": "pretrain", "loss": 3.0, "learning_rate": 0.1},
        {"step": 2, "seconds": 0.2, "lesson": "mapo", "loss": -1.0, "learning_rate": 0.1, "reward": 0.2},
        {"step": 2, "seconds": 0.2, "validation": score, "test": score},
    ]
    shares = {"calculation": "answers", "formula": "formulas", "symbol": "symbols"}
    drawn = list(charts(rows, 2, shares))
    assert [chart.title for chart in drawn] == [
        *["Validation accuracy", "Test accuracy", "Training loss"] * 2,
        "Measures of the objective",
        "Learning rate",
    ]
    assert [each.name for each in drawn[0].curves] == ["answers", "symbols"]
    assert (drawn[0].time, drawn[0].moments) == ("training step", [("chosen", 2)])
    assert drawn[2].moments == [("mapo", 2)]
    assert [each.name for each in drawn[6].curves] == ["reward"]
    assert list(charts([], None, shares)) == []


@given(st.lists(st.tuples(st.floats(0, 1e7), NUMBERS), min_size=1, max_size=9))
def test_curves_stay_inside_and_the_first_is_on_top(points: list[tuple[float, float]]) -> None:
    x, y = zip(*points, strict=True)
    below, above = Chart("loss", "step", [Curve("one", x, y), Curve("two", x, y)]).lines
    assert (below[0], above[0]) == (2, 1)
    assert all(48 <= float(a) <= 348 and 18 <= float(b) <= 166 for a, b in above[1])


@given(NUMBERS, st.floats(1e-6, 1e6))
def test_ticks_are_few_round_numbers_inside(low: float, width: float) -> None:
    axis = Axis(low, low + width, 0, 100)
    ticks = list(axis.ticks)
    assert 1 <= len(ticks) <= 8
    assert all(-0.1 <= float(at) <= 100.1 for at, _ in ticks)
