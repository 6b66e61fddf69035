"""Distributions p(z|x) over sentences: what every network gives, in whichever way it writes sentences.

A distribution has one row for each example of a batch, and a support: the sentences it ranges over.

    score(z) = log p(z|x), as the network says it
    log_z    = log of the sum of p(z|x) over the support,     p(z | x, support) = exp(score(z) - log_z)

Where the support is the sentences with the right answer, log_z is log p(y|x), and p(z | x, support) is the
posterior p(z|x,y). `within` narrows the support to a list.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import torch
from torch import Tensor

from ngs.grammar.grammar import Grammar
from ngs.grammar.padding import PAD
from ngs.parsing.candidates import Candidates, log_sum_by_row, most_likely_first, rank_in_row
from ngs.parsing.sentence import Sentences


class Distribution(Protocol):
    """p(z|x) of the rows of a batch. Sentences are symbol ids [row, time], with PAD after the end."""

    @property
    def grammar(self) -> Grammar: ...

    def __len__(self) -> int: ...

    @property
    def log_z(self) -> Tensor:
        """[batch]: log p(support | x), differentiable; -inf where the support is empty."""

    def score(self, rows: Tensor, z: Tensor) -> Tensor:
        """log p(z|x) [sentence] of sentences [sentence, time] of some rows, differentiable.

        In double precision, so that sums tie only where probabilities do.
        """

    def best(self) -> Sentences:
        """A likely sentence for each row [batch]: the most likely one where that can be found."""

    def sample(self, generator: torch.Generator) -> Sentences:
        """A sentence for each row [batch], drawn from p(z | x, support)."""

    def topk(self, k: int) -> Sentences:
        """The k most likely sentences of each row [batch, k], best first; PAD and -inf after the last."""

    def select(self, rows: Tensor) -> Self:
        """The distribution of some rows, in any order and number."""

    def within(self, support: Candidates) -> Listed:
        """The same p(z|x) within a list of sentences."""


@dataclass(frozen=True, eq=False)
class Listed:
    """p(z|x) within a list of candidates: `log_z` and `topk` only."""

    p: Distribution
    candidates: Candidates
    scores: Tensor  # [candidate]: log p(z|x), differentiable

    @classmethod
    def of(cls, p: Distribution, candidates: Candidates) -> Listed:
        return cls(p, candidates, p.score(candidates.rows, candidates.symbols))

    def __len__(self) -> int:
        return len(self.p)

    @cached_property
    def log_z(self) -> Tensor:
        return log_sum_by_row(self.scores, self.candidates.rows, len(self))

    def among(self, chosen: Tensor) -> Listed:
        """p(z|x) within some of the candidates, given by indices that keep the order of the rows."""
        return Listed(self.p, self.candidates.select(chosen), self.scores[chosen])

    def topk(self, k: int) -> Sentences:
        rows, scores = self.candidates.rows, self.scores.detach()
        order = most_likely_first(rows, scores)
        rank = rank_in_row(rows[order])
        order, rank = order[rank < k], rank[rank < k]
        z = rows.new_full((len(self), k, self.candidates.symbols.shape[1]), PAD)
        log_probs = scores.new_full((len(self), k), -torch.inf)
        z[rows[order], rank] = self.candidates.symbols[order]
        log_probs[rows[order], rank] = scores[order]
        return Sentences(z.masked_fill(log_probs.isneginf()[..., None], PAD), log_probs, self.p.grammar)
