"""Programs as the page gets them: a tree of steps with their values, or a line with its answer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from math import exp
from typing import Any

from ngs.apps.serve.messages import Message, part
from ngs.apps.step_facts import answer_facts
from ngs.search.correction import Edit
from ngs.tasks.clevr.correction import ProgramCorrection
from ngs.tasks.clevr.execution import Step
from ngs.tasks.clevr.program import Program
from ngs.tasks.clevr.program_text import Executed, objects_of, shown_value
from ngs.tasks.clevr.scenes import Scene

PROGRAM = "Modules in prefix notation."
ANSWER = "What it gives; null where it gives nothing."


class StepNode(Message):
    """A step of a program, with the steps that it works on."""

    id: int = part("The place of its module in the prefix notation, from 0.", 0)
    module: str = part("What it does.", "filter_color[red]")
    value: str = part("What it gives, in words; `undefined` too.", "2")
    objects: list[int] | None = part(
        "The numbers of the objects that it gives; null where it gives something else.", [0, 3]
    )
    arguments: list[StepNode] = part("None, one or two.")


class Outcome(Message):
    """What a program gives, and how."""

    answer: str | None = part("Null where there is none; `fault` says why.", "2")
    fault: str | None = part(
        "Why there is no answer.", "the scene has no large cube, which `unique` looks for"
    )
    program: StepNode | None = part("The last step first; null where it does not type-check.")


class ProgramLine(Message):
    """A program on one line."""

    program: str = part(PROGRAM, "count filter_color[red] scene")
    probability: float = part("p(program | question)", 0.02)
    answer: str | None = part(ANSWER, "2")


class NeighbourLine(ProgramLine):
    """A program one step of back-search away."""

    change: str = part("What the step did.", "filter_shape[sphere] and filter_shape[cube] change places")
    right: bool = part("Whether it gives the answer.")
    chosen: bool = part("Whether it is the correction: the likeliest of those that are right.")


class RightLine(Message):
    """One of the meanings that give the answer."""

    program: str = part(f"{PROGRAM} The likeliest with this meaning.")
    probability: float = part("p(meaning | question, answer)", 0.8)
    corrected: bool = part("Whether the corrected program means this.")


def tree(executed: Executed) -> StepNode | None:
    """None where the program does not type-check."""
    return None if executed.steps is None else _node(executed.steps, executed.scene, count())


def outcome(executed: Executed) -> dict[str, Any]:
    """The parts of an `Outcome`."""
    return {"answer": answer_facts(executed.answer), "fault": executed.fault, "program": tree(executed)}


def _node(step: Step, scene: Scene, numbers: Iterator[int]) -> StepNode:
    objects = objects_of(step)
    return StepNode(
        id=next(numbers),
        module=step.module,
        value=shown_value(step, scene),
        objects=None if objects is None else sorted(objects),
        arguments=[_node(argument, scene, numbers) for argument in step.arguments],
    )


def line(program: Program, log_prob: float, executed: Executed) -> ProgramLine:
    return ProgramLine(
        program=" ".join(program), probability=exp(log_prob), answer=answer_facts(executed.answer)
    )


def neighbour_lines(correction: ProgramCorrection, number: int) -> list[NeighbourLine]:
    """The likeliest, and the chosen one wherever it is."""
    log_prob = correction.reading.programs[0].log_prob
    edits = [(event.edit, log_prob + event.log_priority) for event in correction.neighbours if event.edit]
    chosen = [pair for pair in edits if pair[0] is correction.search.edit]
    likeliest = edits[:number]
    if chosen and chosen[0] not in likeliest:
        likeliest[number - 1 :] = chosen
    return [_neighbour_line(correction, *pair) for pair in likeliest]


def _neighbour_line(correction: ProgramCorrection, edit: Edit, log_prob: float) -> NeighbourLine:
    executed = Executed.of(edit.sentence, correction.scene, correction.unique)
    return NeighbourLine(
        **dict(line(edit.sentence, log_prob, executed)),
        change=edit.text,
        right=executed.answer == correction.answer,
        chosen=edit is correction.search.edit,
    )


def right_lines(correction: ProgramCorrection, number: int) -> list[RightLine]:
    """The likeliest meanings that give the answer; none where nothing does."""
    right = correction.alternatives
    if not right.programs:
        return []
    place = None if correction.corrected is None else right.place(correction.corrected.program)
    shares = right.shares
    return [
        RightLine(program=" ".join(each.program), probability=shares[k], corrected=k == place)
        for k, each in enumerate(right.programs[:number])
    ]
