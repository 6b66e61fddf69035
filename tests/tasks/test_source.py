"""Where the data of a task come from, and how they are divided."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngs.errors import DataError, NGSError
from ngs.tasks.clevr.packed import load as load_questions
from ngs.tasks.hwf.packed import load as load_formulas
from ngs.tasks.source import dealt

KINDS = st.lists(st.integers(0, 3), max_size=60).map(lambda kinds: np.array(kinds, dtype=np.int64))
SHARES = st.floats(0, 1)


@given(KINDS, SHARES, st.integers(0, 100), st.integers(0, 2))
def test_each_kind_is_dealt_by_the_same_share(kinds, share, seed, at_least) -> None:
    part, rest = dealt(kinds, share, seed, at_least=at_least)
    assert sorted([*part, *rest]) == list(range(len(kinds)))
    assert (np.diff(part) > 0).all() and (np.diff(rest) > 0).all()
    for kind in range(4):
        count = int((kinds == kind).sum())
        wanted = max(round(share * count), at_least if share > 0 else 0)
        assert (kinds[part] == kind).sum() == min(wanted, count)
    again, _ = dealt(kinds, share, seed, at_least=at_least)
    assert again.tolist() == part.tolist()


@given(KINDS, SHARES, SHARES, st.integers(0, 100))
def test_a_smaller_share_is_part_of_a_larger(kinds, one, other, seed) -> None:
    """So that curves over the number of examples add examples, and change none."""
    smaller, larger = (set(dealt(kinds, share, seed)[0].tolist()) for share in sorted((one, other)))
    assert smaller <= larger


def test_another_seed_deals_others() -> None:
    kinds = np.zeros(100, dtype=np.int64)
    assert dealt(kinds, 0.5, 0)[0].tolist() != dealt(kinds, 0.5, 1)[0].tolist()


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_is_from_0_to_1(share) -> None:
    with pytest.raises(NGSError, match=f"the share is {share}; it must be from 0 to 1"):
        dealt(np.zeros(3, dtype=np.int64), share, 0)


@pytest.mark.parametrize("load", [load_formulas, load_questions])
def test_what_is_no_packed_file_says_what_to_do(load, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere: there is no such file; give 'embedded' or what `ngs data"):
        load("nowhere")
    with pytest.raises(DataError, match=f"{tmp_path} is not packed yet; first `ngs data import {tmp_path}`"):
        load(str(tmp_path))
