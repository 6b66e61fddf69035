"""What a run keeps to its end is not searched for garbage while it lasts, and is again afterwards."""

from __future__ import annotations

import gc
from weakref import ref

import pytest

from ngs.experiments.run import spared


class Loop:
    """Garbage that only a search finds."""

    def __init__(self) -> None:
        self.itself = self


def test_what_exists_is_spared_until_the_end() -> None:
    before = gc.get_freeze_count()
    with spared() as spare:
        first = gc.get_freeze_count()
        assert first > before
        later = [Loop()]
        assert gc.get_freeze_count() == first and any(each is later for each in gc.get_objects())
        spare()
        assert gc.get_freeze_count() > first and not any(each is later for each in gc.get_objects())
    assert gc.get_freeze_count() == 0


def test_an_error_ends_it_too() -> None:
    with pytest.raises(ValueError, match="stop"), spared():
        raise ValueError("stop")
    assert gc.get_freeze_count() == 0


def test_only_what_existed_waits_for_the_end() -> None:
    existed = Loop()
    old = ref(existed)
    with spared():
        made = Loop()
        new = ref(made)
        del existed, made
        gc.collect()
        assert old() is not None and new() is None
    gc.collect()
    assert old() is None
