"""The grammars of CLEVR's programs (Li et al. 2020, supplement)."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from ngs.grammar.grammar import Grammar


@cache
def clevr() -> Grammar:
    """The paper's grammar: modules in prefix notation, each one symbol (`filter_color[red]`)."""
    return _read("clevr.lark")


@cache
def clevr_tidy() -> Grammar:
    """The same, with the filters of a noun phrase in one order and at most one per attribute."""
    return _read("clevr_tidy.lark")


def _read(name: str) -> Grammar:
    return Grammar.parse(files("ngs.tasks.clevr").joinpath("data", name).read_text(encoding="utf-8"))
