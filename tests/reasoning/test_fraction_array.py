"""Arrays of fractions against fractions one by one."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from operator import add, mul, sub, truediv

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ngs import UNDEFINED
from ngs.reasoning.fraction_array import LIMIT, FractionArray
from ngs.reasoning.operation import Operation, Value

OPERATIONS = [add, sub, mul, truediv]
LARGEST = LIMIT - 1

small = st.fractions(-5, 5, max_denominator=4)
large = st.builds(Fraction, st.integers(-LARGEST, LARGEST), st.integers(1, LARGEST))
values = st.lists(small | large | st.just(UNDEFINED), max_size=5)
small_values = st.lists(small | st.just(UNDEFINED), min_size=1, max_size=6)


def array_of(values: list[Value]) -> FractionArray:
    array = FractionArray.of(values)
    assert array is not None
    return array


def is_large(value: Value) -> bool:
    return value is not UNDEFINED and max(abs(value.numerator), value.denominator) >= LIMIT


def all_pairs(
    function: Callable[..., Value], lefts: list[Value], rights: list[Value]
) -> tuple[list[Value], np.ndarray]:
    different, numbers = function(array_of(lefts).along(0), array_of(rights).along(1)).distinct()
    return list(different), numbers


@given(st.sampled_from(OPERATIONS), values, values)
@example(add, [Fraction(LARGEST)], [Fraction(0)])
@example(add, [Fraction(LARGEST)], [Fraction(1)])
@example(mul, [Fraction(LARGEST, LARGEST - 1)], [Fraction(LARGEST - 1, LARGEST - 2)])
@example(add, [Fraction(1, LARGEST)], [Fraction(-LARGEST, LARGEST - 1)])
@example(sub, [Fraction(LARGEST, LARGEST - 1)], [Fraction(-LARGEST, LARGEST - 2)])
@example(truediv, [Fraction(1), UNDEFINED], [Fraction(0), Fraction(-LARGEST), UNDEFINED])
def test_all_pairs_are_those_of_python_or_one_of_them_is_too_large(
    function: Callable[..., Value], lefts: list[Value], rights: list[Value]
) -> None:
    operation = Operation(function.__name__, function)
    wanted = [operation.apply(a, b) for a, b in product(lefts, rights)]
    if any(map(is_large, wanted)):
        with pytest.raises(OverflowError, match=f"is {LIMIT} or more"):
            all_pairs(function, lefts, rights)
        return
    different, numbers = all_pairs(function, lefts, rights)
    assert numbers.shape == (len(lefts), len(rights))
    assert [different[k] for k in numbers.ravel()] == wanted
    assert different == list(dict.fromkeys(wanted))  # each once, in the order in which they appear
    assert all(type(value) is Fraction or value is UNDEFINED for value in different)


CHAINS = [
    lambda a, b: (a - b) * (a + b) / (a * a + b),
    lambda a, b: (a + b) / 2,
    lambda a, b: 2 * a * b + 1,
    lambda a, b: -a + b - Fraction(2, 3),
    lambda a, b: 1 - a * (1 / b),
    lambda a, b: 0 * a / b,
]


@settings(max_examples=400)
@given(st.sampled_from(CHAINS), small_values, small_values)
def test_operations_can_be_chained(
    chain: Callable[..., Value], lefts: list[Value], rights: list[Value]
) -> None:
    different, numbers = all_pairs(chain, lefts, rights)
    wanted = [Operation("chain", chain).apply(a, b) for a, b in product(lefts, rights)]
    assert [different[k] for k in numbers.ravel()] == wanted


def test_constants_that_do_not_fit_are_refused() -> None:
    array = array_of([Fraction(1)])
    with pytest.raises(OverflowError, match=f"{LIMIT} is too large"):
        array * LIMIT
    with pytest.raises(TypeError, match=r"0\.5 is neither a fraction nor a FractionArray"):
        0.5 + array


@pytest.mark.parametrize("predicate", [bool, lambda array: array == array, lambda array: array != 0])
def test_an_array_is_neither_true_nor_equal(predicate: Callable[[FractionArray], object]) -> None:
    with pytest.raises(TypeError, match="has no truth"):
        predicate(array_of([Fraction(1), Fraction(2)]))


@pytest.mark.parametrize(
    "value",
    [1, 0.5, "1", True, (1,), None, Fraction(LIMIT), Fraction(-LIMIT), Fraction(1, LIMIT)],
    ids=repr,
)
def test_what_is_no_small_fraction_makes_no_array(value: Value) -> None:
    assert FractionArray.of([Fraction(1), value]) is None
