"""Sentences as symbol ids, with their names and trees for those who want to read them."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ngs.errors import ShapeError
from ngs.grammar.grammar import Grammar
from ngs.grammar.padding import PAD
from ngs.grammar.tree import Sentence, Tree
from ngs.parsing.sentence import parse


@dataclass(frozen=True)
class Sentences:
    """A batch of sentences; both tensors may have further dimensions in front (the k best of each).

    Where no sentence has positive probability, `log_probs` is -inf and `symbols` is PAD throughout.
    """

    symbols: Tensor
    """[..., time]: symbol ids, PAD after the end"""
    log_probs: Tensor
    """[...]: log p(z|x)"""
    grammar: Grammar

    def __getitem__(self, index: int | tuple[int, ...]) -> Sentence:
        """The sentence as symbols by name; empty where there is none."""
        if self.symbols[index].ndim != 1:
            shape = list(self.symbols.shape[:-1])
            raise ShapeError(
                f"[{index}] is not one of the sentences {shape}; for k best give [example, rank]"
            )
        return self.grammar.decode(symbol for symbol in self.symbols[index].tolist() if symbol != PAD)

    def tree(self, index: int | tuple[int, ...]) -> Tree:
        """The reasoning tree of one sentence."""
        return parse(self.grammar, self[index])
