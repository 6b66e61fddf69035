"""Corrections of arrangements: the same symbols in another order (Li et al. 2020, supplement, Sec. 3.2).

Where the symbols of a sentence are given and only their order is hidden, one step of back-search switches
two symbols of one group: symbols that can stand in each other's place. One-step and multi-step back-search
are those of the paper with this step in place of a substitution. All sentences of a batch at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log

import torch
from torch import Tensor

from ngs.parsing.decode import PAD
from ngs.search.multi_step import Walk


@dataclass(frozen=True)
class Candidates:
    """Some sentences for each of some rows."""

    rows: Tensor
    """int64 [candidate], in rising order"""
    columns: Tensor
    """int64 [candidate, time]: PAD behind the end"""

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, chosen: Tensor) -> Candidates:
        """Some of them: a mask, or numbers that keep the order of the rows."""
        return Candidates(self.rows[chosen], self.columns[chosen])

    def of(self, rows: Tensor) -> Candidates:
        """The same sentences, where row k is called `rows[k]`; these rise as well."""
        return Candidates(rows[self.rows], self.columns)


def joined(*parts: Candidates) -> Candidates:
    """All of them; the parts have equally long columns."""
    rows = torch.cat([part.rows for part in parts])
    order = rows.argsort(stable=True)
    return Candidates(rows[order], torch.cat([part.columns for part in parts])[order])


def distinct(candidates: Candidates) -> Candidates:
    """Each sentence of a row once."""
    if not len(candidates):
        return candidates
    # By one number each: comparing whole rows takes a hundred times as long. 64 bits do not collide.
    names = fingerprints(candidates.columns)
    order = names.argsort(stable=True)
    order = order[candidates.rows[order].argsort(stable=True)]
    rows, names = candidates.rows[order], names[order]
    first = torch.ones_like(rows, dtype=torch.bool)
    first[1:] = (rows[1:] != rows[:-1]) | (names[1:] != names[:-1])
    return candidates.select(order[first])


def fingerprints(columns: Tensor) -> Tensor:
    """int64 [sentence]: practically another number for every other sentence of the same padded length."""
    weights = _WEIGHTS[: columns.shape[1]].to(columns.device)
    mixed = (columns + 2) * weights  # wraps around, as it should
    return (mixed ^ (mixed >> 29)).mul(weights.flip(0) | 1).sum(1)


_WEIGHTS = torch.randint(-(2**63), 2**63 - 1, (1024,), generator=torch.Generator().manual_seed(0))
"""Odd and even numbers of 64 bits, one for each position; fixed, so that runs can be repeated."""


def places(rows: Tensor) -> Tensor:
    """[candidate]: how many candidates of the same row stand before each; `rows` rise."""
    return torch.arange(len(rows), device=rows.device) - torch.searchsorted(rows, rows)


@dataclass(frozen=True)
class Edits:
    """What one step can change.

    For a random walk to be symmetric, how many edits there are must depend on the symbols alone, not on
    their order, and as many must lead from one sentence to another as lead back. An edit may fail: its
    result then does not count.
    """

    results: Callable[[Tensor], Candidates]
    """sentences [row, time] -> what each edit makes of them"""
    counts: Callable[[Tensor], Tensor]
    """sentences [row, time] -> bool [row]: whether a result is in the language"""

    def neighbours(self, columns: Tensor) -> Candidates:
        """What some edit makes of sentences [row, time], inside the language."""
        made = self.results(columns)
        return made.select(self.counts(made.columns))

    def random(self, columns: Tensor, draws: Tensor) -> tuple[Tensor, Tensor]:
        """What a uniformly drawn edit makes of each sentence; itself where that fails.

        `draws` are uniform numbers [row]. Also how many edits there are [row].
        """
        made = self.results(columns)
        number = torch.bincount(made.rows, minlength=len(columns))
        if not len(made):
            return columns, number
        first = number.cumsum(0) - number
        drawn = (first + (draws * number).long()).clamp(max=len(made) - 1)
        result = made.columns[drawn]
        moved = (number > 0) & self.counts(result)
        return torch.where(moved[:, None], result, columns), number

    def ways(self, columns: Tensor, others: Tensor) -> Tensor:
        """int64 [row]: how many edits make sentences `others` [row, time] of `columns`."""
        made = self.results(columns)
        same = (made.columns == others[made.rows]).all(1)
        return torch.bincount(made.rows[same], minlength=len(columns))


def switches(columns: Tensor, groups: Tensor) -> Candidates:
    """Every sentence that switching two different symbols of one group makes.

    `groups` [symbol] numbers the group of each symbol.
    """
    group = torch.where(columns == PAD, PAD, groups[columns.clamp(min=0)])
    alike = (group[:, :, None] == group[:, None]) & (group != PAD)[:, :, None]
    row, first, second = (alike & (columns[:, :, None] != columns[:, None])).triu(1).nonzero(as_tuple=True)
    changed = columns[row]
    one, other = changed.gather(1, first[:, None]), changed.gather(1, second[:, None])
    return Candidates(row, changed.scatter(1, first[:, None], other).scatter(1, second[:, None], one))


LogProbs = Callable[[Tensor, Tensor], Tensor]
"""(rows [candidate], sentences [candidate, time]) -> log p(z|x) [candidate]"""
Judge = Callable[[Tensor, Tensor], Tensor]
"""(rows [candidate], sentences [candidate, time]) -> bool [candidate]: whether f(z) = y"""


@dataclass(frozen=True)
class Corrected:
    """What one-step back-search makes of some sentences."""

    columns: Tensor
    """[row, time]: the sentence itself where it is right; PAD throughout where nothing was found"""
    found: Tensor
    """bool [row]"""
    right: Tensor
    """bool [row]: whether the sentence was right as it stood"""


def one_step(columns: Tensor, edits: Edits, log_probs: LogProbs, judge: Judge) -> Corrected:
    """1-BS of each sentence [row, time]: its likeliest neighbour that gives the answer (Algorithm 1)."""
    right = judge(torch.arange(len(columns), device=columns.device), columns)
    wrong = (~right).nonzero().flatten()
    around = edits.neighbours(columns[wrong]).of(wrong)
    around = around.select(judge(around.rows, around.columns))
    fixed, found = likeliest(around, log_probs, len(columns))
    return Corrected(torch.where(right[:, None], columns, fixed), right | found, right)


def likeliest(candidates: Candidates, log_probs: LogProbs, rows: int) -> tuple[Tensor, Tensor]:
    """The likeliest candidate of each row [row, time], and whether it has any [row]."""
    chosen = candidates.columns.new_full((rows, candidates.columns.shape[1]), PAD)
    found = torch.zeros(rows, dtype=torch.bool, device=chosen.device)
    if len(candidates):
        order = log_probs(candidates.rows, candidates.columns).argsort(descending=True)
        order = order[candidates.rows[order].argsort(stable=True)]
        best = candidates.select(order[places(candidates.rows[order]) == 0])
        chosen[best.rows], found[best.rows] = best.columns, True
    return chosen, found


def multi_step(
    columns: Tensor,
    edits: Edits,
    log_probs: LogProbs,
    judge: Judge,
    walk: Walk,
    generator: torch.Generator,
) -> Corrected:
    """m-BS: `walk.steps` steps of a Metropolis-Hastings chain from each sentence [row, time] (Algorithm 2).

    Its distribution is p'(z|x,y) ~ q(z) = [p(y|z) + epsilon] p(z|x) (Eq. 11). A step proposes the one-step
    correction of z with probability lambda (0 where there is none), otherwise d ~ Poisson(beta) random
    edits. Random edits are symmetric, so with d != 1 the move is accepted with probability

        min(1, q(z') (1 - lambda(z')) / (q(z) (1 - lambda(z))))

    The correction and a single edit are one kind of move, with the probability

        Q(z'|z) = lambda(z) [z' = 1-BS(z)] + (1 - lambda(z)) Poisson(1; beta) ways(z, z') / edits

    and the ratio q(z') Q(z|z') / (q(z) Q(z'|z)); `ways` is the number of edits that make z' of z.
    """
    state = _State.of(columns, edits, log_probs, judge)
    for _ in range(walk.steps):
        uniform, accept = torch.rand((2, len(columns)), generator=generator, device=columns.device)
        rate = torch.full((len(columns),), walk.distance, device=columns.device)
        distance = torch.poisson(rate, generator=generator).long()
        corrects = (uniform < walk.back_search) & state.found
        wandered, number = _wander(state.columns, distance, edits, generator)
        proposed = torch.where(corrects[:, None], state.fix, wandered)
        other = _State.of(proposed, edits, log_probs, judge)
        share = edits.ways(state.columns, proposed) / number.clamp(min=1)
        backwards, forwards = (
            torch.where(corrects | (distance == 1), a.log_single(b, share, walk), a.log_wandering(walk))
            for a, b in ((other, state), (state, other))
        )
        log_ratio = other.log_q(walk) - state.log_q(walk) + backwards - forwards
        # An edit that fails proposes the state itself, where the ratio may be 0 / 0: either way it stays.
        smallest = torch.finfo(accept.dtype).tiny
        state = state.replaced(other, accept.clamp(min=smallest).log() <= log_ratio)
    return Corrected(state.columns, state.right, state.right)


def _wander(
    columns: Tensor, distance: Tensor, edits: Edits, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """The sentences after `distance` [row] random edits, and how many edits there are for each [row]."""
    number = torch.ones(len(columns), device=columns.device)
    for k in range(max(1, int(distance.max()) if len(distance) else 0)):
        draws = torch.rand(len(columns), generator=generator, device=columns.device)
        edited, number = edits.random(columns, draws)
        columns = torch.where((k < distance)[:, None], edited, columns)
    return columns, number


@dataclass(frozen=True)
class _State:
    """Where the chains are, with what they need to know of it."""

    columns: Tensor
    log_p: Tensor
    right: Tensor
    fix: Tensor
    """1-BS(z) [row, time]"""
    found: Tensor
    """whether there is one"""

    @staticmethod
    def of(columns: Tensor, edits: Edits, log_probs: LogProbs, judge: Judge) -> _State:
        fix = one_step(columns, edits, log_probs, judge)
        log_p = log_probs(torch.arange(len(columns), device=columns.device), columns)
        return _State(columns, log_p, fix.right, fix.columns, fix.found)

    def replaced(self, other: _State, rows: Tensor) -> _State:
        """This, with some rows [row] of the other."""
        return _State(
            *(
                torch.where(rows.view(-1, *[1] * (old.dim() - 1)), new, old)
                for new, old in zip(vars(other).values(), vars(self).values(), strict=True)
            )
        )

    def log_q(self, walk: Walk) -> Tensor:
        return torch.where(self.right, log(1 + walk.epsilon), log(walk.epsilon)) + self.log_p

    def chance(self, walk: Walk) -> Tensor:
        """lambda(z)"""
        return walk.back_search * self.found

    def log_wandering(self, walk: Walk) -> Tensor:
        return (1 - self.chance(walk)).log()

    def log_single(self, other: _State, share: Tensor, walk: Walk) -> Tensor:
        """log Q(other|self) of a correction or a single edit; `share` [row] of the edits leads there."""
        corrects = self.found & (self.fix == other.columns).all(1)
        once = walk.distance * exp(-walk.distance) * share
        return (self.chance(walk) * corrects + (1 - self.chance(walk)) * once).log()
