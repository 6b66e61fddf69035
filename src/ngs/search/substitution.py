"""Back-search without tables: a task says for whole batches what every change of one symbol would give.

Tables hold every value that a part of a sentence can have, and those are too many for long sentences. The
search needs less: whether a sentence gives its answer once one symbol is another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ngs.grammar.grammar import Grammar
from ngs.reasoning.operation import Value
from ngs.search.neighbours import Neighbours, usable_symbols


class BatchedValues(Protocol):
    """A semantics for whole batches, with sentences as columns [batch, time], whatever behind the end."""

    def targets(self, answers: Sequence[Value]) -> Tensor:
        """What stands for each answer [answer, ...], also for those that no sentence gives."""

    def in_language(self, columns: Tensor, lengths: Tensor) -> Tensor:
        """Whether it is a sentence of the grammar [batch]."""

    def changes(self, columns: Tensor, lengths: Tensor, targets: Tensor) -> Tensor:
        """[batch, time, symbol]: whether f(z) is the target once that symbol stands at that time.

        The whole changed sentence counts, parsed anew; where it is none of the language, it is not right.
        """


Compile = Callable[[Grammar, int, torch.device], BatchedValues]
"""Makes batched values for a grammar, sentences of up to so many symbols, and a device."""


@dataclass(frozen=True, eq=False)
class Substitutions:
    """The engine of a search over sentences of up to so many symbols."""

    values: BatchedValues
    usable: Tensor
    """[length, time, symbol]: whether some sentence of exactly that length has the symbol there"""

    @classmethod
    def of(cls, grammar: Grammar, longest: int, device: torch.device, compiled: Compile) -> Substitutions:
        usable = usable_symbols(grammar, longest).to(device)
        return cls(compiled(grammar, longest, device), usable)

    def neighbours(self, columns: Tensor, lengths: Tensor, targets: Tensor) -> Neighbours:
        in_language = self.values.in_language(columns, lengths)
        changed = self.values.changes(columns, lengths, targets)
        itself = changed[:, 0].gather(1, columns[:, :1].clamp(min=0))[:, 0]  # a symbol for itself
        return Neighbours(itself & in_language, in_language, changed)
