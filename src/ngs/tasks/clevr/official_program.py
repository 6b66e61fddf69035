"""Programs as CLEVR's files write them, read without loss.

    [{"function": "scene", "inputs": [], "value_inputs": []},
     {"function": "filter_color", "inputs": [0], "value_inputs": ["red"]},
     {"function": "count", "inputs": [1], "value_inputs": []}]      ->  count filter_color[red] scene

(Johnson et al. 2017; "type" and "side_inputs" are what their generator calls "function" and "value_inputs".)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from ngs.errors import DataError
from ngs.tasks.clevr.execution import ANSWER_TYPES, modules
from ngs.tasks.clevr.program import MODULES, Program
from ngs.tasks.faults import given, shown

Node = dict[str, Any]
"""One step of an official program."""


FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    function: tuple(module[len(function) + 1 : -1] for module in MODULES if module.startswith(f"{function}["))
    for function in dict.fromkeys(module.partition("[")[0] for module in MODULES)
}
"""The values that a function can have; none for most."""

LONGEST = 100
"""Modules; official programs have at most 25."""


def as_program(steps: Any) -> Program:
    """The program with these steps, each of which uses earlier ones; a DataError names the field at fault.

    A step that two others use is written out twice: of 28,000 official questions, two share their scene.
    """
    if not isinstance(steps, list) or not steps:
        raise DataError(f"program is {shown(steps)}; a list of steps is needed")
    programs: list[Program] = []
    used: set[int] = set()
    for k, step in enumerate(steps):
        if not isinstance(step, dict):
            raise DataError(f"program[{k}] is {shown(step)}; an object with function and inputs is needed")
        module = _module(step, k)
        inputs = _inputs(step, k)
        _check_types(module, inputs, programs, k)
        used.update(inputs)
        programs.append((module, *(later for source in inputs for later in programs[source])))
        if len(programs[k]) > LONGEST:
            raise DataError(f"program[{k}] stands for more than {LONGEST} modules; use a step only once")
    _check_whole(programs, used)
    return programs[-1]


def _module(step: Node, k: int) -> str:
    name = "function" if "function" in step else "type"
    function = step.get(name)
    if not isinstance(function, str) or function not in FUNCTIONS:
        told = given(step, name)
        raise DataError(f"program[{k}].function is {told}; give one of {', '.join(FUNCTIONS)}")
    name = "value_inputs" if "value_inputs" in step else "side_inputs"
    values, allowed = step.get(name, []), FUNCTIONS[function]
    if not allowed and values == []:
        return function
    if not allowed or not isinstance(values, list) or len(values) != 1 or values[0] not in allowed:
        needed = f"a list with one of {', '.join(allowed)}" if allowed else "an empty list"
        raise DataError(f"program[{k}].{name} is {shown(values)}; {function} needs {needed}")
    return f"{function}[{values[0]}]"


def _inputs(step: Node, k: int) -> list[int]:
    inputs = step.get("inputs")
    if inputs is None:
        raise DataError(f"program[{k}].inputs is missing; list the steps that it uses, [] for none")
    if not isinstance(inputs, list) or not all(type(source) is int for source in inputs):
        raise DataError(f"program[{k}].inputs is {shown(inputs)}; a list of numbers of steps is needed")
    if not all(0 <= source < k for source in inputs):
        raise DataError(
            f"program[{k}].inputs is {shown(inputs)}; only the steps before, 0 to {k - 1}, can be used"
        )
    return inputs


def _check_types(module: str, inputs: Sequence[int], programs: Sequence[Program], k: int) -> None:
    found = tuple(modules()[programs[source][0]].gives for source in inputs)
    takes = modules()[module].takes
    if found != takes:
        what = f"which gives {' and '.join(found)}; " if len(found) == len(takes) else ""
        needed = f"needs {len(takes)}: {' and '.join(takes)}" if takes else "takes none"
        raise DataError(f"program[{k}].inputs is {shown(inputs)}; {what}{module} {needed}")


def _check_whole(programs: Sequence[Program], used: Set[int]) -> None:
    last = programs[-1][0]
    if modules()[last].gives not in ANSWER_TYPES:
        raise DataError(
            f"program[{len(programs) - 1}] is {last}, which gives {modules()[last].gives}; "
            f"the last step must give {' or '.join(ANSWER_TYPES)}"
        )
    # The generator leaves a scene behind now and then; anything else would be lost.
    unused = [k for k, program in enumerate(programs[:-1]) if k not in used and program != ("scene",)]
    if unused:
        raise DataError(f"program[{unused[0]}] is used by no other step; remove it, or use it")
