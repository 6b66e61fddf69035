"""Batched values that parse and execute every changed sentence: what fast ones are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ngs.grammar.grammar import Grammar
from ngs.parsing.sentence import find_tree
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import Meaning, evaluate
from ngs.search.substitution import Compile


@dataclass(frozen=True)
class SlowValues:
    """A target is the number of the answer among those that were asked for."""

    grammar: Grammar
    semantics: Meaning
    answers: list[Value]

    def targets(self, answers: Sequence[Value]) -> Tensor:
        self.answers.extend(answers)
        return torch.arange(len(self.answers) - len(answers), len(self.answers))

    def in_language(self, columns: Tensor, lengths: Tensor) -> Tensor:
        pairs = zip(columns.tolist(), lengths.tolist(), strict=True)
        return torch.tensor([self._is_sentence(row[:length]) for row, length in pairs], dtype=torch.bool)

    def changes(self, columns: Tensor, lengths: Tensor, targets: Tensor) -> Tensor:
        changed = torch.zeros(*columns.shape, len(self.grammar.symbols), dtype=torch.bool)
        for b, (row, length) in enumerate(zip(columns.tolist(), lengths.tolist(), strict=True)):
            answer = self.answers[int(targets[b])]
            for t in range(length):
                for symbol in range(len(self.grammar.symbols)):
                    other = [*row[:t], symbol, *row[t + 1 : length]]
                    changed[b, t, symbol] = self._is_sentence(other) and self._value(other) == answer
        return changed

    def _is_sentence(self, columns: list[int]) -> bool:
        return min(columns) >= 0 and find_tree(self.grammar, self.grammar.decode(columns)) is not None

    def _value(self, columns: list[int]) -> Value:
        tree = find_tree(self.grammar, self.grammar.decode(columns))
        assert tree is not None
        return evaluate(tree, self.semantics)


def slow(semantics: Meaning) -> Compile:
    return lambda grammar, longest, device: SlowValues(grammar, semantics, [])
