"""Programs as CLEVR's files write them, read without loss.

    [{"function": "scene", "inputs": [], "value_inputs": []},
     {"function": "filter_color", "inputs": [0], "value_inputs": ["red"]},
     {"function": "count", "inputs": [1], "value_inputs": []}]      ->  count filter_color[red] scene

(Johnson et al. 2017; "type" and "side_inputs" are what their generator calls "function" and "value_inputs".)
"""

from collections.abc import Mapping, Sequence, Set
from typing import Any

from ngs.errors import DataError
from ngs.tasks.clevr.execution import ANSWER_TYPES, modules
from ngs.tasks.clevr.program import MODULES, Program
from ngs.tasks.faults import MISSING, Field

FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    function: tuple(module[len(function) + 1 : -1] for module in MODULES if module.startswith(f"{function}["))
    for function in dict.fromkeys(module.partition("[")[0] for module in MODULES)
}
"""The values that a function can have; none for most."""

LONGEST = 100  # modules; official programs have at most 25


def as_program(steps: Any) -> Program:
    """The program with these steps, each of which uses earlier ones; a DataError names the field at fault.

    A step that two others use is written out twice: of 28,000 official questions, two share their scene.
    """
    whole = Field(steps, "program")
    whole.need(isinstance(steps, list) and steps != [], "a list of steps is needed")
    programs: list[Program] = []
    used: set[int] = set()
    for step in whole.entries():
        module, inputs = _module(step), _inputs(step, len(programs))
        _check_types(module, inputs, programs)
        used.update(inputs.value)
        programs.append((module, *(later for source in inputs.value for later in programs[source])))
        if len(programs[-1]) > LONGEST:
            raise DataError(f"{step.place} stands for more than {LONGEST} modules; use a step only once")
    _check_whole(programs, used)
    return programs[-1]


def _module(step: Field) -> str:
    step.a(dict, "an object with function and inputs")
    field = _spelled(step, "function", "type")
    function = field.value
    field.need(isinstance(function, str) and function in FUNCTIONS, f"give one of {', '.join(FUNCTIONS)}")
    values, allowed = _spelled(step, "value_inputs", "side_inputs", []), FUNCTIONS[function]
    if not allowed:
        values.need(values.value == [], f"{function} needs an empty list")
        return str(function)
    needed = f"{function} needs a list with one of {', '.join(allowed)}"
    values.need(values.value in [[value] for value in allowed], needed)
    return f"{function}[{values.value[0]}]"


def _spelled(step: Field, name: str, other: str, default: Any = MISSING) -> Field:
    """The member that the files call `name`, and the generator the other way."""
    return step.member(other if other in step.value and name not in step.value else name, default)


def _inputs(step: Field, k: int) -> Field:
    inputs = step.member("inputs")
    inputs.need(inputs.value not in (MISSING, None), "list the steps that it uses, [] for none")
    numbers = inputs.a(list, "a list of numbers of steps").value
    inputs.need(all(type(source) is int for source in numbers), "a list of numbers of steps is needed")
    inputs.need(all(0 <= n < k for n in numbers), f"only the steps before, 0 to {k - 1}, can be used")
    return inputs


def _check_types(module: str, inputs: Field, programs: Sequence[Program]) -> None:
    found = tuple(modules()[programs[source][0]].gives for source in inputs.value)
    takes = modules()[module].takes
    what = f"which gives {' and '.join(found)}; " if len(found) == len(takes) else ""
    needed = f"needs {len(takes)}: {' and '.join(takes)}" if takes else "takes none"
    inputs.need(found == takes, f"{what}{module} {needed}")


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
