"""What the steps of a program gave, as data: objects by their numbers, anything else as it is spoken."""

from __future__ import annotations

from typing import Any

from ngs.reasoning.operation import UNDEFINED, Special
from ngs.tasks.clevr.execution import Step, Type, modules, spoken


def step_facts(step: Step) -> dict[str, Any]:
    """A step with all below it."""
    arguments = [step_facts(argument) for argument in step.arguments]
    return {"module": step.module, "value": value_facts(step), "arguments": arguments}


def value_facts(step: Step) -> list[int] | int | str | None:
    """Null where it is undefined."""
    gives = modules()[step.module].gives
    if step.value is UNDEFINED:
        return None
    if gives is Type.OBJECTS:
        return sorted(step.value)
    return int(step.value) if gives is Type.OBJECT else str(spoken(step.value))


def answer_facts(answer: str | Special) -> str | None:
    """Null where it is undefined."""
    return None if isinstance(answer, Special) else answer
