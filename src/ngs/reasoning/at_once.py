"""The values of all pairs of parts at once, where a function works on arrays as it does on single values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, Self, TypeVar

import numpy as np

from ngs.grammar.normal_form import Step, Suffix
from ngs.parsing.tables import Combined, Indices
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import Interpretation


class ValueArray(Protocol):
    """Many values as one that functions can be called with."""

    @classmethod
    def of(cls, values: Sequence[Value]) -> Self | None:
        """A list as an array, None where it cannot be one."""

    def along(self, axis: int) -> Self:
        """A list as a column (axis 0) or a row (axis 1), which functions broadcast."""

    def distinct(self) -> tuple[Sequence[Value], Indices]:
        """The values in the order in which they first appear, and for each element which it is."""


Function = TypeVar("Function", bound=Callable[..., Value])


def elementwise(kind: type[ValueArray]) -> Callable[[Function], Function]:
    """Say that a function does to the elements of arrays of a `kind` what it does to single values.

    UNDEFINED may be among these; what is made of it must be UNDEFINED. By an OverflowError the function says
    that it has to be called with single values after all.
    """

    def attach(function: Function) -> Function:
        function.__elementwise__ = kind  # type: ignore[attr-defined]
        return function

    return attach


def at_once(
    algebra: Interpretation, step: Step, lefts: Sequence[Value], rights: Sequence[Value]
) -> Combined | None:
    """What `step.combine` gives for all pairs, or None: the function is not `elementwise`, or these are no
    values for it, or there is more to the step than a function and new names for its value.
    """
    if step.right is None or not step.productions:
        return None
    *outer, production = step.productions
    rule = production.rule
    renamed = all(each.rule.renames for each in outer)
    if rule.function is None or not rule.arguments or production.empties or not renamed:
        return None
    function = algebra.operation(rule.function).function
    kind: type[ValueArray] | None = getattr(function, "__elementwise__", None)
    if kind is None:
        return None
    arguments = []
    for place in rule.arguments:
        if place == 0:
            values = lefts
        else:
            values = [right[place - 1] for right in rights] if isinstance(step.right, Suffix) else rights
        array = kind.of([algebra.value(value) for value in values])
        if array is None:
            return None
        arguments.append(array.along(0 if place == 0 else 1))
    try:
        different, numbers = function(*arguments).distinct()
    except OverflowError:
        return None
    return different, np.broadcast_to(numbers, (len(lefts), len(rights)))
