"""The grammars of the paper (Li et al. 2020, supplement), ready to use."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from ngs.grammar.grammar import Grammar


@cache
def arithmetic() -> Grammar:
    """Formulas over the digits 0-9 with + - * /; products bind tighter, equals group to the left."""
    return _read("arithmetic.lark")


@cache
def clevr() -> Grammar:
    """Programs of CLEVR modules in prefix notation, each module one symbol (`filter_color[red]`)."""
    return _read("clevr.lark")


@cache
def clevr_tidy() -> Grammar:
    """The same programs, the filters of a noun phrase in one order and at most one for each attribute."""
    return _read("clevr_tidy.lark")


def _read(name: str) -> Grammar:
    return Grammar.parse(files("ngs.grammar").joinpath("data", name).read_text(encoding="utf-8"))
