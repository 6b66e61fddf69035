"""What batched search asks of an engine: which changes of one symbol would give the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.grammar import Grammar


@dataclass(frozen=True)
class Neighbours:
    """Sentences, and all that differ from them in one symbol; nothing is said of what is behind an end."""

    right: Tensor
    """[batch]: whether the sentence gives its target"""
    in_language: Tensor
    """[batch]: whether it is a sentence at all"""
    changed: Tensor
    """[batch, time, symbol]: whether it gives its target once that symbol stands there"""


class Engine(Protocol):
    """Knows one language and its meaning, on one device."""

    @property
    def usable(self) -> Tensor:
        """[length, time, symbol]: whether some sentence of exactly that length has the symbol there."""

    def neighbours(self, columns: Tensor, lengths: Tensor, targets: Tensor) -> Neighbours:
        """Of `columns` [batch, time], with `targets` [batch, ...] as this engine writes answers."""


def usable_symbols(grammar: Grammar, longest: int) -> Tensor:
    """[length, time, symbol]: whether some sentence of exactly that length has the symbol there."""
    table = torch.zeros(longest + 1, longest, len(grammar.symbols), dtype=torch.bool)
    automaton = prefix_automaton(grammar)
    for length in range(1, longest + 1):
        for position, columns in enumerate(automaton.symbols_at(length)):
            table[length, position, list(columns)] = True
    return table
