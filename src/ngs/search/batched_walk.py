"""Multi-step back-search for a whole batch: `multi_step` on tensors, step for step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import torch
from torch import Tensor

from ngs.grammar.grammar import Grammar
from ngs.grammar.tree import Sentence
from ngs.parsing.decode import Lengths, score_of
from ngs.parsing.replay import Tensors
from ngs.parsing.scores import check_lengths
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import Meaning
from ngs.search.batched import Batch, Corrections, corrected, search_batch
from ngs.search.evaluator import kernels_of
from ngs.search.multi_step import SMALLEST, Draws, Walk, walk_along


def multi_step_batch(
    grammar: Grammar,
    semantics: Meaning,
    log_probs: Tensor,
    lengths: Lengths,
    targets: Sequence[Value],
    columns: Tensor | None = None,
    *,
    walk: Walk | None = None,
    generator: torch.Generator,
) -> Corrections:
    """`multi_step` for each example of `log_probs` [batch, time, symbol], log-normalised.

    `columns` [batch, time] are the sentences to start from, by default the most likely ones.
    """
    check_lengths(log_probs, lengths)
    walk = Walk() if walk is None else walk
    draws = Draws.of(walk, log_probs.shape[0], log_probs.shape[1], generator)

    def by_reference(example: int, scores: Tensor, sentence: Sentence) -> tuple[Sentence, bool]:
        chain = walk_along(grammar, semantics, scores, targets[example], sentence, walk, draws, example)
        return chain.sentence, chain.right

    def by_tables(batch: Batch, examples: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
        return walk_batch(batch, columns, walk, draws.select(examples, columns.shape[1]))

    return search_batch(grammar, semantics, log_probs, lengths, targets, columns, by_tables, by_reference)


def walk_batch(batch: Batch, columns: Tensor, walk: Walk, draws: Draws) -> tuple[Tensor, Tensor]:
    """The last state of each chain [batch, time], and whether it is right [batch]."""
    draws = draws.to(columns.device)
    kernels = kernels_of(batch.engine, columns)
    if kernels is not None:
        return kernels.walk(batch.log_probs, batch.lengths, batch.targets, columns, walk, draws)

    def chain(
        log_probs: Tensor, lengths: Tensor, targets: Tensor, columns: Tensor, *drawn: Tensor
    ) -> Tensors:
        return _walk(Batch(batch.engine, log_probs, lengths, targets), columns, walk, Draws(*drawn))

    inputs = batch.log_probs, batch.lengths, batch.targets, columns, *draws.parts
    last, right = batch.engine.replays(walk, chain, inputs)
    return last, right


def _walk(batch: Batch, columns: Tensor, walk: Walk, draws: Draws) -> tuple[Tensor, Tensor]:
    proposal = RandomWalks(batch.engine.usable[batch.lengths], walk.distance, draws)
    state = State.of(batch, columns)
    log_accept = draws.accept.clamp(min=SMALLEST).log()
    for step in range(walk.steps):
        by_search = (draws.kind[step] < walk.back_search) & state.fixable
        walked = proposal.draw(step, state.columns)
        other = State.of(batch, torch.where(by_search[:, None], state.fix, walked))
        accept = other.sentence & (log_accept[step] <= _log_ratio(state, other, proposal, walk))
        state = State(*(_select(accept, new, old) for new, old in zip(other.parts, state.parts, strict=True)))
    return state.columns, state.right


@dataclass(frozen=True)
class State:
    """A sentence for each example, with what the chain needs to know of it."""

    columns: Tensor
    fix: Tensor
    """[batch, time]: the one-step correction"""
    fixable: Tensor
    right: Tensor
    sentence: Tensor
    """[batch]: whether there is a correction; whether it gives the target; whether it is in the language"""
    log_p: Tensor

    @classmethod
    def of(cls, batch: Batch, columns: Tensor) -> State:
        fixes = corrected(batch, columns)
        log_p = score_of(batch.log_probs.double(), columns)
        return cls(columns, fixes.columns, fixes.found, fixes.right, fixes.in_language, log_p)

    @property
    def parts(self) -> tuple[Tensor, ...]:
        return self.columns, self.fix, self.fixable, self.right, self.sentence, self.log_p


def _select(accept: Tensor, new: Tensor, old: Tensor) -> Tensor:
    return torch.where(accept.view(-1, *[1] * (new.dim() - 1)), new, old)


def _log_ratio(state: State, other: State, proposal: RandomWalks, walk: Walk) -> Tensor:
    """log r of `multi_step`, for each example."""
    g = proposal.log_probability(state.columns, other.columns).exp()

    def log_proposal(a: State, b: State) -> Tensor:
        chance = walk.back_search * a.fixable.double()
        return (chance * (a.fix == b.columns).all(1) + (1 - chance) * g).log()

    def log_q(a: State) -> Tensor:
        return (a.right.double() + walk.epsilon).log() + a.log_p

    ratio = log_q(other) - log_q(state) + log_proposal(other, state) - log_proposal(state, other)
    return torch.where(torch.isneginf(other.log_p), -torch.inf, ratio)


@dataclass(frozen=True)
class Choices:
    """The symbols that a random walk chooses from at each place."""

    others: Tensor
    """[..., time]: how many it has besides the one that stands there"""
    number: Tensor
    """[..., time, symbol]: of each usable symbol"""
    column: Tensor
    """[..., time, number]: the symbol of each number"""

    @classmethod
    def of(cls, usable: Tensor) -> Choices:
        """`usable` [..., time, symbol]: what some sentence of the same length has there."""
        return cls(
            (usable.sum(-1) - 1).clamp(min=0),
            usable.cumsum(-1) - 1,
            (~usable).int().sort(dim=-1, stable=True).indices,
        )

    @property
    def changeable(self) -> Tensor:
        """[..., time]"""
        return self.others > 0


def log_ways(n: Tensor, d: Tensor) -> Tensor:
    """log (n choose d), of float64; where d is above n, of no matter."""
    return torch.lgamma(n + 1) - torch.lgamma(d + 1) - torch.lgamma((n - d).clamp(min=0) + 1)


class RandomWalks:
    """The random walk g of `multi_step.RandomWalk`, for a batch and all its draws."""

    def __init__(self, usable: Tensor, distance: float, draws: Draws) -> None:
        """`usable` [batch, time, symbol]: what some sentence of the example's length has there."""
        choices = Choices.of(usable)
        changeable = choices.changeable
        count = changeable.sum(1)
        order = draws.order.masked_fill(~changeable, torch.inf)
        rank = (order[..., None, :] < order[..., None]).sum(-1)
        moves = torch.where(draws.distance > count, 0, draws.distance)
        self.changes = changeable & (rank < moves[..., None])  # [steps, batch, time]
        self.wanted = (draws.symbol * choices.others).long()  # [steps, batch, time]: the new symbol's number
        self.number, self.column = choices.number, choices.column
        self.log_others = choices.others.clamp(min=1).double().log()
        d = torch.arange(usable.shape[1] + 1, device=usable.device, dtype=torch.float64)
        log_poisson = d * log(distance) - distance - torch.lgamma(d + 1)
        self.log_distance = log_poisson - log_ways(count.double()[:, None], d)  # [batch, distance]

    def draw(self, step: int, columns: Tensor) -> Tensor:
        """Another sentence for each of `columns` [batch, time]."""
        current = self.number.gather(2, columns.clamp(min=0)[..., None])[..., 0]
        wanted = self.wanted[step]
        number = (wanted + (wanted >= current)).clamp_(max=self.column.shape[-1] - 1)
        replacement = self.column.gather(2, number[..., None])
        return torch.where(self.changes[step], replacement[..., 0], columns)

    def log_probability(self, a: Tensor, b: Tensor) -> Tensor:
        """log g(b|a) = log g(a|b) [batch]."""
        changed = a != b
        log_distance = self.log_distance.gather(1, changed.sum(1, keepdim=True))[:, 0]
        return log_distance - (self.log_others * changed).sum(1)
