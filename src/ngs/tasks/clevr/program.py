"""Programs as modules in prefix notation, their grammars, and what kind of question a program answers."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files

from ngs.grammar.grammar import Grammar
from ngs.grammar.padding import PAD


@cache
def clevr() -> Grammar:
    """The paper's grammar (Li et al. 2020, supplement): each module is one symbol (`filter_color[red]`)."""
    return _read("clevr.lark")


@cache
def clevr_tidy() -> Grammar:
    """The same, with the filters of a noun phrase in one order and at most one per attribute."""
    return _read("clevr_tidy.lark")


def _read(name: str) -> Grammar:
    return Grammar.parse(files("ngs.tasks.clevr").joinpath("data", name).read_text(encoding="utf-8"))


GRAMMAR: Grammar = clevr()

MODULES: tuple[str, ...] = GRAMMAR.symbols  # the forty modules; a program's columns count them

COLUMN: Mapping[str, int] = {module: column for column, module in enumerate(MODULES)}

Program = tuple[str, ...]  # modules in prefix notation: ("count", "filter_color[red]", "scene")


def program_of(columns: Iterable[int]) -> Program:
    """The modules of some columns, without what is behind the end."""
    return tuple(MODULES[column] for column in columns if column != PAD)


class Kind(StrEnum):
    """The nine kinds of question (Johnson et al. 2017, the template files)."""

    ZERO_HOP = "zero hops"
    ONE_HOP = "one hop"
    TWO_HOP = "two hops"
    THREE_HOP = "three hops"
    SAME_RELATE = "same relate"
    COMPARISON = "comparison"
    INTEGER_COMPARISON = "integer comparison"
    AND = "and"
    OR = "or"


_SIGNS = (
    (("equal_integer", "greater_than", "less_than"), Kind.INTEGER_COMPARISON),
    (("equal_size", "equal_color", "equal_material", "equal_shape"), Kind.COMPARISON),
    (("intersect",), Kind.AND),
    (("union",), Kind.OR),
    (("same_size", "same_color", "same_material", "same_shape"), Kind.SAME_RELATE),
)
_HOPS = (Kind.ZERO_HOP, Kind.ONE_HOP, Kind.TWO_HOP, Kind.THREE_HOP)


def kind_of(modules: Iterable[str]) -> Kind:
    found = tuple(modules)
    for signs, kind in _SIGNS:
        if any(sign in found for sign in signs):
            return kind
    hops = sum(module.startswith("relate[") for module in found)
    return _HOPS[min(hops, len(_HOPS) - 1)]
