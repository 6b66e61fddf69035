"""What the modules of a program mean for a scene (Li et al. 2020, supplement; Johnson et al. 2017)."""

import operator
from collections.abc import Callable, Mapping

from ngs.reasoning.operation import UNDEFINED, Special
from ngs.reasoning.semantics import Semantics
from ngs.tasks.clevr.scenes import ATTRIBUTES, RELATIONS, Scene

Objects = frozenset[int]  # A set of objects, by their numbers in the scene

Unique = Callable[[Objects], int | Special]
"""The object meant by "the ...", of the set of objects that fit the description."""


def strict(objects: Objects) -> int | Special:
    """The only object of the set; UNDEFINED unless there is exactly one."""
    return next(iter(objects)) if len(objects) == 1 else UNDEFINED


def lenient(objects: Objects) -> int | Special:
    """The first object of the set; UNDEFINED for none. Scenes parsed from images have an object too many."""
    return min(objects, default=UNDEFINED)


TRUTHS = ("no", "yes")  # words: in Python, True equals 1, which is another answer
UNIQUE: Mapping[str, Unique] = {"strict": strict, "lenient": lenient}


class ProgramSemantics(Semantics):
    """One function for each name in the grammars of programs; that of a family is given the module."""

    def __init__(self, scene: Scene, unique: Unique = strict) -> None:
        self._scene = scene
        self.unique = unique

    def scene(self) -> Objects:
        return frozenset(range(len(self._scene.things)))

    def apply_filter(self, module: str, objects: Objects) -> Objects:
        attribute, value = FILTERS[module]
        return frozenset(k for k in objects if getattr(self._scene.things[k], attribute) == value)

    def relate(self, module: str, k: int) -> Objects:
        """The objects in a relation to object k, or the others that have an attribute in common with it."""
        if module in _RELATIONS:
            return self._scene.relations[_RELATIONS[module]][k]
        things, attribute = self._scene.things, module.removeprefix("same_")
        value = getattr(things[k], attribute)
        return frozenset(j for j, thing in enumerate(things) if j != k and getattr(thing, attribute) == value)

    def combine(self, module: str, left: Objects, right: Objects) -> Objects:
        return left & right if module == "intersect" else left | right

    def query(self, module: str, k: int) -> str:
        return str(getattr(self._scene.things[k], module.removeprefix("query_")))

    def count(self, objects: Objects) -> int:
        return len(objects)

    def exist(self, objects: Objects) -> str:
        return TRUTHS[bool(objects)]

    def equal(self, module: str, left: str, right: str) -> str:
        return TRUTHS[left == right]

    def compare(self, module: str, left: int, right: int) -> str:
        return TRUTHS[COMPARISONS[module](left, right)]


FILTERS: Mapping[str, tuple[str, str]] = {
    f"filter_{attribute}[{value}]": (attribute, value)
    for attribute, values in ATTRIBUTES.items()
    for value in values
}
"""module -> the attribute and its value"""
_RELATIONS: Mapping[str, str] = {f"relate[{name}]": name for name in RELATIONS}
COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "equal_integer": operator.eq,
    "greater_than": operator.gt,
    "less_than": operator.lt,
}
