"""What a CLEVR program says about a scene: the exact reference, one program and one scene at a time."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial

from ngs.errors import ParseError
from ngs.reasoning.operation import UNDEFINED, Special, Value
from ngs.tasks.clevr.scenes import ATTRIBUTES, RELATIONS, Scene

Objects = frozenset[int]
"""A set of objects, by their numbers in the scene."""

Unique = Callable[[Objects], int | Special]
"""The object meant by "the ...", of the set of objects that fit the description."""


def strict(objects: Objects) -> int | Special:
    """The only object of the set; UNDEFINED unless there is exactly one."""
    return next(iter(objects)) if len(objects) == 1 else UNDEFINED


def lenient(objects: Objects) -> int | Special:
    """The first object of the set; UNDEFINED for none. Scenes parsed from images have an object too many."""
    return min(objects, default=UNDEFINED)


class Type(StrEnum):
    """What a module takes and gives, in the words of an error message."""

    OBJECTS = "a set of objects"
    OBJECT = "an object"
    INTEGER = "an integer"
    CONCEPT = "a concept"
    TRUTH = "a truth value"


ANSWER_TYPES = (Type.INTEGER, Type.CONCEPT, Type.TRUTH)
"""What a whole program gives: never objects, which have no name."""


@dataclass(frozen=True)
class Module:
    """A typed function of a scene and of the values of other modules."""

    takes: tuple[Type, ...]
    gives: Type
    function: Callable[..., Value]
    """of (scene, *arguments)"""


@cache
def modules(unique: Unique = strict) -> Mapping[str, Module]:
    """The forty modules by name (Li et al. 2020, supplement; Johnson et al. 2017), families written out."""
    objects, an_object, integer, concept, truth = Type
    comparisons = {"equal_integer": operator.eq, "greater_than": operator.gt, "less_than": operator.lt}
    combinations = {"intersect": operator.and_, "union": operator.or_}
    return {
        "scene": Module((), objects, lambda scene: frozenset(range(len(scene.things)))),
        "unique": Module((objects,), an_object, lambda _, found: unique(found)),
        "count": Module((objects,), integer, lambda _, found: len(found)),
        "exist": Module((objects,), truth, lambda _, found: bool(found)),
        **{
            f"filter_{name}[{value}]": Module((objects,), objects, partial(_filter, name, value))
            for name, values in ATTRIBUTES.items()
            for value in values
        },
        **{f"relate[{name}]": Module((an_object,), objects, partial(_relate, name)) for name in RELATIONS},
        **{f"same_{name}": Module((an_object,), objects, partial(_same, name)) for name in ATTRIBUTES},
        **{f"query_{name}": Module((an_object,), concept, partial(_query, name)) for name in ATTRIBUTES},
        **{f"equal_{name}": _of_two(concept, truth, operator.eq) for name in ATTRIBUTES},
        **{name: _of_two(integer, truth, compare) for name, compare in comparisons.items()},
        **{name: _of_two(objects, objects, combine) for name, combine in combinations.items()},
    }


def _filter(attribute: str, value: str, scene: Scene, objects: Objects) -> Objects:
    return frozenset(k for k in objects if getattr(scene.things[k], attribute) == value)


def _relate(relation: str, scene: Scene, k: int) -> Objects:
    return scene.relations[relation][k]


def _same(attribute: str, scene: Scene, k: int) -> Objects:
    """The other objects that have this attribute in common with object k."""
    value = _query(attribute, scene, k)
    return frozenset(
        other for other, thing in enumerate(scene.things) if other != k and getattr(thing, attribute) == value
    )


def _query(attribute: str, scene: Scene, k: int) -> str:
    return str(getattr(scene.things[k], attribute))


def _of_two(takes: Type, gives: Type, function: Callable[[Value, Value], Value]) -> Module:
    return Module((takes, takes), gives, lambda _, left, right: function(left, right))


def groups() -> tuple[tuple[str, ...], ...]:
    """The modules that can replace each other in every program, since they take and give the same.

    These are the ten rows of the table of modules in Li et al. 2020 (supplement), which writes a family as
    one module, `intersection` for `intersect`, and says that `exist` checks for an empty set (it is true if
    there is an object). They are also the `symbol_classes` of the grammar.
    """
    found: defaultdict[tuple[tuple[Type, ...], Type], list[str]] = defaultdict(list)
    for name, module in modules().items():
        found[module.takes, module.gives].append(name)
    return tuple(map(tuple, found.values()))


@dataclass(frozen=True)
class Step:
    """A module of a program, what it gave, and the steps that gave its arguments."""

    module: str
    value: Value
    arguments: tuple[Step, ...]


def execute(program: Sequence[str], scene: Scene, *, unique: Unique = strict) -> bool | int | str | Special:
    """The value of a whole program; UNDEFINED if a `unique` in it is. ParseError where types do not fit."""
    value: bool | int | str | Special = trace(program, scene, unique=unique).value
    return value


def trace(program: Sequence[str], scene: Scene, *, unique: Unique = strict) -> Step:
    """The program as a tree with the value of every step. ParseError if it does not type-check.

    From right to left over the prefix notation: the steps that wait for a module are a stack.
    """
    known = modules(unique)
    waiting: list[Step] = []
    for position in reversed(range(len(program))):
        name = program[position]
        if name not in known:
            raise ParseError(
                f"position {position}: {name!r} is no module; the modules are {', '.join(known)}"
            )
        module = known[name]
        arguments = tuple(waiting.pop() for _ in module.takes[: len(waiting)])
        if tuple(known[step.module].gives for step in arguments) != module.takes:
            raise _type_error(position, name, arguments)
        waiting.append(Step(name, _value(module, scene, arguments), arguments))
    return _whole(program, waiting)


def _value(module: Module, scene: Scene, arguments: Sequence[Step]) -> Value:
    """Undefined in, undefined out."""
    values = [step.value for step in arguments]
    return UNDEFINED if UNDEFINED in values else module.function(scene, *values)


def _type_error(position: int, name: str, arguments: Sequence[Step]) -> ParseError:
    known, takes = modules(), modules()[name].takes
    for needed, argument in zip(takes, (step.module for step in arguments), strict=False):
        given = known[argument].gives
        if given != needed:
            return ParseError(
                f"position {position}: {name} needs {needed}, and `{argument}` gives {given}; "
                f"give it {needed}, or put a module that takes {given} in its place"
            )
    missing = " and ".join(takes[len(arguments) :])
    return ParseError(f"position {position}: {name} still needs {missing} where the program ends; add it")


def _whole(program: Sequence[str], waiting: list[Step]) -> Step:
    """The one step that is left, if it is one and gives an answer."""
    if not waiting:
        raise ParseError(
            'the program is empty; give its modules in prefix notation, as in ("count", "scene")'
        )
    root = waiting.pop()
    if waiting:
        end = _size(root)
        raise ParseError(
            f"position {end}: the program is complete before `{program[end]}`; "
            f"leave that out, and what follows it"
        )
    gives = modules()[root.module].gives
    if gives not in ANSWER_TYPES:
        raise ParseError(f"position 0: a program gives {_LISTED}, and `{root.module}` gives {gives}")
    return root


_LISTED = f"{', '.join(ANSWER_TYPES[:-1])} or {ANSWER_TYPES[-1]}"


def _size(step: Step) -> int:
    """How many modules its part of the program has."""
    steps, size = [step], 0
    while steps:
        steps.extend(steps.pop().arguments)
        size += 1
    return size


def spoken(value: bool | int | str | Special) -> str | Special:
    """The answer as text, one of ANSWERS; UNDEFINED stays what it is.

    >>> spoken(True), spoken(3), spoken("red"), spoken(UNDEFINED)
    ('yes', '3', 'red', UNDEFINED)
    """
    if isinstance(value, Special):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
