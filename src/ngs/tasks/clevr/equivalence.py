"""Programs that mean the same in every scene, by one form for all of them.

Filters of one object commute, and do nothing twice; so do the branches of `union`, `intersect`, and of what
asks whether two things are equal. A filter of an intersection may as well filter either branch.
"""

from __future__ import annotations

from collections.abc import Sequence

from ngs.tasks.clevr.execution import NO_OBJECTS, Step, modules, trace

SYMMETRIC = frozenset(
    name for name in modules() if name in ("union", "intersect") or name.startswith("equal_")
)

Form = tuple["str | Form", ...]
"""The filters before a module in alphabetical order, the module, and the forms of its arguments."""


def equivalent(one: Sequence[str], other: Sequence[str]) -> bool:
    return normal(one) == normal(other)


def normal(program: Sequence[str]) -> Form:
    """The form that all equivalent programs have; ParseError for what is no whole program.

    >>> normal(("count", "filter_color[red]", "scene"))
    ((), 'count', (('filter_color[red]',), 'scene'))
    """
    return _form(trace(program, NO_OBJECTS))


def _form(step: Step) -> Form:
    filters: set[str] = set()
    while step.module.startswith("filter_"):
        filters.add(step.module)
        (step,) = step.arguments
    arguments = [_form(argument) for argument in step.arguments]
    if step.module == "intersect":
        filters.update(name for own, *_ in arguments for name in own)
        arguments = [((), *rest) for _, *rest in arguments]
    if step.module in SYMMETRIC:
        arguments.sort(key=repr)
    return (tuple(sorted(filters)), step.module, *arguments)
