"""Programs in words: the tree of a program with the value of every step, and why one has no answer."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import repeat

from ngs.errors import ParseError
from ngs.reasoning.operation import UNDEFINED, Special
from ngs.tasks.clevr.execution import Step, Type, modules, spoken, trace
from ngs.tasks.clevr.program import Program
from ngs.tasks.clevr.scenes import ATTRIBUTES, Scene, Thing
from ngs.tasks.clevr.semantics import FILTERS, Objects, Unique

LISTED = 6
"""Objects that are named; the others are counted."""

MARK = "* "
"""Before the modules of a tree that are to be noticed."""

_FILTERED = {module: value for module, (_, value) in FILTERS.items()}
_VALUES = tuple(_FILTERED.values())
"""In the order in which people name them."""
_RELATED = {
    "relate[left]": "left of",
    "relate[right]": "right of",
    "relate[front]": "in front of",
    "relate[behind]": "behind",
    **{f"same_{attribute}": f"of the same {attribute} as" for attribute in ATTRIBUTES},
}


# Values


def description(thing: Thing) -> str:
    """`small red rubber cube`"""
    return " ".join(getattr(thing, attribute) for attribute in ATTRIBUTES)


def listed(objects: Collection[int], scene: Scene) -> str:
    """`2 objects: small red rubber cube, large blue metal sphere`"""
    if not objects:
        return "no object"
    names = [description(scene.things[k]) for k in sorted(objects)]
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{_counted(len(names))}: {', '.join(names[:LISTED])}{more}"


def shown_value(step: Step, scene: Scene) -> str:
    """What a step gave: objects by their descriptions, anything else as an answer is spoken."""
    if step.value is UNDEFINED:
        return "undefined"
    if step.module == "scene" and len(scene.things) > 1:
        return f"all {_counted(len(scene.things))}"
    gives = modules()[step.module].gives
    if gives is Type.OBJECTS:
        return listed(step.value, scene)
    return f"the {description(scene.things[step.value])}" if gives is Type.OBJECT else str(spoken(step.value))


def shown_answer(value: str | Special) -> str:
    """An answer, or `undefined`."""
    return "undefined" if isinstance(value, Special) else value


def _counted(number: int) -> str:
    return f"{number} object{'s' if number != 1 else ''}"


# The tree


def tree(step: Step, scene: Scene, marked: Collection[int] = ()) -> str:
    """The program from its root down, a step on each line with its value.

    What a module works on stands below it; only where it takes two values do branches begin. `marked`
    positions of the prefix notation are pointed at.
    """
    lines = list(_lines(step, "", ""))
    margins = [MARK if k in marked else " " * len(MARK) for k in range(len(lines))] if marked else repeat("")
    names = [margin + line.name for margin, line in zip(margins, lines, strict=False)]
    wide = max(map(len, names))
    return "\n".join(
        f"{name.ljust(wide)} = {shown_value(line.step, scene)}"
        for name, line in zip(names, lines, strict=True)
    )


@dataclass(frozen=True)
class _Line:
    name: str
    """with the branches that lead to it"""
    step: Step


def _lines(step: Step, first: str, rest: str) -> Iterator[_Line]:
    """In the order of the prefix notation."""
    yield _Line(first + step.module, step)
    if len(step.arguments) == 1:
        yield from _lines(step.arguments[0], rest, rest)
        return
    for argument in step.arguments:
        branch, below = ("└─ ", "   ") if argument is step.arguments[-1] else ("├─ ", "│  ")
        yield from _lines(argument, rest + branch, rest + below)


def steps_of(step: Step) -> Iterator[Step]:
    """The step and all below it, in the order of the prefix notation."""
    yield step
    for argument in step.arguments:
        yield from steps_of(argument)


# Undefined


def why_undefined(step: Step, scene: Scene) -> str:
    """Which `unique` of an undefined program found no object, or too many.

    It is the first on the way up: what is defined itself, and whose value is not.
    """
    culprits = (
        each
        for each in steps_of(step)
        if each.value is UNDEFINED and all(argument.value is not UNDEFINED for argument in each.arguments)
    )
    (found,) = next(culprits).arguments
    objects: Objects = found.value
    wanted = noun_phrase(found)
    if not objects:
        return f"the scene has no {wanted}, which `unique` looks for"
    return f"'{wanted}' fits {listed(objects, scene)}; `unique` needs exactly one"


def noun_phrase(step: Step) -> str:
    """What a step that gives objects looks for: `red cube left of the large sphere`."""
    values: list[str] = []
    while step.module in _FILTERED:
        values.append(_FILTERED[step.module])
        (step,) = step.arguments
    values.sort(key=_VALUES.index)
    shaped = bool(values) and values[-1] in ATTRIBUTES["shape"]
    noun = " ".join(values if shaped else [*values, "object"])
    if step.module == "scene":
        return noun
    if step.module in _RELATED:
        (the,) = step.arguments
        return f"{noun} {_RELATED[step.module]} the {noun_phrase(the.arguments[0])}"
    one, other = map(noun_phrase, step.arguments)
    both = f"either {one} or {other}" if step.module == "union" else f"both {one} and {other}"
    return f"{noun} that is {both}"


# Whole programs


@dataclass(frozen=True)
class Executed:
    """A program and what it says about a scene."""

    program: Program
    scene: Scene
    steps: Step | None
    """None where the program does not type-check"""
    type_error: str = ""

    @classmethod
    def of(cls, program: Program, scene: Scene, unique: Unique) -> Executed:
        try:
            return cls(program, scene, trace(program, scene, unique=unique))
        except ParseError as error:
            return cls(program, scene, None, str(error))

    @property
    def answer(self) -> str | Special:
        """One of ANSWERS, or UNDEFINED."""
        return UNDEFINED if self.steps is None else spoken(self.steps.value)

    @property
    def fault(self) -> str | None:
        """Why there is no answer."""
        if self.steps is None:
            return f"the program does not type-check: {self.type_error}"
        return why_undefined(self.steps, self.scene) if self.answer is UNDEFINED else None

    def tree(self, marked: Collection[int] = ()) -> str:
        return " ".join(self.program) if self.steps is None else tree(self.steps, self.scene, marked)
