"""The noun phrases of programs: where filters stand, what moving one makes, and what means the same.

In prefix notation a noun phrase is a run of filters and the module it describes: `scene`, a relation, or a
set operation. So a program is what is left without its filters, and a place in it for each filter.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ngs.gpu import Resident
from ngs.grammar.multisets import symbol_classes
from ngs.grammar.padding import PAD
from ngs.search.arrangement import Candidates, Edits, Switches, fingerprints, joined
from ngs.tasks.clevr.equivalence import SYMMETRIC
from ngs.tasks.clevr.language import CLOSES, RANK
from ngs.tasks.clevr.program import GRAMMAR, MODULES

_WIDTH = int(RANK.max()) + 2
_GROUPS = torch.tensor(symbol_classes(GRAMMAR))
"""[module]: the rows of the supplement's table: modules with equal inputs and output"""
_RELATES = Resident(torch.tensor([module.startswith(("relate[", "same_")) for module in MODULES]))
_CLOSES, _RANK = Resident(CLOSES), Resident(RANK)


def phrases(columns: Tensor) -> Tensor:
    """int64 [row, time]: the number of the noun phrase a filter is in: how many others stand before it."""
    others = (_ranks(columns) < 0).long()
    return others.cumsum(1) - others


def tidied(columns: Tensor, phrase: Tensor | None = None) -> Tensor:
    """The programs with each filter in its noun phrase (or in those of `phrase`), in the tidy order."""
    rank = _ranks(columns)
    number = phrases(columns) if phrase is None else phrase
    key = number * _WIDTH + torch.where(rank < 0, _WIDTH - 1, rank)
    return columns.gather(1, key.argsort(dim=1, stable=True))


def is_tidy(columns: Tensor) -> Tensor:
    """bool [row]: whether the filters of each noun phrase are in the tidy order, one for each attribute."""
    rank = _ranks(columns)
    return ((rank[:, 1:] < 0) | (rank[:, :-1] < rank[:, 1:])).all(1)


def moves(columns: Tensor) -> Candidates:
    """Every program that moving one filter to another noun phrase makes, tidied."""
    rank, number = _ranks(columns), phrases(columns)
    described = _CLOSES.on(columns.device)[columns.clamp(min=0)] & (columns != PAD)
    elsewhere = number[:, :, None] != number[:, None]  # [row, filter, what it is to describe]
    row, moved, place = ((rank >= 0)[:, :, None] & described[:, None] & elsewhere).nonzero(as_tuple=True)
    changed = number[row].scatter(1, moved[:, None], number[row, place][:, None])
    return Candidates(row, tidied(columns[row], changed))


def turns(columns: Tensor) -> Candidates:
    """Every program that turning a chain of related noun phrases round makes, tidied.

    "A left of B behind C" becomes "C behind B left of A": the filters of the phrases a to b and the relations
    between them are put in the opposite order. Which end of a chain is which is the easiest thing to get
    wrong consistently, and no single switch or move puts it right. One for each pair of noun phrases; a pair
    that no chain connects leaves the program as it is.
    """
    device = columns.device
    module = columns.clamp(min=0)
    ends = _CLOSES.on(device)[module] & (columns != PAD)
    phrase = ends.long().cumsum(1) - ends.long()  # of a filter and of what ends its phrase
    where = torch.where(ends, torch.arange(columns.shape[1], device=device), columns.shape[1]).sort(1).values
    broken = (ends & ~_RELATES.on(device)[module]).long()
    broken = broken.cumsum(1) - broken
    pairs = (ends[:, :, None] & ends[:, None]).triu(1)
    row, first, last = pairs.nonzero(as_tuple=True)
    a, b = phrase[row, first][:, None], phrase[row, last][:, None]
    connected = (broken[row, first] == broken[row, last])[:, None]
    columns, phrase, ends, where = columns[row], phrase[row], ends[row], where[row]
    inside = connected & (phrase >= a) & (phrase <= b)
    turned = torch.where(inside, a + b - phrase, phrase)
    of_relation = torch.where(inside & ends & (phrase < b), a + b - 1 - phrase, phrase)
    related = columns.gather(1, where.gather(1, of_relation).clamp(max=columns.shape[1] - 1))
    columns = torch.where(inside & ends, related, columns)
    place = phrases(columns).gather(1, where.gather(1, turned).clamp(max=columns.shape[1] - 1))
    filters = _ranks(columns) >= 0
    return Candidates(row, tidied(columns, torch.where(filters, place, phrases(columns))))


def _tidy_switches(columns: Tensor) -> Candidates:
    found = SWITCHES.results(columns)
    return Candidates(found.rows, tidied(found.columns))


def _all_edits(columns: Tensor) -> Candidates:
    return joined(_tidy_switches(columns), moves(columns), turns(columns))


SWITCHES = Switches.of(_GROUPS)
"""The paper's: two modules of one group change places, and nothing else does."""
TIDY_SWITCHES = Edits(_tidy_switches, is_tidy)
"""The same in the tidy language."""
TIDY_EDITS = Edits(_all_edits, is_tidy)
"""Switches, moves of one filter to another noun phrase, and turns of a chain of noun phrases."""


def mirrored(columns: Tensor) -> Tensor:
    """The programs with the two branches of a symmetric module exchanged; others as they are.

    A program has at most one module with two branches here, and each branch ends with its own `scene`.
    """
    position = torch.arange(columns.shape[1], device=columns.device)
    symmetric = _SYMMETRIC.on(columns.device)[columns.clamp(min=0)] & (columns != PAD)
    scenes = columns == MODULES.index("scene")
    fork = torch.where(symmetric, position, -1).amax(1, keepdim=True)
    end = (columns != PAD).sum(1, keepdim=True) - 1
    first_end = torch.where(scenes, position, columns.shape[1]).amin(1, keepdim=True)
    in_first = (position > fork) & (position <= first_end)
    in_second = (position > first_end) & (position <= end)
    # A stable sort by branch: head 0, second branch 1, first branch 2, padding 3.
    key = torch.where(in_first, 2, torch.where(in_second, 1, torch.where(position > end, 3, 0)))
    key = torch.where((fork >= 0) & (scenes.sum(1, keepdim=True) == 2), key, torch.zeros_like(key))
    return columns.gather(1, key.argsort(dim=1, stable=True))


def meanings(columns: Tensor) -> Tensor:
    """int64 [row]: the same number for programs that differ in the order of the filters of a noun phrase or
    of symmetric branches alone."""
    return torch.minimum(fingerprints(tidied(columns)), fingerprints(tidied(mirrored(columns))))


def _ranks(columns: Tensor) -> Tensor:
    return torch.where(columns == PAD, -1, _RANK.on(columns.device)[columns.clamp(min=0)])


_SYMMETRIC = Resident(torch.tensor([module in SYMMETRIC for module in MODULES]))
