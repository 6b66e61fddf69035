"""Programs as tables: module by module with what each gives, and what differs from another program."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

from ngs.reasoning.operation import UNDEFINED
from ngs.tasks.clevr.execution import Step, Type, modules, spoken
from ngs.tasks.clevr.program import Program
from ngs.tasks.clevr.program_text import Executed, objects_of
from ngs.tasks.clevr.scenes import Scene


class Line(NamedTuple):
    module: str
    value: str
    depth: int
    marked: bool
    undefined: bool = False


@dataclass(frozen=True)
class Working:
    """A program to be shown with what each of its modules gives."""

    name: str
    colour: str
    """the class of its table, and of the rings around what it is about"""
    executed: Executed
    marked: Collection[int] = ()
    p: float | None = None

    @property
    def lines(self) -> Iterator[Line]:
        """What a module works on stands below it; where it takes two values, both are indented."""
        executed = self.executed
        if executed.steps is None:  # it is no tree
            yield from (Line(module, "", 0, k in self.marked) for k, module in enumerate(executed.program))
            return
        for k, (depth, step) in enumerate(_indented(executed.steps, 0)):
            value, marked = value_of(step, executed.scene), k in self.marked
            yield Line(step.module, value, depth, marked, undefined=step.value is UNDEFINED)

    @property
    def rings(self) -> frozenset[int]:
        return about_objects(self.executed.steps)


def _indented(step: Step, depth: int) -> Iterator[tuple[int, Step]]:
    """In the order of the prefix notation; deeper by one below each module with two branches."""
    yield depth, step
    for argument in step.arguments:
        yield from _indented(argument, depth + (len(step.arguments) > 1))


def value_of(step: Step, scene: Scene) -> str:
    """What a step gave: objects by their numbers in the drawing, anything else as an answer is spoken."""
    if step.value is UNDEFINED:
        return "undefined"
    gives = modules()[step.module].gives
    if gives is Type.OBJECTS:
        everything = len(step.value) == len(scene.things)
        numbers = ", ".join(str(k + 1) for k in sorted(step.value))
        return f"all {len(scene.things)}" if everything else f"{{{numbers}}}" if numbers else "none"
    return f"object {step.value + 1}" if gives is Type.OBJECT else str(spoken(step.value))


def about_objects(step: Step | None) -> frozenset[int]:
    """The objects that an answer is about: what the root, or whatever it compares, was given."""
    if step is None or step.value is UNDEFINED:
        return frozenset()
    objects = objects_of(step)
    return frozenset().union(*map(about_objects, step.arguments)) if objects is None else objects


def differing(program: Program, other: Program) -> frozenset[int]:
    """Positions of `program` that are left when as much as possible of `other` is found in it, in order."""
    kept = SequenceMatcher(a=program, b=other, autojunk=False).get_matching_blocks()
    return frozenset(range(len(program))).difference(*(range(b.a, b.a + b.size) for b in kept))
