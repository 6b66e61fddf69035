"""The grammar of arithmetic (Li et al. 2020), ready to use."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from ngs.grammar.grammar import Grammar


@cache
def arithmetic() -> Grammar:
    """Return the grammar of sums and products over the digits 0-9.

    >>> arithmetic().symbols[:4]
    ('+', '-', '*', '/')
    """
    return Grammar.parse(files("ngs.grammar").joinpath("data", "arithmetic.lark").read_text(encoding="utf-8"))
