"""Memory of a server: what a request needed goes back to the system.

A training keeps all it ever had (`ngs.apps`): it needs the same again in the next step. A server would keep
the most that was ever needed, in each of its threads: with a few visitors who learn, a gigabyte and more.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # the numbers of mallopt's parameters in malloc.h
LARGE = 2**17
"""Bytes from which on a piece of memory is had from the system alone, and given back at once."""
UNUSED = 2**25
"""Bytes that are kept for what comes next."""


def give_back() -> None:
    """Before there are threads: one heap for all, and no more of it than is used."""
    with suppress(AttributeError, OSError, TypeError):  # another C library
        libc = ctypes.CDLL(None)
        libc.mallopt(_ARENA_MAX, 1)
        libc.mallopt(_MMAP_THRESHOLD, LARGE)
        libc.mallopt(_TRIM_THRESHOLD, UNUSED)
