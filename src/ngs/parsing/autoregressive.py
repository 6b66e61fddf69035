"""p(z|x) = product over t of p(z_t | z_1 .. z_t-1, x): a decoder that a constraint keeps in the language.

Each factor is a softmax over the symbols that the constraint allows, so p is a distribution over the
language, and a sample has exactly the probability that `score` gives it (with dropout, on average).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from ngs.grammar.constraint import Constraint, Given
from ngs.grammar.grammar import Grammar
from ngs.grammar.padding import PAD
from ngs.parsing.candidates import Candidates
from ngs.parsing.distribution import Listed
from ngs.parsing.sentence import Sentences


class Decoder(Protocol):
    """A network that has read a batch, and is about to write: what `Autoregressive` asks of it."""

    def select(self, rows: Tensor) -> Self:
        """The decoder of some rows, in any order and number."""

    def follow(self, before: Tensor) -> tuple[Tensor, Self]:
        """Scores of the next symbol [row, time, symbol] after each of `before` [row, time], PAD at the
        beginning, and the decoder after the last."""


@dataclass(frozen=True, eq=False)
class Autoregressive:
    """The distribution of a decoder over the sentences that a constraint allows; `log_z` is 0."""

    grammar: Grammar
    decoder: Decoder
    constraint: Constraint[Any]
    given: Given
    time: int
    """symbols of the longest sentence"""

    def __len__(self) -> int:
        return len(self.given)

    @property
    def log_z(self) -> Tensor:
        return torch.zeros(len(self), device=self.given.device, dtype=torch.float64)

    def score(self, rows: Tensor, z: Tensor) -> Tensor:
        """log p(z|x) [sentence]; -inf where a symbol is not allowed, and for PAD throughout."""
        before = torch.nn.functional.pad(z, (1, 0), value=PAD)[:, :-1]
        scores, _ = self.decoder.select(rows).follow(before)
        legal = self.constraint.masks(self.given.select(rows), z)
        written = z != PAD
        log_p = log_softmax_among(scores, legal | ~written[..., None])
        picked = log_p.gather(2, z.clamp(min=0)[..., None])[..., 0]
        total = picked.masked_fill(~written, 0.0).sum(1, dtype=torch.float64)
        return total.masked_fill(~written.any(1), -torch.inf)

    @torch.no_grad()
    def sample(self, generator: torch.Generator) -> Sentences:
        if self._accelerated is not None:
            symbols, log_p = self._accelerated.sample(self.time, generator)
            return Sentences(symbols, log_p, self.grammar)
        writing = _Writing(self)
        for _ in range(self.time):
            log_p = writing.next_log_probs()
            # Anything may be drawn of a network that has diverged: its loss is NaN, and will be reported.
            p = log_p.exp().masked_fill(writing.over[:, None], 1.0).nan_to_num(nan=1.0)
            drawn = torch.multinomial(p, 1, generator=generator)[:, 0]
            writing.write(drawn.masked_fill(writing.over, PAD), log_p)
        return Sentences(writing.symbols, writing.log_p, self.grammar)

    def best(self) -> Sentences:
        """The most likely symbol at each step."""
        if self._accelerated is not None:
            symbols, log_p = self._accelerated.best(self.time)
            return Sentences(symbols, log_p, self.grammar)
        found = self.topk(1)
        return Sentences(found.symbols[:, 0], found.log_probs[:, 0], self.grammar)

    @torch.no_grad()
    def topk(self, k: int) -> Sentences:
        """The k most likely sentences that a beam of k finds."""
        batch, writing, beams = len(self), _Writing(self), 1
        first = torch.arange(batch, device=self.given.device)[:, None]
        for _ in range(self.time):
            log_p = writing.next_log_probs()
            over = writing.over
            log_p[:, 0] = torch.where(over, 0.0, log_p[:, 0])  # a finished sentence goes on in one way
            total = (writing.log_p[:, None] + log_p).view(batch, -1)
            best, flat = total.topk(min(k, total.shape[1]), dim=1)
            parent = (flat // log_p.shape[1] + first * beams).flatten()
            beams = best.shape[1]
            chosen = (flat % log_p.shape[1]).flatten().masked_fill(over[parent], PAD)
            writing.select(parent)
            writing.write(chosen, log_p[parent])
            writing.log_p = best.flatten()
        z, log_p = writing.symbols.view(batch, beams, -1), writing.log_p.view(batch, beams)
        z = torch.nn.functional.pad(z, (0, 0, 0, k - beams), value=PAD)
        log_p = torch.nn.functional.pad(log_p, (0, k - beams), value=-torch.inf)
        return Sentences(z.masked_fill(log_p.isneginf()[..., None], PAD), log_p, self.grammar)

    def select(self, rows: Tensor) -> Autoregressive:
        return replace(self, decoder=self.decoder.select(rows), given=self.given.select(rows))

    def within(self, support: Candidates) -> Listed:
        return Listed.of(self, support)

    @cached_property
    def _accelerated(self) -> Any:
        """The decoder as a GPU kernel (`ngs.kernels.decoder`), for the networks and devices that have one."""
        offered = getattr(self.decoder, "accelerated", None)
        return None if offered is None else offered(self.constraint, self.given)


class _Writing:
    """Sentences that are being written, one symbol longer with each `write`."""

    def __init__(self, p: Autoregressive) -> None:
        self._constraint, self._decoder = p.constraint, p.decoder
        self._state = p.constraint.start(p.given)
        self._legal = p.constraint.mask(self._state)
        beginning = self._legal[:, :1]
        self._written = torch.full_like(beginning, PAD, dtype=torch.int64)
        self.log_p = torch.zeros_like(beginning[:, 0], dtype=torch.float32)

    @property
    def symbols(self) -> Tensor:
        return self._written[:, 1:]

    @property
    def over(self) -> Tensor:
        """bool [row]: whether nothing may come next."""
        return ~self._legal.any(1)

    def next_log_probs(self) -> Tensor:
        """log p of the next symbol [row, symbol]."""
        scores, self._decoder = self._decoder.follow(self._written[:, -1:])
        return log_softmax_among(scores[:, 0], self._legal)

    def select(self, rows: Tensor) -> None:
        """Go on with some of the rows, in any order and number."""
        self._decoder, self._state = self._decoder.select(rows), self._state.select(rows)
        self._legal, self.log_p = self._legal[rows], self.log_p[rows]
        self._written = self._written[rows]

    def write(self, symbols: Tensor, log_p: Tensor) -> None:
        """One more symbol for each row [row], or PAD, given what `next_log_probs` said."""
        gained = log_p.gather(1, symbols.clamp(min=0)[:, None])[:, 0]
        self.log_p = self.log_p + gained.masked_fill(symbols == PAD, 0.0)
        self._written = torch.cat([self._written, symbols[:, None]], 1)
        self._state, self._legal = self._constraint.step(self._state, symbols)


def log_softmax_among(scores: Tensor, legal: Tensor) -> Tensor:
    """log softmax over the legal symbols; -inf elsewhere, and throughout where nothing is legal."""
    none = ~legal.any(-1, keepdim=True)
    return scores.masked_fill(~legal & ~none, -torch.inf).log_softmax(-1).masked_fill(~legal, -torch.inf)
