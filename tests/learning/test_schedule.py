"""Learning rates: where they begin and end, and which way they go in between."""

from itertools import pairwise

import pytest

from ngs.learning.schedule import constant, late_decay, one_cycle

DONE = [k / 200 for k in range(201)]


def test_the_constant_rate_is_constant() -> None:
    assert {constant(done) for done in DONE} == {1.0}


@pytest.mark.parametrize("warm_up, start, end", [(0.25, 0.04, 1e-4), (0.5, 0.1, 0.2)])
def test_one_cycle_goes_up_and_then_down(warm_up: float, start: float, end: float) -> None:
    rates = [one_cycle(done, warm_up, start, end) for done in DONE]
    top = DONE.index(warm_up)
    assert rates[0] == pytest.approx(start)
    assert rates[top] == pytest.approx(1.0)
    assert rates[-1] == pytest.approx(end)
    assert all(a < b for a, b in pairwise(rates[: top + 1]))
    assert all(a > b for a, b in pairwise(rates[top:]))


def test_one_cycle_without_warm_up_only_falls_and_stays_at_its_end() -> None:
    assert one_cycle(0.0, warm_up=0.0) == 1.0
    assert one_cycle(1.0, warm_up=0.0) == pytest.approx(1e-4)
    assert one_cycle(1.5) == one_cycle(1.0)


def test_late_decay_stays_up_before_it_falls() -> None:
    rates = [late_decay(done, warm_up=0.1, stay=0.6) for done in DONE]
    assert 0 < rates[0] < 0.1
    assert {rates[k] for k in range(DONE.index(0.1), DONE.index(0.6))} == {1.0}
    assert all(a > b for a, b in pairwise(rates[DONE.index(0.6) :]))
    assert rates[-1] == pytest.approx(0.0)
