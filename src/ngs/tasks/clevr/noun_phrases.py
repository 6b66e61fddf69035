"""The noun phrases of programs: filters, and the modules whose objects they filter.

In prefix notation a noun phrase is a run of filters and the module it describes: `scene`, a relation, or a
set operation. The tidy language has the filters of a noun phrase in one order.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ngs.grammar.multisets import symbol_classes
from ngs.grammar.padding import PAD
from ngs.parsing.candidates import fingerprints
from ngs.search.edits import Phrases, Rearrange, Switch
from ngs.tasks.clevr.equivalence import SYMMETRIC
from ngs.tasks.clevr.language import CLOSES, RANK
from ngs.tasks.clevr.program import GRAMMAR, MODULES


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
        """int64 [row]: equal for programs that differ only in the order of filters of a noun phrase, or of
        symmetric branches."""
        mirrored = self.in_order(self.mirrored(z))
        return torch.minimum(fingerprints(self.in_order(z)), fingerprints(mirrored))


def switches() -> Switch:
    """The paper's edits: two modules of one group change places, and nothing else does."""
    return Switch(torch.tensor(symbol_classes(GRAMMAR)))


def rearrangements(moves: bool = True) -> Rearrange:
    """Edits in the tidy language: switches and, with `moves`, filters that move and chains that turn."""
    return Rearrange(switches(), NounPhrases(), moves)
