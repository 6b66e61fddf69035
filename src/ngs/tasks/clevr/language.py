"""The language of programs, for many at once: which module may come next, so that all are used up.

A program is in prefix notation, so its beginning leaves a stack of things still to be said. Neither that
stack nor a search is needed to know what may come next, by counting what is left:

- Every set of objects is a noun phrase: filters and one module that closes it (`scene`, a relation, a set
  operation). Each thing on the stack will end in one `scene`, and each module with two branches that is left
  will add one thing; so the stack is as high as there are scenes left, less branching modules left.
- Behind a `scene`, the top of the stack is the second set of a set operation or, if all that is left there
  are second arguments of a comparison, one of those: as many as there are `count`s and queries left.
- A prefix is a dead end only if a `scene` empties the stack while modules are left.
- Modules that only a whole program begins with (exist, comparisons) come first.
- In the tidy language a noun phrase takes its filters in one order, at most one of each attribute. There is
  room for what is left of an attribute unless it is more than the noun phrases to come: the closing modules
  left, less that of the phrase we are in.

All this for multisets that some program is made of (`arranges`): what is needed as an argument is there, one
thing is left over for the whole, and no attribute is named more often than there are noun phrases.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ngs.gpu import Resident
from ngs.grammar.padding import PAD
from ngs.parsing.arrangement import Rule
from ngs.tasks.clevr.execution import Type, modules
from ngs.tasks.clevr.program import MODULES
from ngs.tasks.clevr.scenes import ATTRIBUTES

ORDER = tuple(reversed(tuple(ATTRIBUTES)))
"""Attributes in the order in which a tidy program names them: the last to be applied comes first."""


_MODULES = [modules()[name] for name in MODULES]
_TYPES = (None, *Type)
NOTHING, TRUTH, INTEGER, CONCEPT, OBJECT, OBJECTS = (
    _TYPES.index(type) for type in (None, Type.TRUTH, Type.INTEGER, Type.CONCEPT, Type.OBJECT, Type.OBJECTS)
)
_MAKES = torch.tensor([_TYPES.index(module.gives) for module in _MODULES])
_NEEDS = torch.tensor([[_TYPES.index(t) for t in (*module.takes, None, None)[:2]] for module in _MODULES])
RANK = torch.tensor(
    [ORDER.index(m[len("filter_") :].partition("[")[0]) if m.startswith("filter_") else -1 for m in MODULES]
)
"""[module]: the place of a filter's attribute in a tidy noun phrase; -1 for what is no filter"""
_OF_RANK = (RANK[:, None] == torch.arange(len(ORDER))).float()
CLOSES = (_MAKES == OBJECTS) & (RANK < 0)
"""[module]: whether it ends a noun phrase, so that filters can stand before it"""
_IS_SCENE = torch.tensor([module == "scene" for module in MODULES])
_TOTALS = torch.stack(
    [
        _IS_SCENE,
        _NEEDS[:, 1] != NOTHING,
        _MAKES == INTEGER,
        _MAKES == CONCEPT,
        _MAKES == TRUTH,
        CLOSES,
    ],
    1,
).float()
"""[module, total]: scenes, branching modules, counts, queries, truths, modules that close a noun phrase"""


_MADE = torch.nn.functional.one_hot(_MAKES, len(_TYPES)).float()
_NEEDED = torch.nn.functional.one_hot(_NEEDS, len(_TYPES)).sum(1).float()
"""[module, type]: how many of each type a module makes and needs"""


NEED_AT, RANK_AT, SCENE_AT, BRANCHES_AT = 3, 6, 9, 10
_FACTS = Resident(
    (
        _MAKES
        | _NEEDS[:, 0] << NEED_AT
        | (RANK + 1) << RANK_AT
        | _IS_SCENE.long() << SCENE_AT
        | (_NEEDS[:, 1] != NOTHING).long() << BRANCHES_AT
    ).int()
)
"""[module]: what it makes, its first need, its rank + 1 (three bits each), whether it is `scene` and whether
it branches, as the bits of a number: what the rules for kernels look at"""


class Programs:
    """Programs with filters in any order, as in the paper's grammar."""

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self._makes, self._first_need, self._rank = (t.to(device) for t in (_MAKES, _NEEDS[:, 0], RANK))
        self._totals, self._of_rank = _TOTALS.to(device), _OF_RANK.to(device)
        self._is_scene = _IS_SCENE.to(device)
        self._begins = (self._makes != OBJECTS) & (self._makes != OBJECT)

    def arranges(self, counts: Tensor) -> Tensor:
        made, needed = (counts.float() @ table.to(counts.device) for table in (_MADE, _NEEDED))
        spare = made - needed
        whole = spare[:, [TRUTH, INTEGER, CONCEPT]]
        return (whole.sum(1) == 1) & (whole >= 0).all(1) & (spare[:, [OBJECT, OBJECTS]] == 0).all(1)

    def legal(self, left: Tensor, last: Tensor) -> Tensor:
        return self._legal(left, last, left.float() @ self._totals)

    def _legal(self, left: Tensor, last: Tensor, totals: Tensor) -> Tensor:
        """`totals` [..., total]: how many modules of some classes are left, in the order of _TOTALS."""
        scenes, branching, counts, queries, truths, _ = totals.unbind(-1)
        height = scenes - branching
        second = torch.where(counts > 0, INTEGER, CONCEPT)
        below = torch.where(height > counts + queries, OBJECTS, second)
        needed = self._first_need[last.clamp(min=0)]
        wanted = torch.where(needed == NOTHING, torch.where(height > 0, below, NOTHING), needed)[..., None]
        fits = (self._makes == wanted) & (last != PAD)[..., None]
        # `count` and `query` begin a program only where no comparison is left to compare what they give.
        first = self._begins & ((truths == 0)[..., None] | (self._makes == TRUTH))
        fits = fits | (first & (last == PAD)[..., None])
        dead_end = (height == 1) & (left.sum(-1) > 1)
        return fits & (left > 0) & ~(dead_end[..., None] & self._is_scene)

    def rule(self, symbols: int, device: torch.device) -> Rule:
        from ngs.kernels.program_rules import programs

        return Rule(programs, _FACTS.on(device))


class TidyPrograms(Programs):
    """Programs whose noun phrases name each attribute at most once, in a fixed order."""

    def rule(self, symbols: int, device: torch.device) -> Rule:
        from ngs.kernels.program_rules import tidy_programs

        return Rule(tidy_programs, _FACTS.on(device))

    def arranges(self, counts: Tensor) -> Tensor:
        phrases = counts.float() @ self._totals[:, -1:]
        return super().arranges(counts) & (counts.float() @ self._of_rank <= phrases).all(1)

    def legal(self, left: Tensor, last: Tensor) -> Tensor:
        modules_left = left.float()  # whole numbers; no GPU multiplies matrices of integers
        totals = modules_left @ self._totals
        fits = super()._legal(left, last, totals)
        of_rank = modules_left @ self._of_rank
        to_come = totals[..., -1:] - 1
        crowded = (of_rank > to_come).long()  # attributes that need this very noun phrase
        needed_before = torch.nn.functional.pad(crowded.cumsum(-1), (1, 0))
        rank = torch.where(last == PAD, -1, self._rank[last.clamp(min=0)])[..., None]
        # A filter passes over the ranks before its own; what closes the phrase passes over all.
        passed = needed_before[..., torch.where(self._rank < 0, len(ORDER), self._rank)]
        skips_needed = passed > needed_before.gather(-1, rank + 1)
        in_order = (self._rank < 0) | (self._rank > rank)
        in_phrase = self._makes == OBJECTS
        return fits & (~in_phrase | (in_order & ~skips_needed))
