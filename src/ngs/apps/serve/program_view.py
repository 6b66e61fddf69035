"""Programs as the page gets them: a tree of steps with their values, or a line with its answer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from math import exp

from pydantic import BaseModel, ConfigDict, Field

from ngs.apps.step_facts import answer_facts
from ngs.search.correction import Edit
from ngs.tasks.clevr.correction import ProgramCorrection
from ngs.tasks.clevr.execution import Step
from ngs.tasks.clevr.program import Program
from ngs.tasks.clevr.program_text import Executed, objects_of, shown_value
from ngs.tasks.clevr.scenes import Scene

PROGRAM = "Modules in prefix notation."
ANSWER = "What it gives; null where it gives nothing."


class StepNode(BaseModel):
    """A step of a program, with the steps that it works on."""

    model_config = ConfigDict(extra="forbid")

    id: int = Field(description="The place of its module in the prefix notation, from 0.", examples=[0])
    module: str = Field(description="What it does.", examples=["filter_color[red]"])
    value: str = Field(description="What it gives, in words; `undefined` too.", examples=["2"])
    objects: list[int] | None = Field(
        description="The numbers of the objects that it gives; null where it gives something else.",
        examples=[[0, 3]],
    )
    arguments: list[StepNode] = Field(description="None, one or two.")


class ProgramLine(BaseModel):
    """A program on one line."""

    model_config = ConfigDict(extra="forbid")

    program: str = Field(description=PROGRAM, examples=["count filter_color[red] scene"])
    probability: float = Field(description="p(program | question)", examples=[0.02])
    answer: str | None = Field(description=ANSWER, examples=["2"])


class NeighbourLine(ProgramLine):
    """A program one step of back-search away."""

    change: str = Field(
        description="What the step did.",
        examples=["filter_shape[sphere] and filter_shape[cube] change places"],
    )
    right: bool = Field(description="Whether it gives the answer.")
    chosen: bool = Field(description="Whether it is the correction: the likeliest of those that are right.")


class RightLine(BaseModel):
    """One of the meanings that give the answer."""

    model_config = ConfigDict(extra="forbid")

    program: str = Field(description=f"{PROGRAM} The likeliest with this meaning.")
    probability: float = Field(description="p(meaning | question, answer)", examples=[0.8])
    corrected: bool = Field(description="Whether the corrected program means this.")


def tree(executed: Executed) -> StepNode | None:
    """None where the program does not type-check."""
    return None if executed.steps is None else _node(executed.steps, executed.scene, count())


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
