"""The words of a question."""

from __future__ import annotations

import re

_WORD = re.compile(r"[a-z0-9'-]+|[;,]")


def words_of(text: str) -> tuple[str, ...]:
    """Lower case, without the final mark; `;` and `,` are words, since they separate clauses.

    >>> words_of("There is a cube; what color is it?")
    ('there', 'is', 'a', 'cube', ';', 'what', 'color', 'is', 'it')
    """
    return tuple(_WORD.findall(text.lower()))
