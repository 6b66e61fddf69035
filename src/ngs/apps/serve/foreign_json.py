"""JSON that somebody else wrote, made fit to be sent on: finite numbers, plain text, no great depth.

Python reads more than JSON allows (NaN, 1e999, half of a surrogate pair), and cannot write all of it again.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

DEEPEST = 6
"""Levels that are kept; below them is null."""
LARGEST = 2**63
"""Integers below it are kept."""


def parsed(text: str | bytes) -> Any:
    """The value; a ValueError where the text is damaged."""
    try:
        return _clean(json.loads(text), DEEPEST)
    except RecursionError:
        raise ValueError("its brackets are nested too deeply") from None


def _clean(value: Any, levels: int) -> Any:
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) < LARGEST else None
        case float():
            return value if isfinite(value) else None
        case str():
            return value.encode(errors="replace").decode()
        case dict() if levels:
            return {_clean(name, levels): _clean(each, levels - 1) for name, each in value.items()}
        case list() if levels:
            return [_clean(each, levels - 1) for each in value]
    return None
