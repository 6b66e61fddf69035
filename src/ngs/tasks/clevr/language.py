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

All this for multisets that some program is made of (`possible`): what is needed as an argument is there, one
thing is left over for the whole, and no attribute is named more often than there are noun phrases.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from ngs.grammar.constraint import AnyOrder, Constraint, Counting, Given, KernelRule
from ngs.grammar.padding import PAD
from ngs.grammar.rules import Nonterminal
from ngs.tasks.clevr.execution import ANSWER_TYPES, Type, modules
from ngs.tasks.clevr.program import MODULES, clevr_tidy

ORDER = tuple(rule.body[0].name for rule in clevr_tidy().rules if rule.alias == "apply_filter")
"""Attributes in the order in which a tidy program names them: the last to be applied comes first."""

_RANKS = {
    rule.body[0].name: rank
    for rank, name in enumerate(ORDER)
    for rule in clevr_tidy().by_head[Nonterminal(name)]
}
RANK = torch.tensor([_RANKS.get(module, -1) for module in MODULES])
"""[module]: the place of a filter's attribute in a tidy noun phrase; -1 for what is no filter"""

_TYPES = (None, *Type)
NOTHING, TRUTH, INTEGER, CONCEPT, OBJECT, OBJECTS = (
    _TYPES.index(type) for type in (None, Type.TRUTH, Type.INTEGER, Type.CONCEPT, Type.OBJECT, Type.OBJECTS)
)
_WHOLE = [_TYPES.index(type) for type in ANSWER_TYPES]

_MODULES = [modules()[name] for name in MODULES]
_MAKES = torch.tensor([_TYPES.index(module.gives) for module in _MODULES])
_NEEDS = torch.tensor([[_TYPES.index(t) for t in (*module.takes, None, None)[:2]] for module in _MODULES])
_IS_SCENE = (_MAKES == OBJECTS) & (_NEEDS[:, 0] == NOTHING)
CLOSES = (_MAKES == OBJECTS) & (RANK < 0)
"""[module]: whether it ends a noun phrase, so that filters can stand before it"""

NEED_AT, RANK_AT, SCENE_AT, BRANCHES_AT = 3, 6, 9, 10
"""Where the facts about a module begin in the number that kernels look at."""


class Programs(Counting):
    """Programs with filters in any order, as in the paper's grammar."""

    makes: Tensor
    first_need: Tensor
    is_scene: Tensor
    begins: Tensor  # bool [module]: whether a program can begin with it
    spare: Tensor  # float [module, type]: how many more of each type it makes than it needs
    totals: Tensor
    """float [module, total]: scenes, branching modules, counts, queries, truths, modules that close a noun
    phrase"""
    rank: Tensor
    of_rank: Tensor  # float [module, rank]
    facts: Tensor
    """int32 [module]: what it makes, its first need, its rank + 1 (three bits each), whether it is `scene`
    and whether it branches, as the bits of a number"""

    def __init__(self) -> None:
        super().__init__(len(MODULES))
        needs, branches = _NEEDS[:, 0], _NEEDS[:, 1] != NOTHING
        made, needed = (torch.nn.functional.one_hot(each, len(_TYPES)) for each in (_MAKES, _NEEDS))
        makes = [_MAKES.eq(kind) for kind in (INTEGER, CONCEPT, TRUTH)]
        bits = [needs << NEED_AT, (RANK + 1) << RANK_AT, _IS_SCENE << SCENE_AT, branches << BRANCHES_AT]
        tables = {
            "makes": _MAKES,
            "first_need": needs,
            "is_scene": _IS_SCENE,
            "begins": torch.isin(_MAKES, torch.tensor(_WHOLE)),
            "spare": (made - needed.sum(1)).float(),
            "totals": torch.stack([_IS_SCENE, branches, *makes, CLOSES], 1).float(),
            "rank": RANK,
            "of_rank": (RANK[:, None] == torch.arange(len(ORDER))).float(),
            "facts": (_MAKES + sum(bits)).int(),
        }
        for name, table in tables.items():
            self.register_buffer(name, table.clone(), persistent=False)

    def possible(self, given: Given) -> Tensor:
        return self._arranges(self._multiset(given).float())

    def _arranges(self, counts: Tensor) -> Tensor:
        spare = counts @ self.spare
        whole, parts = spare[:, _WHOLE], spare[:, [OBJECT, OBJECTS]]
        return (whole.sum(1) == 1) & (whole >= 0).all(1) & (parts == 0).all(1)

    def legal(self, left: Tensor, last: Tensor) -> Tensor:
        return self._legal(left, last, left.float() @ self.totals)

    def _legal(self, left: Tensor, last: Tensor, totals: Tensor) -> Tensor:
        """`totals` [..., total]: how many modules of some classes are left."""
        scenes, branching, counts, queries, truths, _ = totals.unbind(-1)
        height = scenes - branching
        second = torch.where(counts > 0, INTEGER, CONCEPT)
        below = torch.where(height > counts + queries, OBJECTS, second)
        needed = self.first_need[last.clamp(min=0)]
        wanted = torch.where(needed == NOTHING, torch.where(height > 0, below, NOTHING), needed)[..., None]
        fits = (self.makes == wanted) & (last != PAD)[..., None]
        # `count` and `query` begin a program only where no comparison is left to compare what they give.
        first = self.begins & ((truths == 0)[..., None] | (self.makes == TRUTH))
        fits = fits | (first & (last == PAD)[..., None])
        dead_end = (height == 1) & (left.sum(-1) > 1)
        return fits & (left > 0) & ~(dead_end[..., None] & self.is_scene)

    def rule(self) -> KernelRule:
        from ngs.kernels.program_rules import programs

        return KernelRule(programs, self.facts)


class TidyPrograms(Programs):
    """Programs whose noun phrases name each attribute at most once, in a fixed order."""

    def rule(self) -> KernelRule:
        from ngs.kernels.program_rules import tidy_programs

        return KernelRule(tidy_programs, self.facts)

    def _arranges(self, counts: Tensor) -> Tensor:
        phrases = counts @ self.totals[:, -1:]
        return super()._arranges(counts) & (counts @ self.of_rank <= phrases).all(1)

    def legal(self, left: Tensor, last: Tensor) -> Tensor:
        modules_left = left.float()  # whole numbers; no GPU multiplies matrices of integers
        totals = modules_left @ self.totals
        fits = super()._legal(left, last, totals)
        of_rank = modules_left @ self.of_rank
        to_come = totals[..., -1:] - 1
        crowded = (of_rank > to_come).long()  # attributes that need this very noun phrase
        needed_before = torch.nn.functional.pad(crowded.cumsum(-1), (1, 0))
        rank = torch.where(last == PAD, -1, self.rank[last.clamp(min=0)])[..., None]
        # A filter passes over the ranks before its own; what closes the phrase passes over all.
        passed = needed_before[..., torch.where(self.rank < 0, len(ORDER), self.rank)]
        skips_needed = passed > needed_before.gather(-1, rank + 1)
        in_order = (self.rank < 0) | (self.rank > rank)
        in_phrase = self.makes == OBJECTS
        return fits & (~in_phrase | (in_order & ~skips_needed))


LANGUAGES: Mapping[str, Callable[[], Constraint[Any]]] = {
    "tidy": TidyPrograms,
    "free": Programs,
    "none": lambda: AnyOrder(len(MODULES)),
}
"""The programs that a network may choose from: by tidy noun phrases, by the paper's grammar, by none."""
