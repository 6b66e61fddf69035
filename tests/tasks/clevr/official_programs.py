"""Programs as CLEVR's files write them, made of ours: what is read without loss can be written again."""

from typing import Any

from ngs.tasks.clevr.execution import Step, trace
from ngs.tasks.clevr.program import Program
from ngs.tasks.clevr.scenes import RELATIONS, Scene


def to_official(program: Program) -> list[dict[str, Any]]:
    """The steps of a program in the order of the official files; a ParseError if it does not type-check."""
    root = trace(program, _NO_OBJECTS)
    order = _order(root)
    place = {id(step): k for k, step in enumerate(order)}
    if _is_shaped_union(root):
        first, _ = root.arguments[0].arguments[0].arguments
        if first.module == "scene":
            place[id(first)] = 1
    return [_node(step, [place[id(argument)] for argument in step.arguments]) for step in order]


_NO_OBJECTS = Scene((), dict.fromkeys(RELATIONS, ()), {})


def _node(step: Step, inputs: list[int]) -> dict[str, Any]:
    function, _, value = step.module.rstrip("]").partition("[")
    return {"inputs": inputs, "function": function, "value_inputs": [value] if value else []}


def _order(root: Step) -> list[Step]:
    """Each step behind those that it uses.

    The official templates write one branch behind the other, with two exceptions: two sizes or colours of
    unrelated objects are compared with both queries last; and see `_is_shaped_union`.
    """
    order = _branch(root)
    if _is_shaped_union(root):
        order.sort(key=lambda step: step.module != "scene")
    elif root.module in ("equal_size", "equal_color") and not _relates(root):
        order.sort(key=lambda step: step is root or step in root.arguments)
    return order


def _branch(step: Step) -> list[Step]:
    return [*(earlier for argument in step.arguments for earlier in _branch(argument)), step]


def _is_shaped_union(root: Step) -> bool:
    """Whether things of one shape are counted among two kinds of them ("how many cubes are red or big?").

    Official programs of this form begin with both scenes, and where the first kind is any thing at all, the
    second scene stands for it too.
    """
    match root:
        case Step("count", _, (Step(kind, _, (Step("union"),)),)):
            return kind.startswith("filter_shape[") and not _relates(root)
    return False


def _relates(root: Step) -> bool:
    """Whether it goes from one object to others."""
    return any(step.module.startswith(("relate[", "same_")) for step in _branch(root))
