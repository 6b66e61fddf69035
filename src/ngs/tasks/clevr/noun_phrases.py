"""The noun phrases of programs: where filters are, what moving one makes, and what means the same.

In prefix notation a noun phrase is a run of filters and the module it describes: `scene`, a relation, or a
set operation. So a program is what is left without its filters, and a place in it for each filter.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ngs.grammar.multisets import symbol_classes
from ngs.grammar.padding import PAD
from ngs.parsing.candidates import Candidates, fingerprints
from ngs.search.edits import Edits, Switch
from ngs.tasks.clevr.equivalence import SYMMETRIC
from ngs.tasks.clevr.language import CLOSES, RANK
from ngs.tasks.clevr.program import GRAMMAR, MODULES

_WIDTH = int(RANK.max()) + 2


class NounPhrases(nn.Module):
    """Questions about the noun phrases of programs [row, time], for many at once."""

    rank: Tensor
    closes: Tensor
    relates: Tensor
    symmetric: Tensor

    def __init__(self) -> None:
        super().__init__()
        relates = [module.startswith(("relate[", "same_")) for module in MODULES]
        symmetric = [module in SYMMETRIC for module in MODULES]
        tables = {"rank": RANK, "closes": CLOSES, "relates": relates, "symmetric": symmetric}
        for name, table in tables.items():
            self.register_buffer(name, torch.as_tensor(table), persistent=False)

    def phrases(self, z: Tensor) -> Tensor:
        """int64 [row, time]: the noun phrase of each filter, by how many other modules stand before it."""
        others = (self._ranks(z) < 0).long()
        return others.cumsum(1) - others

    def tidied(self, z: Tensor, phrase: Tensor | None = None) -> Tensor:
        """The programs with each filter in its noun phrase (or in those of `phrase`), in the tidy order."""
        rank = self._ranks(z)
        number = self.phrases(z) if phrase is None else phrase
        key = number * _WIDTH + torch.where(rank < 0, _WIDTH - 1, rank)
        return z.gather(1, key.argsort(dim=1, stable=True))

    def is_tidy(self, z: Tensor) -> Tensor:
        """bool [row]: whether each noun phrase names each attribute at most once, in the tidy order."""
        rank = self._ranks(z)
        return ((rank[:, 1:] < 0) | (rank[:, :-1] < rank[:, 1:])).all(1)

    def moves(self, z: Tensor) -> Candidates:
        """Every program that moving one filter to another noun phrase makes, tidied."""
        rank, number = self._ranks(z), self.phrases(z)
        described = self.closes[z.clamp(min=0)] & (z != PAD)
        elsewhere = number[:, :, None] != number[:, None]  # [row, filter, what it is to describe]
        row, moved, place = ((rank >= 0)[:, :, None] & described[:, None] & elsewhere).nonzero(as_tuple=True)
        changed = number[row].scatter(1, moved[:, None], number[row, place][:, None])
        return Candidates(row, self.tidied(z[row], changed))

    def turns(self, z: Tensor) -> Candidates:
        """Every program that turning a chain of related noun phrases round makes, tidied.

        "A left of B behind C" becomes "C behind B left of A": the filters of the phrases a to b and the
        relations between them are put in the opposite order. Which end of a chain is which is the easiest
        thing to get wrong consistently, and no single switch or move puts it right. There is one turn for
        each pair of noun phrases. A pair that no chain connects leaves the program as it is.
        """
        device = z.device
        module = z.clamp(min=0)
        ends = self.closes[module] & (z != PAD)
        phrase = ends.long().cumsum(1) - ends.long()  # of a filter and of what ends its phrase
        where = torch.where(ends, torch.arange(z.shape[1], device=device), z.shape[1]).sort(1).values
        broken = (ends & ~self.relates[module]).long()
        broken = broken.cumsum(1) - broken
        pairs = (ends[:, :, None] & ends[:, None]).triu(1)
        row, first, last = pairs.nonzero(as_tuple=True)
        a, b = phrase[row, first][:, None], phrase[row, last][:, None]
        connected = (broken[row, first] == broken[row, last])[:, None]
        z, phrase, ends, where = z[row], phrase[row], ends[row], where[row]
        inside = connected & (phrase >= a) & (phrase <= b)
        turned = torch.where(inside, a + b - phrase, phrase)
        of_relation = torch.where(inside & ends & (phrase < b), a + b - 1 - phrase, phrase)
        related = z.gather(1, where.gather(1, of_relation).clamp(max=z.shape[1] - 1))
        z = torch.where(inside & ends, related, z)
        place = self.phrases(z).gather(1, where.gather(1, turned).clamp(max=z.shape[1] - 1))
        filters = self._ranks(z) >= 0
        return Candidates(row, self.tidied(z, torch.where(filters, place, self.phrases(z))))

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
        """int64 [row]: equal for programs that differ only in the order of filters of a noun phrase, or of
        symmetric branches."""
        mirrored = self.tidied(self.mirrored(z))
        return torch.minimum(fingerprints(self.tidied(z)), fingerprints(mirrored))

    def _ranks(self, z: Tensor) -> Tensor:
        return torch.where(z == PAD, -1, self.rank[z.clamp(min=0)])


def switches() -> Switch:
    """The paper's edits: two modules of one group change places, and nothing else does."""
    return Switch(torch.tensor(symbol_classes(GRAMMAR)))


class TidyEdits(Edits):
    """Edits in the tidy language: switches, moves of a filter to another noun phrase, turns of a chain."""

    def __init__(self, moves: bool = True) -> None:
        """`moves`: whether filters move and chains turn, too."""
        super().__init__()
        self.moves, self.switches, self.phrases = moves, switches(), NounPhrases()

    def neighbours(self, z: Tensor) -> Candidates:
        switched = self.switches.neighbours(z)
        parts = [Candidates(switched.rows, self.phrases.tidied(switched.symbols))]
        if self.moves:
            parts += [self.phrases.moves(z), self.phrases.turns(z)]
        rows, order = torch.cat([part.rows for part in parts]).sort(stable=True)
        made = torch.cat([part.symbols for part in parts])[order]
        kept = self.phrases.is_tidy(made) & (made != z[rows]).any(1)
        return Candidates(rows[kept], made[kept])
