"""Programs that mean the same in every scene, by one form for all of them.

Filters of one object commute, and do nothing twice; so do the branches of `union`, `intersect`, and of what
asks whether two things are equal. A filter of an intersection may as well filter either branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ngs.errors import ParseError
from ngs.tasks.clevr.execution import modules

SYMMETRIC = frozenset(
    name for name in modules() if name in ("union", "intersect") or name.startswith("equal_")
)

Form = tuple["str | frozenset[str] | Form", ...]
"""A module with the forms of its arguments; or, first, the filters that stand before it."""


def equivalent(one: Sequence[str], other: Sequence[str]) -> bool:
    return normal(one) == normal(other)


def normal(program: Sequence[str]) -> Form:
    """The form that all equivalent programs have; ParseError for what is no whole program.

    >>> normal(("count", "filter_color[red]", "scene"))
    ('count', (frozenset({'filter_color[red]'}), 'scene'))
    """
    rest = iter(program)
    try:
        form = _read(rest)
    except StopIteration:
        raise ParseError(
            f"the program {' '.join(program)!r} ends before it is complete; give every module its arguments"
        ) from None
    except KeyError as unknown:
        raise ParseError(
            f"the program {' '.join(program)!r} has {unknown}, which is no module; give one of "
            f"{', '.join(modules())}"
        ) from None
    for module in rest:
        raise ParseError(
            f"the program {' '.join(program)!r} is complete before `{module}`; leave out what is behind"
        )
    return form


def _read(rest: Iterator[str]) -> Form:
    filters: set[str] = set()
    module = next(rest)
    while module.startswith("filter_"):
        filters.add(module)
        module = next(rest)
    arguments = [_read(rest) for _ in modules()[module].takes]
    if module == "intersect":
        arguments = [_unfiltered(argument, filters) for argument in arguments]
    if module in SYMMETRIC:
        arguments.sort(key=_shown)
    return (*([frozenset(filters)] if filters else []), module, *arguments)


def _unfiltered(form: Form, filters: set[str]) -> Form:
    """The form of a branch without its own filters, which go to `filters`."""
    if isinstance(form[0], frozenset):
        filters |= form[0]
        return form[1:]
    return form


def _shown(form: Form) -> str:
    """Any order will do, as long as it depends on nothing but the form."""
    return repr([sorted(part) if isinstance(part, frozenset) else part for part in _flat(form)])


def _flat(form: Form) -> Iterator[str | frozenset[str]]:
    for part in form:
        if isinstance(part, tuple):
            yield "("
            yield from _flat(part)
            yield ")"
        else:
            yield part
