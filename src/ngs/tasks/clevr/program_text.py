"""Programs in words: the tree of a program with the value of every step, and why one has no answer."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ngs.errors import ParseError
from ngs.reasoning.operation import UNDEFINED, Special
from ngs.tasks.clevr.execution import Step, Type, modules, spoken, trace
from ngs.tasks.clevr.program import Program
from ngs.tasks.clevr.scenes import ATTRIBUTES, Scene, Thing
from ngs.tasks.clevr.semantics import FILTERS, Objects, Unique

LISTED = 6  # objects that are named; the others are counted

_FILTERED = {module: value for module, (_, value) in FILTERS.items()}
_VALUES = tuple(_FILTERED.values())  # in the order in which people name them
_RELATED = {
    "relate[left]": "left of",
    "relate[right]": "right of",
    "relate[front]": "in front of",
    "relate[behind]": "behind",
    **{f"same_{attribute}": f"of the same {attribute} as" for attribute in ATTRIBUTES},
}


def description(thing: Thing) -> str:
    """`small red rubber cube`"""
    return " ".join(thing.attributes.values())


def listed(objects: Collection[int], scene: Scene) -> str:
    """`2 objects: small red rubber cube, large blue metal sphere`"""
    if not objects:
        return "no object"
    names = [description(scene.things[k]) for k in sorted(objects)]
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{_counted(len(names))}: {', '.join(names[:LISTED])}{more}"


def objects_of(step: Step) -> frozenset[int] | None:
    """The objects that a step gives, one or many; None where it gives something else, or nothing."""
    gives, value = modules()[step.module].gives, step.value
    if value is UNDEFINED or gives not in (Type.OBJECT, Type.OBJECTS):
        return None
    return frozenset([value]) if gives is Type.OBJECT else frozenset(value)


def about_objects(step: Step | None) -> frozenset[int]:
    """The objects that an answer is about: what the root, or whatever it compares, was given."""
    if step is None or step.value is UNDEFINED:
        return frozenset()
    objects = objects_of(step)
    return frozenset().union(*map(about_objects, step.arguments)) if objects is None else objects


def shown_value(step: Step, scene: Scene) -> str:
    """What a step gave: objects by their descriptions, anything else as an answer is spoken."""
    if step.value is UNDEFINED:
        return "undefined"
    if step.module == "scene" and len(scene.things) > 1:
        return f"all {_counted(len(scene.things))}"
    gives = modules()[step.module].gives
    if gives is Type.OBJECTS:
        return listed(step.value, scene)
    return f"the {description(scene.things[step.value])}" if gives is Type.OBJECT else str(step.value)


def _counted(number: int) -> str:
    return f"{number} object{'s' if number != 1 else ''}"


def steps_of(step: Step) -> Iterator[Step]:
    yield step
    for argument in step.arguments:
        yield from steps_of(argument)


def why_undefined(step: Step, scene: Scene) -> str:
    """Which `unique` found no object, or too many: it has no value, and its argument has one."""
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


@dataclass(frozen=True)
class Executed:
    """A program and what it says about a scene."""

    program: Program
    scene: Scene
    unique: Unique
    steps: Step | None  # None where the program does not type-check
    type_error: str = ""

    @classmethod
    def of(cls, program: Program, scene: Scene, unique: Unique) -> Executed:
        try:
            return cls(program, scene, unique, trace(program, scene, unique=unique))
        except ParseError as error:
            return cls(program, scene, unique, None, str(error))

    @property
    def answer(self) -> str | None:
        """One of ANSWERS; None where it is undefined."""
        value = UNDEFINED if self.steps is None else spoken(self.steps.value)
        return None if isinstance(value, Special) else value

    @property
    def fault(self) -> str | None:
        if self.steps is None:
            return f"the program does not type-check: {self.type_error}"
        return why_undefined(self.steps, self.scene) if self.answer is None else None

    @property
    def told(self) -> str:
        return self.shown + (f": {self.fault}" if self.fault else "")

    @property
    def shown(self) -> str:
        return self.answer or "undefined"
