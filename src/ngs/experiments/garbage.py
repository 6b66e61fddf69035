"""Python's search for garbage, which need not look again and again at what a run keeps to its end."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def spared() -> Iterator[Callable[[], None]]:
    """No search while the body lasts goes through what exists when it begins, or when it calls what it is
    given.

    PyTorch and its optimisers alone are more than 300,000 objects. A search through all of them stops
    everything for a tenth of a second and more, for the first time within the first steps of a training.

    The process has one such state: where two bodies overlap, the end of the first ends it for both.
    """
    gc.freeze()
    try:
        yield gc.freeze
    finally:
        gc.unfreeze()  # what is frozen as Python ends is told as leaked by libraries that count their own
