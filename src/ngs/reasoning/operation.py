"""Operations that also run backwards; undefined is a value of its own."""

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import partial
from math import isfinite
from typing import Any, TypeVar

import numpy as np
from torch import Tensor

from ngs.errors import SemanticsError, ShapeError

Value = Any  # any hashable Python value, or UNDEFINED

SOUND = frozenset([bool, int, str, Fraction])
"""Types of values that need no check: they are hashable, and never NaN or infinite."""


class Special(Enum):
    """The two values that are not a user's own."""

    UNDEFINED = "undefined"
    """What a function has no answer for: 1 / 0, the unique object of two. Undefined in, undefined out."""
    ANY = "any value"  # What an inverse returns when every argument will do: 0 * ? = 0.

    def __repr__(self) -> str:
        return self.name


UNDEFINED, ANY = Special.UNDEFINED, Special.ANY

Expected = frozenset[Value] | Special  # the values a node would have to have: a set, or ANY


def is_expected(value: Value, expected: Expected) -> bool:
    return isinstance(expected, Special) or value in expected


@dataclass(frozen=True)
class OneOf:
    """Several answers of one inverse.

    >>> @inverses(lambda target: OneOf([target**0.5, -(target**0.5)]))
    ... def square(x):
    ...     return x * x
    """

    values: Collection[Value]


def check_answers(answers: Sequence[Value], batch: int) -> None:
    """Refuse anything but one proper answer for each example."""
    if not isinstance(answers, Sequence) or isinstance(answers, str):
        raise ShapeError(f"the answers are {answers!r}; give a list with one for each example of the batch")
    if len(answers) != batch:
        raise ShapeError(f"{len(answers)} answers for a batch of {batch}; give one for each example")
    for answer in answers:
        check_answer(answer)


def check_answer(answer: Value) -> None:
    """Refuse an answer no program could be meant to give."""
    if isinstance(answer, Special) or _is_not_finite(answer):
        raise SemanticsError(f"the answer is {answer!r}; leave examples without a defined answer out")
    if isinstance(answer, Tensor):
        raise SemanticsError(
            f"the answer is a tensor ({answer!r}), which equals no value; give plain values: `.tolist()`"
        )
    if not is_hashable(answer):
        raise SemanticsError(
            f"the answer {answer!r} is not hashable; give a number, string, tuple or frozenset"
        )


Function = TypeVar("Function", bound=Callable[..., Value])


def inverses(*solvers: Callable[..., Value] | None) -> Callable[[Function], Function]:
    """Return a decorator that attaches inverses to a function: solver i gives argument i.

    Solver i is called with (target, *other arguments). It returns all solutions: one, `OneOf` several, ANY,
    or UNDEFINED (or divides by zero) when there is none. Running the function forwards drops those that do
    not fit. None means that an argument has no inverse.

    >>> @inverses(lambda target, b: target - b, lambda target, a: target - a)
    ... def add(a, b):
    ...     return a + b
    """

    def attach(function: Function) -> Function:
        function.__inverses__ = solvers  # type: ignore[attr-defined]
        return function

    return attach


@dataclass(frozen=True)
class Operation:
    """A named function with an optional inverse for each argument."""

    name: str
    function: Callable[..., Value]
    solvers: Sequence[Callable[..., Value] | None] = ()

    def apply(self, *arguments: Value) -> Value:
        """The function's value; UNDEFINED if an argument is, or if it divides by zero."""
        if _has_undefined(arguments):
            return UNDEFINED
        value = _call(self.name, self.function, arguments)
        if type(value) not in SOUND:
            check_value(value, partial(_shown, self.name, arguments))
        return value

    def invertible(self, hole: int) -> bool:
        return hole < len(self.solvers) and self.solvers[hole] is not None

    def solve(self, target: Expected, hole: int, arguments: Sequence[Value]) -> Expected:
        """The values at `hole` for which the function gives a value in `target`.

        `solve` of Algorithm 1 (Li et al. 2020); the value now at `arguments[hole]` plays no role.
        """
        others = (*arguments[:hole], *arguments[hole + 1 :])
        if _has_undefined(others):
            return frozenset()
        if isinstance(target, Special):
            return ANY
        solver = self.solvers[hole]
        assert solver is not None, "ask `invertible` first"
        found: set[Value] = set()
        for value in target:
            name, given = f"the inverse of {self.name}", (value, *others)
            answer = _call(name, solver, given)
            if answer is ANY:
                return Special.ANY
            parts = answer.values if isinstance(answer, OneOf) else (answer,)
            for part in parts:
                _check_sound(part, partial(_shown, name, given))
            found.update(parts)
        return self.fitting(found, target, hole, arguments)

    def fitting(
        self, candidates: Iterable[Value], target: Expected, hole: int, arguments: Sequence[Value]
    ) -> frozenset[Value]:
        """Those of `candidates` that, put at `hole`, make the function's value one of `target`."""
        pairs = ((v, self.apply(*arguments[:hole], v, *arguments[hole + 1 :])) for v in candidates)
        return frozenset(v for v, made in pairs if made is not UNDEFINED and is_expected(made, target))


def _has_undefined(values: Sequence[Value]) -> bool:
    """By identity: `in` would ask every value whether it equals UNDEFINED, which takes fractions a while."""
    return id(UNDEFINED) in map(id, values)


def _call(name: str, function: Callable[..., Value], arguments: Sequence[Value]) -> Value:
    try:
        return function(*arguments)
    except ZeroDivisionError:
        return UNDEFINED
    except Exception as error:  # once, at the edge: the user sees their own call
        hint = "return ngs.UNDEFINED for arguments that have no value"
        if any(isinstance(argument, str) for argument in arguments):
            hint += "; a symbol is its own name unless you write `symbol = int`, say"
        raise failed(_shown(name, arguments), error, function, arguments, hint) from error


def failed(
    call: str, error: Exception, function: Callable[..., Any], arguments: Sequence[Any], hint: str
) -> SemanticsError:
    """What to say of a call that raised an error, with a hint for functions that take such arguments."""
    signature = misfit(function, arguments)
    if signature is not None:
        hint = f"it takes {signature}: let it take the {len(arguments)} arguments that the grammar gives it"
        if "self" in signature.parameters:
            hint = "functions of a semantics take no `self`; leave it out, or pass an instance of the class"
    return SemanticsError(f"{call} raised {type(error).__name__}: {error}; {hint}")


def misfit(function: Callable[..., Any], arguments: Sequence[Any]) -> inspect.Signature | None:
    """The signature of a function that cannot take so many arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None  # no function, or a built-in without a signature
    try:
        signature.bind(*arguments)
    except TypeError:
        return signature
    return None


def check_value(value: Value, call: Callable[[], str]) -> None:
    """Refuse what no function may return; `call` says which call returned it."""
    if value is ANY or isinstance(value, OneOf):
        raise SemanticsError(
            f"{call()} is {value!r}, which only an inverse may return; return one value, or ngs.UNDEFINED"
        )
    _check_sound(value, call)


def _check_sound(value: Value, call: Callable[[], str]) -> None:
    if type(value) in SOUND:
        return
    if _is_not_finite(value):
        raise SemanticsError(f"{call()} is {value!r}; return ngs.UNDEFINED instead")
    if isinstance(value, Tensor) or not is_hashable(value):
        raise SemanticsError(
            f"{call()} is {value!r}, which cannot be looked up; return a number, string, tuple or frozenset"
        )


def _is_not_finite(value: Value) -> bool:
    return isinstance(value, (float, np.floating)) and not isfinite(value)


def is_hashable(value: Value) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _shown(name: str, arguments: Sequence[Value]) -> str:
    return f"{name}({', '.join(map(repr, arguments))})"
