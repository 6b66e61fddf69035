"""The values of all pairs of parts at once, where a function works on arrays as it does on single values."""

from collections.abc import Callable, Sequence
from typing import Protocol, Self, TypeVar

import numpy as np

from ngs.errors import SemanticsError
from ngs.grammar.normal_form import Step, Suffix
from ngs.parsing.tables import Combined, Indices
from ngs.reasoning.operation import UNDEFINED, Value, check_value
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

    UNDEFINED may be among these. On an OverflowError it is called with single values instead.
    """

    def attach(function: Function) -> Function:
        # with the function itself: `functools.wraps` copies attributes to functions that do something else
        function.__elementwise__ = kind, function  # type: ignore[attr-defined]
        return function

    return attach


def at_once(
    algebra: Interpretation, step: Step, lefts: Sequence[Value], rights: Sequence[Value]
) -> Combined | None:
    """What `step.combine` gives for all pairs.

    None if the function is not `elementwise`, cannot take these values, or is not all that the step does.
    """
    if not step.productions:
        return None
    *outer, production = step.productions
    rule, renamed = production.rule, all(each.rule.renames for each in outer)
    inlined = any(getattr(rule.body[place], "inlined", False) for place in rule.arguments)
    if rule.function is None or not rule.arguments or production.empties or inlined or not renamed:
        return None
    operation = algebra.operation(rule.function)
    kind = _kind_of(operation.function)
    if kind is None:
        return None
    arguments: list[ValueArray] = []
    undefined = np.zeros((len(lefts), len(rights)), dtype=bool)
    parts = [lefts, *(zip(*rights, strict=True) if isinstance(step.right, Suffix) else [rights])]
    for place in rule.arguments:
        values = [algebra.value(part) for part in parts[place]]
        array = kind.of(values)
        if array is None:
            return None
        axis = min(place, 1)
        arguments.append(array.along(axis))
        undefined |= np.expand_dims([value is UNDEFINED for value in values], 1 - axis)
    try:
        different, numbers = operation.function(*arguments).distinct()
    except OverflowError:
        return None
    except Exception as error:  # once, at the edge: the user sees their own function
        raise SemanticsError(
            f"{operation.name} is declared elementwise, and called with {kind.__name__} it raised "
            f"{type(error).__name__}: {error}; compute with what these arrays offer, or drop the declaration"
        ) from error
    for value in different:
        check_value(value, lambda: f"a value of {operation.name}, called with {kind.__name__},")
    numbers = np.broadcast_to(numbers, undefined.shape)  # a function need not look at all its arguments
    if any(different[number] is not UNDEFINED for number in set(numbers[undefined].tolist())):
        return None  # undefined in, undefined out is not for functions to say
    return different, numbers


def _kind_of(function: Callable[..., Value]) -> type[ValueArray] | None:
    kind, declared = getattr(function, "__elementwise__", (None, None))
    return kind if declared is getattr(function, "__func__", function) else None
