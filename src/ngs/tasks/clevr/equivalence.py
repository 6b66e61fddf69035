"""Programs that mean the same in every scene, by one form for all of them.

Filters of one object commute, and do nothing twice; so do the branches of `union`, `intersect`, and of what
asks whether two things are equal. A filter of an intersection may as well filter either branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ngs.tasks.clevr.execution import NO_OBJECTS, Step, modules, trace

SYMMETRIC = frozenset(
    name for name in modules() if name in ("union", "intersect") or name.startswith("equal_")
)


class Form(NamedTuple):
    """A module with the filters before it, in alphabetical order, and the forms of its arguments."""

    filters: tuple[str, ...]
    module: str
    arguments: tuple[Form, ...] = ()


def equivalent(one: Sequence[str], other: Sequence[str]) -> bool:
    return normal(one) == normal(other)


def normal(program: Sequence[str]) -> Form:
    """The form that all equivalent programs have; ParseError for what is no whole program.

    >>> normal(("count", "filter_color[red]", "scene")).arguments
    (Form(filters=('filter_color[red]',), module='scene', arguments=()),)
    """
    return _form(trace(program, NO_OBJECTS))


def _form(step: Step) -> Form:
    filters: set[str] = set()
    while step.module.startswith("filter_"):
        filters.add(step.module)
        (step,) = step.arguments
    arguments = [_form(argument) for argument in step.arguments]
    if step.module == "intersect":
        filters.update(name for argument in arguments for name in argument.filters)
        arguments = [argument._replace(filters=()) for argument in arguments]
    if step.module in SYMMETRIC:
        arguments.sort()
    return Form(tuple(sorted(filters)), step.module, tuple(arguments))
