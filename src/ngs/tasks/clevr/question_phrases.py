"""What a question speaks of: noun phrases, how they are linked, and the programs that they stand for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ngs.tasks.clevr.program import Program
from ngs.tasks.clevr.scenes import ATTRIBUTES

_KNOWN = [1 + len(values) for values in ATTRIBUTES.values()]

VALUES = np.array(list(np.ndindex(*_KNOWN)))
"""[description, attribute]: each choice of at most one value of every attribute, from 1; 0 is none"""

NOTHING = 0  # the description that names nothing

DESCRIPTIONS: tuple[tuple[str | None, ...], ...] = tuple(
    tuple((None, *values)[k] for k, values in zip(choice, ATTRIBUTES.values(), strict=True))
    for choice in VALUES
)
"""The same in words."""

NAMING = {attribute: VALUES[:, k] > 0 for k, attribute in enumerate(ATTRIBUTES)}
"""attribute -> bool [description]"""

_OTHERS = 1 - np.eye(len(_KNOWN), dtype=int)
SHORTER = np.stack([np.ravel_multi_index((VALUES * others).T, _KNOWN) for others in _OTHERS], axis=1)
"""[description, attribute]: the description without what it says of the attribute"""

IMPLIED = ((VALUES[None] == 0) | (VALUES[None] == VALUES[:, None])).all(2)
"""bool [description, other]: whether the other says nothing that the description does not say"""

LENGTH = (VALUES > 0).sum(1)  # [description]: how many values it names

FILTERS: tuple[Program, ...] = tuple(
    tuple(f"filter_{name}[{value}]" for name, value in zip(ATTRIBUTES, d, strict=True) if value)[::-1]
    for d in DESCRIPTIONS
)
"""[description]: what filters a set by it; size is innermost and so first to be executed"""


class NounPhrase(NamedTuple):
    """`small cubes left of the red ball`, `large things that are red cubes or metal balls`."""

    description: int
    links: tuple[Link, ...] = ()  # none, one, or two that both hold
    either: tuple[NounPhrase, ...] = ()  # two of which one holds, or none


class Link(NamedTuple):
    """`left of the red ball`."""

    relation: str  # its module: relate[left], same_color
    landmark: NounPhrase  # of which there is exactly one


class Question(NamedTuple):
    """A question before it is put into words."""

    root: str  # its first module
    subjects: tuple[NounPhrase, ...]  # one, or two that are compared
    answer: int  # which of ANSWERS

    @property
    def program(self) -> Program:
        before = _BEFORE.get(self.root, ())
        return (self.root, *(module for subject in self.subjects for module in before + modules(subject)))


_BEFORE: dict[str, Program] = {
    **{f"query_{attribute}": ("unique",) for attribute in ATTRIBUTES},
    **{f"equal_{attribute}": (f"query_{attribute}", "unique") for attribute in ATTRIBUTES},
    **dict.fromkeys(("equal_integer", "greater_than", "less_than"), ("count",)),
}
"""First module of a program -> what stands before each set of objects that it is about."""


def modules(phrase: NounPhrase) -> Program:
    """The set of objects that answer to a phrase, as a program.

    Of two links, the program follows the second first, as in the official programs.
    """
    links = tuple((link.relation, "unique", *modules(link.landmark)) for link in reversed(phrase.links))
    branches = links or tuple(map(modules, phrase.either)) or (("scene",),)
    joined = () if len(branches) == 1 else ("intersect",) if links else ("union",)
    return (*FILTERS[phrase.description], *joined, *(module for branch in branches for module in branch))
