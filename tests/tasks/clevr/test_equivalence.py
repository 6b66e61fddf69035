"""Equivalent programs: one form for all that rewriting makes of a program, and for no others."""

from collections.abc import Iterator
from random import Random

import pytest

from ngs.errors import ParseError
from ngs.reasoning.operation import UNDEFINED
from ngs.tasks.clevr.execution import execute, modules
from ngs.tasks.clevr.noun_phrases import SYMMETRIC, equivalent, normal
from ngs.tasks.clevr.program import Program
from ngs.tasks.clevr.semantics import lenient, strict
from tests.tasks.clevr.programs import SYMMETRIC as EXCHANGEABLE
from tests.tasks.clevr.programs import arranged, program_of, random_programs
from tests.tasks.clevr.readers import some_questions
from tests.tasks.clevr.test_execution import random_scene, random_source

Tree = tuple["str | Tree", ...]
"""A module and the trees of its arguments."""

# Rewriting, one rule at one place at a time


def tree_of(program: Program) -> Tree:
    rest = iter(program)

    def read() -> Tree:
        module = next(rest)
        return (module, *(read() for _ in modules()[module].takes))

    return read()


def written(tree: Tree) -> Program:
    return (str(tree[0]), *(module for argument in tree[1:] for module in written(argument)))


def is_filter(tree: Tree) -> bool:
    return str(tree[0]).startswith("filter_")


def rewritings(tree: Tree) -> Iterator[Tree]:
    """What one rule makes of a tree: the rules that the issue names, each in both directions."""
    module, *arguments = tree
    yield from here(tree)
    for k, argument in enumerate(arguments):
        for other in rewritings(argument):
            yield (module, *arguments[:k], other, *arguments[k + 1 :])


def here(tree: Tree) -> Iterator[Tree]:
    match tree:
        case (first, (second, inner)) if is_filter(tree) and is_filter(tree[1]):
            yield second, (first, inner)
        case (name, ("intersect", one, other)) if is_filter(tree):
            yield "intersect", (name, one), other
            yield "intersect", one, (name, other)
        case (fork, one, other):
            if fork in EXCHANGEABLE:
                yield fork, other, one
            if fork == "intersect" and is_filter(one):
                yield one[0], ("intersect", one[1], other)
            if fork == "intersect" and is_filter(other):
                yield other[0], ("intersect", one, other[1])


def rewritten(program: Program, rng: Random, times: int) -> Program:
    tree = tree_of(program)
    for _ in range(times):
        tree = rng.choice([*rewritings(tree), tree])
    return written(tree)


def closure(program: Program) -> set[Program]:
    """All that any number of rewritings makes."""
    found, left = {program}, [program]
    while left:
        new = {written(tree) for tree in rewritings(tree_of(left.pop()))} - found
        found |= new
        left += new
    return found


# By hand

SAME = {
    "filters in another order": "count red small cube scene ~ count cube red small scene",
    "filters of the inner noun phrase": "exist left unique red cube scene ~ exist left unique cube red scene",
    "a filter twice": "count red red scene ~ count red scene",
    "union": "count union red scene cube scene ~ count union cube scene red scene",
    "intersect": "count intersect left unique red scene right unique cube scene ~ "
    "count intersect right unique cube scene left unique red scene",
    "equal_integer": "equal_integer count red scene count cube scene ~ "
    "equal_integer count cube scene count red scene",
    "equal_color": "equal_color query_color unique cube scene query_color unique sphere scene ~ "
    "equal_color query_color unique sphere scene query_color unique cube scene",
    "a filter of an intersection or of its first branch": (
        "count red intersect left unique cube scene scene ~ count intersect red left unique cube scene scene"
    ),
    "or of its second branch, or of both": "count intersect red left unique cube scene red scene ~ "
    "count intersect left unique cube scene red scene",
    "an intersection in an intersection": (
        "count red intersect intersect small scene left unique cube scene scene ~ "
        "count intersect scene intersect left unique cube scene red small scene"
    ),
    "symmetric branches inside of symmetric branches": (
        "count union union red scene cube scene intersect small scene left unique sphere scene ~ "
        "count union intersect left unique sphere scene small scene union cube scene red scene"
    ),
    "below a relation, below a relation": (
        "query_size unique red left unique small cube right unique union red metal scene blue scene ~ "
        "query_size unique red left unique cube small right unique union blue scene metal red scene"
    ),
}

DIFFERENT = {
    "greater_than": "greater_than count red scene count cube scene ~ "
    "greater_than count cube scene count red scene",
    "less_than": "less_than count red scene count cube scene ~ less_than count cube scene count red scene",
    "a filter of a union or of one branch": "count red union cube scene sphere scene ~ "
    "count union red cube scene sphere scene",
    "a filter of a union inside of an intersection": (
        "count intersect union red cube scene sphere scene small scene ~ "
        "count intersect red union cube scene sphere scene small scene"
    ),
    "a filter of an intersection inside of a union": (
        "count union red intersect small scene cube scene sphere scene ~ "
        "count red union intersect small scene cube scene sphere scene"
    ),
    "a filter across a relation": "count red left unique cube scene ~ count left unique red cube scene",
    "a filter across same_shape": "exist red same_shape unique small scene ~ "
    "exist same_shape unique red small scene",
    "a filter of a branch and of what the branch looks at": (
        "count intersect red left unique scene right unique cube scene ~ "
        "count intersect left unique red scene right unique cube scene"
    ),
    "another filter": "count red scene ~ count blue scene",
    "one filter more": "count red cube scene ~ count red scene",
    "union and intersect": "count union red scene cube scene ~ count intersect red scene cube scene",
    "other directions": "count left unique cube scene ~ count right unique cube scene",
    "directions that change places": "count left unique cube right unique sphere scene ~ "
    "count right unique cube left unique sphere scene",
    "filters that change branches": "equal_integer count red small scene count cube scene ~ "
    "equal_integer count red scene count small cube scene",
    "other questions": "count red scene ~ exist red scene",
    "other comparisons": "equal_integer count red scene count cube scene ~ "
    "less_than count red scene count cube scene",
    "whose size": "query_size unique cube scene ~ query_color unique cube scene",
}


@pytest.mark.parametrize("case", SAME)
def test_programs_that_mean_the_same(case: str) -> None:
    one, other = map(program_of, SAME[case].split("~"))
    assert one != other
    assert equivalent(one, other) and normal(one) == normal(other)
    rng = random_source()
    for _ in range(100):
        scene = random_scene(rng)
        assert execute(one, scene, unique=lenient) == execute(other, scene, unique=lenient)


@pytest.mark.parametrize("case", DIFFERENT)
def test_programs_that_mean_something_else(case: str) -> None:
    one, other = map(program_of, DIFFERENT[case].split("~"))
    assert not equivalent(one, other)
    rng = random_source()
    scenes = (random_scene(rng) for _ in range(3000))
    assert any(execute(one, s, unique=lenient) != execute(other, s, unique=lenient) for s in scenes)


def test_what_is_symmetric() -> None:
    assert frozenset(EXCHANGEABLE) == SYMMETRIC


# By rewriting


def test_equivalent_programs_give_equal_answers_in_every_scene() -> None:
    rng = random_source()
    programs = random_programs(rng, 250, 16, tidy=False)
    programs += [some_questions().train.program(k) or () for k in range(0, 120, 2)]
    changed = defined = 0
    for program in programs:
        other = rewritten(program, rng, 12)
        assert equivalent(program, other), (program, other)
        changed += program != other
        for unique in (strict, lenient):
            for _ in range(3):
                scene = random_scene(rng)
                value = execute(program, scene, unique=unique)
                assert execute(other, scene, unique=unique) == value, (program, other)
                defined += value is not UNDEFINED
    assert changed > 100 and defined > 500


@pytest.mark.parametrize(
    "text",
    [
        "count red intersect small scene cube left unique metal scene",
        "count intersect intersect red scene left unique cube scene small scene",
        "exist union red small scene cube scene",
        "count red union small scene intersect cube scene scene",
        "equal_integer count red small scene count cube scene",
        "greater_than count red small scene count cube scene",
        "equal_size query_size unique red scene query_size unique small cube scene",
        "query_color unique small left unique cube right unique red scene",
    ],
)
def test_arrangements_fall_into_the_classes_that_rewriting_makes(text: str) -> None:
    """All programs with the same modules, grouped by their form and by what can be made of each."""
    everything = set(arranged("grammar", program_of(text)))
    assert len(everything) > 5
    by_form: dict[object, set[Program]] = {}
    for program in everything:
        by_form.setdefault(normal(program), set()).add(program)
    assert 1 < len(by_form) < len(everything)
    for same in by_form.values():
        assert closure(next(iter(same))) == same


@pytest.mark.parametrize(
    "text", ["", "count", "union red scene", "count red", "count scene scene", "count sene", "unique scene"]
)
def test_what_is_no_whole_program_has_no_form(text: str) -> None:
    with pytest.raises(ParseError):
        normal(program_of(text))
