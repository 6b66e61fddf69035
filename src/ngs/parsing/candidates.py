"""Several sentences for each example of a batch: neighbours, samples, everything that gives an answer."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Candidates:
    """Some sentences for each of some rows."""

    rows: Tensor  # int64 [candidate], ascending: which row of a batch the sentence is for
    symbols: Tensor  # int64 [candidate, time]: symbol ids, PAD after the end

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, chosen: Tensor) -> Candidates:
        """Some of them, by a mask or by indices that keep the order of the rows."""
        return Candidates(self.rows[chosen], self.symbols[chosen])

    def of(self, rows: Tensor) -> Candidates:
        """The same sentences, with row k called `rows[k]`; `rows` must be ascending."""
        return Candidates(rows[self.rows], self.symbols)


def joined(*parts: Candidates) -> Candidates:
    """All candidates of several parts, which have equally long sentences."""
    rows = torch.cat([part.rows for part in parts])
    order = rows.argsort(stable=True)
    return Candidates(rows[order], torch.cat([part.symbols for part in parts])[order])


def distinct(candidates: Candidates) -> Candidates:
    """Each sentence of a row once."""
    # One 64-bit number per sentence: comparing whole sentences takes a hundred times as long.
    return candidates.select(first_of_each(candidates.rows, fingerprints(candidates.symbols)))


def first_of_each(rows: Tensor, names: Tensor) -> Tensor:
    """Indices of the first candidate with each name in its row, rows ascending."""
    order = names.argsort(stable=True)
    order = order[rows[order].argsort(stable=True)]
    rows, names = rows[order], names[order]
    first = torch.ones_like(rows, dtype=torch.bool)
    first[1:] = (rows[1:] != rows[:-1]) | (names[1:] != names[:-1])
    return order[first]


def most_likely_first(rows: Tensor, log_p: Tensor) -> Tensor:
    """Indices that sort candidates by row, and within a row by falling probability."""
    order = log_p.argsort(descending=True, stable=True)
    return order[rows[order].argsort(stable=True)]


def fingerprints(symbols: Tensor) -> Tensor:
    """int64 [sentence]: a hash of each sentence [sentence, time] of at most 1,024 symbols.

    Compare only sentences that are padded to one length. 64 bits practically never collide.
    """
    time = symbols.shape[1]
    weights = _WEIGHTS[:time].to(symbols.device)
    mixed = (symbols + 2) * weights  # wraps around, as a hash should
    return (mixed ^ (mixed >> 29)).mul(weights.flip(0) | 1).sum(1)


_WEIGHTS = torch.randint(-(2**63), 2**63 - 1, (1024,), generator=torch.Generator().manual_seed(0))
"""One random number for each position; fixed, so that runs can be repeated."""


def rank_in_row(rows: Tensor) -> Tensor:
    """[candidate]: how many candidates of the same row come before each; `rows` must be ascending."""
    return torch.arange(len(rows), device=rows.device) - torch.searchsorted(rows, rows)


def log_sum_by_row(log_p: Tensor, rows: Tensor, number: int) -> Tensor:
    """log of the sum of exp(log_p) over each row [number], differentiable; -inf where a row has none."""
    highest = log_p.new_full((number,), -torch.inf).scatter_reduce(0, rows, log_p.detach(), "amax")
    shift = highest.masked_fill(highest.isneginf(), 0.0)  # -inf minus -inf would be NaN
    total = log_p.new_zeros(number).index_add(0, rows, (log_p - shift[rows]).exp())
    # Where there is any probability the total is at least 1, so the logarithm has a gradient.
    return torch.where(total > 0, total, 1.0).log() + highest
