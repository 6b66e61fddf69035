"""Distributions p(z|x) over sentences: what every network gives, in whichever way it writes sentences.

A distribution has one row for each example of a batch, and a support: the sentences it ranges over. Two
numbers say everything:

    score(z) = log p(z|x), as the network says it
    log_z    = log of the sum of p(z|x) over the support,     p(z | x, support) = exp(score(z) - log_z)

`within` narrows the support, to the sentences that give the right answer for instance. Then log_z is
log p(y|x), and what remains is the posterior p(z|x,y).

`Independent` (independent.py) has scores for each position; its support is a language, and log_z is the log
share of p that is grammatical. `Autoregressive` (autoregressive.py) writes one symbol after another, and only
what the language allows, so its log_z is 0. `Listed` is any distribution within a list of sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from ngs.grammar.padding import PAD
from ngs.parsing.candidates import Candidates, likeliest_first, log_sum_by_row, rank_in_row


class Distribution(Protocol):
    """p(z|x) of a batch. Sentences are symbol ids [row, time], with PAD after the end."""

    def __len__(self) -> int: ...

    @property
    def log_z(self) -> Tensor:
        """[batch]: log p(support | x), differentiable; -inf where the support is empty."""

    def score(self, rows: Tensor, z: Tensor) -> Tensor:
        """log p(z|x) [sentence] of sentences [sentence, time] of some rows, differentiable.

        In double precision, so that sums tie only where probabilities do.
        """

    def best(self) -> Tensor:
        """A likely sentence for each row [batch, time]: the most likely one where that can be found."""

    def sample(self, generator: torch.Generator) -> Tensor:
        """A sentence for each row [batch, time], drawn from p(z | x, support)."""

    def topk(self, k: int) -> tuple[Tensor, Tensor]:
        """The k most likely sentences [batch, k, time] and their scores [batch, k], best first.

        PAD and -inf where there are fewer.
        """

    def select(self, rows: Tensor) -> Self:
        """The distribution of some rows, in any order and number."""

    def within(self, support: Any) -> Distribution:
        """The same p(z|x) on a narrower support: a list of candidates, or what a chart derives."""


@dataclass(frozen=True, eq=False)
class Listed:
    """p(z|x) within a list of candidates."""

    candidates: Candidates
    scores: Tensor
    """[candidate]: log p(z|x), differentiable"""
    rows: int

    @classmethod
    def of(cls, p: Distribution, candidates: Candidates) -> Listed:
        return cls(candidates, p.score(candidates.rows, candidates.symbols), len(p))

    def __len__(self) -> int:
        return self.rows

    @cached_property
    def log_z(self) -> Tensor:
        return log_sum_by_row(self.scores, self.candidates.rows, self.rows)

    def topk(self, k: int) -> tuple[Tensor, Tensor]:
        rows = self.candidates.rows
        order = likeliest_first(rows, self.scores.detach())
        rank = rank_in_row(rows[order])
        order, rank = order[rank < k], rank[rank < k]
        z = rows.new_full((self.rows, k, self.candidates.symbols.shape[1]), PAD)
        scores = self.scores.detach().new_full((self.rows, k), -torch.inf)
        z[rows[order], rank] = self.candidates.symbols[order]
        scores[rows[order], rank] = self.scores.detach()[order]
        return z.masked_fill(scores.isneginf()[..., None], PAD), scores
