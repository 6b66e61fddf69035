"""Intervals of shares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngs.tasks.report.shares import wilson


@given(st.integers(1, 1000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_the_interval_ends_where_the_share_is_z_errors_away(counts: tuple[int, int]) -> None:
    right, of = counts
    low, high = wilson(right, of)
    assert 0 <= low <= right / of + 1e-12 and right / of - 1e-12 <= high <= 1
    for end in (low, high):
        if 1e-9 < end < 1 - 1e-9:
            error = (end * (1 - end) / of) ** 0.5
            assert abs(right / of - end) == pytest.approx(1.959964 * error, abs=1e-9)
