"""The noun phrases of programs: the edits that change them, and which programs mean the same in every scene.

In prefix notation a noun phrase is a run of filters and the module it describes: `scene`, a relation, or a
set operation. The tidy language has the filters of a noun phrase in one order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ngs.grammar.multisets import symbol_classes
from ngs.grammar.padding import PAD
from ngs.parsing.candidates import fingerprints
from ngs.search.edits import Phrases, Rearrange, Switch
from ngs.tasks.clevr.execution import NO_OBJECTS, Step, modules, trace
from ngs.tasks.clevr.language import CLOSES, RANK
from ngs.tasks.clevr.program import GRAMMAR, MODULES

SYMMETRIC = frozenset(
    name for name in modules() if name in ("union", "intersect") or name.startswith("equal_")
)


class NounPhrases(Phrases):
    """Questions about the noun phrases of programs [row, time], for many at once."""

    symmetric: Tensor

    def __init__(self) -> None:
        relates = torch.tensor([module.startswith(("relate[", "same_")) for module in MODULES])
        super().__init__(RANK.clone(), CLOSES.clone(), relates)
        symmetric = torch.tensor([module in SYMMETRIC for module in MODULES])
        self.register_buffer("symmetric", symmetric, persistent=False)

    def mirrored(self, z: Tensor) -> Tensor:
        """The programs with the two branches of a symmetric module exchanged; others as they are.

        A program has at most one module with two branches here, and each branch ends with its own `scene`.
        """
        position = torch.arange(z.shape[1], device=z.device)
        symmetric = self.symmetric[z.clamp(min=0)] & (z != PAD)
        scenes = z == MODULES.index("scene")
        fork = torch.where(symmetric, position, -1).amax(1, keepdim=True)
        end = (z != PAD).sum(1, keepdim=True) - 1
        first_end = torch.where(scenes, position, z.shape[1]).amin(1, keepdim=True)
        in_first = (position > fork) & (position <= first_end)
        in_second = (position > first_end) & (position <= end)
        # A stable sort by branch: head 0, second branch 1, first branch 2, padding 3.
        key = torch.where(in_first, 2, torch.where(in_second, 1, torch.where(position > end, 3, 0)))
        key = torch.where((fork >= 0) & (scenes.sum(1, keepdim=True) == 2), key, torch.zeros_like(key))
        return z.gather(1, key.argsort(dim=1, stable=True))

    def meanings(self, z: Tensor) -> Tensor:
        """int64 [row]: equal for programs that differ only in the order of filters or symmetric branches."""
        mirrored = self.in_order(self.mirrored(z))
        return torch.minimum(fingerprints(self.in_order(z)), fingerprints(mirrored))


def switches() -> Switch:
    """The paper's edits: two modules of one group change places, and nothing else does."""
    return Switch(torch.tensor(symbol_classes(GRAMMAR)))


def rearrangements(moves: bool = True) -> Rearrange:
    """Edits in the tidy language: switches and, with `moves`, filters that move and chains that turn."""
    return Rearrange(switches(), NounPhrases(), moves)


class Form(NamedTuple):
    """A module with the filters before it, in alphabetical order, and the forms of its arguments."""

    filters: tuple[str, ...]
    module: str
    arguments: tuple[Form, ...] = ()


def equivalent(one: Sequence[str], other: Sequence[str]) -> bool:
    return normal(one) == normal(other)


def normal(program: Sequence[str]) -> Form:
    """The form that all equivalent programs have; ParseError for what is no whole program.

    Filters of one object commute, and do nothing twice; so do the branches of `union`, `intersect`, and of
    what asks whether two things are equal. A filter of an intersection may as well filter either branch.

    >>> normal(("count", "filter_color[red]", "scene")).arguments
    (Form(filters=('filter_color[red]',), module='scene', arguments=()),)
    """
    return _form(trace(program, NO_OBJECTS))


def _form(step: Step) -> Form:
    filters: set[str] = set()
    while step.module.startswith("filter_"):
        filters.add(step.module)
        (step,) = step.arguments
    arguments = [_form(argument) for argument in step.arguments]
    if step.module == "intersect":
        filters.update(name for argument in arguments for name in argument.filters)
        arguments = [argument._replace(filters=()) for argument in arguments]
    if step.module in SYMMETRIC:
        arguments.sort()
    return Form(tuple(sorted(filters)), step.module, tuple(arguments))
