"""Operations run forwards and backwards, and what they say when they cannot."""

from collections.abc import Callable
from fractions import Fraction
from math import inf, nan

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from ngs import ANY, UNDEFINED, OneOf, SemanticsError, inverses
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import Operation, check_answer

NAMES = ("add", "subtract", "multiply", "divide")
OPERATIONS = {name: Operation(name, (f := getattr(Arithmetic, name)), f.__inverses__) for name in NAMES}

operations = st.sampled_from([OPERATIONS[name] for name in NAMES])
holes = st.sampled_from([0, 1])
fractions = st.fractions(-20, 20, max_denominator=12)
small = st.integers(-3, 3).map(Fraction)


def put(arguments: list[Fraction], hole: int, value: Fraction) -> list[Fraction]:
    return [*arguments[:hole], value, *arguments[hole + 1 :]]


@given(operations, holes, st.one_of(fractions, small), st.one_of(fractions, small))
def test_solve_undoes_apply(operation: Operation, hole: int, a: Fraction, b: Fraction) -> None:
    target = operation.apply(a, b)
    assume(target is not UNDEFINED)
    solution = operation.solve(frozenset([target]), hole, [a, b])
    zero_left = target == 0 and (operation.name == "multiply" or (operation.name == "divide" and hole == 1))
    if zero_left and (a, b)[1 - hole] == 0:  # 0 * ? = 0, 0 / ? = 0
        assert solution is ANY
    else:
        assert solution == {(a, b)[hole]}


@given(operations, holes, small, small, small)
def test_solutions_are_all_there_are(
    operation: Operation, hole: int, target: Fraction, other: Fraction, current: Fraction
) -> None:
    """Against trying every fraction that could come up; what stands in the hole now plays no role."""
    arguments = put([other, other], hole, current)
    candidates = {Fraction(n, d) for n in range(-9, 10) for d in range(1, 4)}
    right = {c for c in candidates if operation.apply(*put(arguments, hole, c)) == target}
    solution = operation.solve(frozenset([target]), hole, arguments)
    if solution is ANY:
        assert right >= candidates - {0}  # 0 / ? = 0 holds for all but zero
    else:
        assert solution == right


@given(operations, holes, st.frozensets(small, max_size=4), small)
def test_several_targets_are_solved_one_by_one(
    operation: Operation, hole: int, targets: frozenset[Fraction], other: Fraction
) -> None:
    arguments = [other, other]
    each = [operation.solve(frozenset([target]), hole, arguments) for target in targets]
    together = operation.solve(targets, hole, arguments)
    assert together == (ANY if ANY in each else frozenset().union(*each))


@given(operations, holes, st.one_of(fractions, st.just(Fraction(0))))
def test_undefined_in_undefined_out(operation: Operation, hole: int, other: Fraction) -> None:
    broken = put([other, other], hole, UNDEFINED)
    assert operation.apply(*broken) is UNDEFINED
    assert operation.solve(frozenset([Fraction(1)]), 1 - hole, broken) == frozenset()
    assert operation.solve(ANY, 1 - hole, broken) == frozenset()


@given(st.integers(-50, 50))
def test_one_of_names_several_solutions(root: int) -> None:
    @inverses(lambda target: OneOf([r for r in range(-50, 51) if r * r == target]))
    def square(a: int) -> int:
        return a * a

    operation = Operation("square", square, square.__inverses__)
    assert operation.solve(frozenset([root * root]), 0, [None]) == {root, -root}
    assert operation.solve(frozenset([root * root, -1]), 0, [None]) == {root, -root}
    assert operation.solve(frozenset([-1]), 0, [None]) == frozenset()


@given(st.integers(-9, 9), st.integers(-9, 9))
def test_solutions_that_do_not_fit_are_dropped(target: int, other: int) -> None:
    @inverses(lambda target, b: OneOf([target - b, target, 17, UNDEFINED]), None)
    def add(a: int, b: int) -> int:
        return a + b

    operation = Operation("add", add, add.__inverses__)
    assert operation.solve(frozenset([target]), 0, [0, other]) == {target - other}
    assert operation.invertible(0) and not operation.invertible(1) and not operation.invertible(2)


@given(st.frozensets(st.integers(-9, 9)), st.integers(-9, 9), st.integers(-9, 9), holes)
def test_fitting_keeps_what_gives_the_target(
    candidates: frozenset[int], target: int, other: int, hole: int
) -> None:
    operation = Operation("divide", lambda a, b: Fraction(a, b))
    fitting = operation.fitting(candidates, frozenset([target]), hole, [other, other])
    assert fitting <= candidates
    for value in candidates:
        a, b = put([other, other], hole, value)
        assert (value in fitting) == (b != 0 and a == target * b)
    defined = operation.fitting(candidates, ANY, hole, [other, other])
    assert defined == {value for value in candidates if put([other, other], hole, value)[1] != 0}


def broken(*_: object) -> object:
    raise KeyError("no such thing")


@pytest.mark.parametrize(
    "function, said",
    [
        (broken, r"look\(1, 'b'\) raised KeyError: 'no such thing'; return ngs.UNDEFINED for arguments"),
        (lambda a: a, r"look\(1, 'b'\) raised TypeError: .*2 were given.*"),
        (lambda a, b: nan, r"look\(1, 'b'\) is nan; return ngs.UNDEFINED instead"),
        (lambda a, b: inf, r"look\(1, 'b'\) is inf; return ngs.UNDEFINED instead"),
        (lambda a, b: ANY, r"look\(1, 'b'\) is ANY, which only an inverse may return; return one value"),
        (lambda a, b: OneOf([a]), r"look\(1, 'b'\) is OneOf.*, which only an inverse may return"),
        (lambda a, b: torch.tensor(1), r"look\(1, 'b'\) is tensor\(1\), which cannot be looked up"),
        (
            lambda a, b: [a, b],
            r"look\(1, 'b'\) is \[1, 'b'\], which cannot be looked up; .*tuple or frozenset",
        ),
        (lambda a, b: {a}, r"look\(1, 'b'\) is \{1\}, which cannot be looked up; .*tuple or frozenset"),
    ],
)
def test_functions_that_fail_show_their_own_call(function: Callable[..., object], said: str) -> None:
    with pytest.raises(SemanticsError, match=said):
        Operation("look", function).apply(1, "b")


@pytest.mark.parametrize(
    "solver, said",
    [
        (broken, r"the inverse of add\(5, 2\) raised KeyError"),
        (lambda target, b: nan, r"the inverse of add\(5, 2\) is nan"),
        (lambda target, b: [target - b], r"the inverse of add\(5, 2\) is \[3\], which cannot be looked up"),
        (lambda target, b: OneOf([[3]]), r"the inverse of add\(5, 2\) is \[3\], which cannot be looked up"),
    ],
)
def test_inverses_that_fail_show_their_own_call(solver: Callable[..., object], said: str) -> None:
    operation = Operation("add", lambda a, b: a + b, (solver, None))
    with pytest.raises(SemanticsError, match=said):
        operation.solve(frozenset([5]), 0, [1, 2])


@pytest.mark.parametrize("answer", [0, "yes", (1, 2), frozenset([3]), None, Fraction(1, 3), True])
def test_answers_of_every_kind(answer: object) -> None:
    check_answer(answer)
