"""Back-search for a whole batch: one engine for every kind of edits (Li et al. 2020, Algorithms 1 and 2).

1-BS replaces a wrong sentence by its most likely neighbour that gives the answer, as the queue of Algorithm 1
does (`one_step.py`).

m-BS is a Metropolis-Hastings chain. Its states are sentences, and its distribution is

    p'(z|x,y)  ~  q(z) = [p(y|z) + epsilon] p(z|x)                                               (Eq. 11)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from math import exp, inf

import torch
from torch import Tensor

from ngs.errors import check_setting
from ngs.parsing.candidates import Candidates
from ngs.search.edits import Edits

Score = Callable[[Tensor, Tensor], Tensor]
"""Rows [candidate] and sentences [candidate, time] -> log p(z|x) [candidate]."""
Judge = Callable[[Tensor, Tensor], Tensor]
"""Rows [candidate] and sentences [candidate, time] -> bool [candidate]: whether f(z) = y.

False of what is no sentence of the language.
"""


@dataclass(frozen=True)
class ChainSettings:
    """The hyperparameters of Algorithm 2; an NGSError refuses values that make no chain.

    >>> ChainSettings(steps=10, back_search=0.5).epsilon
    1e-30
    """

    steps: int = 5
    """T"""
    back_search: float = 0.9
    """lambda: the probability of proposing the one-step correction"""
    distance: float = 1.0
    """beta: the expected number of edits of a random walk"""
    epsilon: float = 1e-30
    """the weight of a wrong answer; so small that a correction is practically always accepted"""

    def __post_init__(self) -> None:
        can_walk = "in [0, 1), or the chain cannot move on"
        can_leave = "positive, or wrong states could not be left"
        check_setting("steps", self.steps, self.steps >= 0, "0 or more")
        check_setting("back_search", self.back_search, 0 <= self.back_search < 1, can_walk)
        check_setting("distance", self.distance, 0 < self.distance < inf, "positive and finite")
        check_setting("epsilon", self.epsilon, self.epsilon > 0, can_leave)


@dataclass(frozen=True)
class Corrections:
    """Where back-search from each sentence of a batch ended."""

    z: Tensor
    """[row, time]: the sentence itself where 1-BS found nothing; the last state of m-BS"""
    found: Tensor
    """bool [row]: whether it gives the answer"""


def back_search(z: Tensor, score: Score, edits: Edits, judge: Judge) -> Corrections:
    """Return 1-BS of each sentence [row, time]: its most likely neighbour that gives the answer.

    `judge` says which sentences give their answer. A sentence that does so already is its own correction.

    >>> from ngs import Arithmetic, Examples, arithmetic_grammar, independent, reasoner
    >>> grammar = arithmetic_grammar()
    >>> log_probs = torch.full((1, 3, 14), 0.01)
    >>> log_probs[0, [0, 1, 2], grammar.encode("1+2")] = 0.87
    >>> p = independent(grammar, log_probs.log())
    >>> task = reasoner(grammar, Arithmetic, Examples.of([torch.zeros(3, 1)], [-1]))  # answer: -1
    >>> fixed = back_search(p.best().symbols, p.score, task.edits, task.judge)
    >>> grammar.decode(fixed.z[0].tolist())
    ('1', '-', '2')
    """
    right, near, _ = right_neighbours(z, edits, judge)
    return best_right(z, right, near, score(near.rows, near.symbols))


def sample_corrections(
    z: Tensor,
    score: Score,
    edits: Edits,
    judge: Judge,
    chain: ChainSettings,
    generator: torch.Generator,
    visit: Callable[[State], None] = lambda state: None,
) -> Corrections:
    """Return m-BS of each sentence [row, time]: the last state of a chain of `chain.steps` steps.

    A step proposes 1-BS(z) with probability lambda (never where there is none), and otherwise a random walk
    of d ~ Poisson(beta) edits. It accepts the proposal with probability min(1, r), r from `log_ratio`.
    `visit` is called with the states of all chains, first and after every step.

    >>> from ngs import Arithmetic, ReferenceJudge, Substitute, arithmetic_grammar
    >>> grammar = arithmetic_grammar()
    >>> z, judge = torch.tensor([grammar.encode("1+2")]), ReferenceJudge(grammar, Arithmetic, answers=[-1])
    >>> generator, alike = torch.Generator().manual_seed(0), lambda rows, z: torch.zeros(len(z))
    >>> sample_corrections(z, alike, Substitute(grammar, 3), judge, ChainSettings(), generator).found
    tensor([True])
    """
    now = State.of(z, score, edits, judge)
    visit(now)
    rate = torch.full((len(z),), chain.distance, device=generator.device)
    for _ in range(chain.steps):
        draws = torch.rand((2, len(z)), generator=generator, device=generator.device, dtype=torch.float64)
        kind, accept = draws.to(z.device)
        distance = torch.poisson(rate, generator=generator).long().to(z.device)
        corrects = (kind < chain.back_search) & now.found
        walked = edits.walk(now.z, distance.masked_fill(corrects, 0), generator)
        proposed = torch.where(corrects[:, None], now.fix, walked)
        # A chain that proposes where it is stays there: only the others need to know more.
        moved = (proposed != now.z).any(1).nonzero().flatten()
        if len(moved):
            old, where = now.select(moved), torch.where(corrects, 1, distance)[moved]
            new = State.of(proposed[moved], on_rows(moved, score), edits, on_rows(moved, judge))
            log_r = log_ratio(old, new, where, edits, chain)
            # A comparison with NaN is false: where the ratio is undefined, the chain stays.
            accepted = accept[moved].clamp(min=SMALLEST).log() <= log_r
            now = now.replaced(moved[accepted], new.select(accepted))
        visit(now)
    return Corrections(now.z, now.right)


def on_rows(rows: Tensor, function: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """A score or a judge whose row k is row `rows[k]` of `function`."""
    return lambda chosen, z: function(rows[chosen], z)


SMALLEST = 1e-300  # what a uniform draw of zero counts as: its logarithm is needed


def log_ratio(now: State, new: State, distance: Tensor, edits: Edits, chain: ChainSettings) -> Tensor:
    """log of the acceptance ratio r = q(z') Q(z|z') / (q(z) Q(z'|z)) [row], for any edits.

    `distance` [row] is the number of edits that made z' of z; a correction counts as one. The correction and
    a single random edit are one kind of move, since the same z' may come of either:

        Q(z'|z) = lambda(z) [z' = 1-BS(z)] + (1 - lambda(z)) Poisson(1; beta) ways(z, z') / count(z)

    lambda(z) is lambda where z has a correction, and 0 elsewhere. For any other distance the walk is
    reversible with respect to count (`edits.py`), so that

        Q(z|z') / Q(z'|z) = (1 - lambda(z')) count(z) / ((1 - lambda(z)) count(z'))

    The two ratios of the paper (Sec. 3.2.3) are this r under its assumptions: z wrong and z' right after a
    correction, both wrong after a walk.
    """
    single = edits.ways(now.z, new.z) * (chain.distance * exp(-chain.distance))

    def log_single(a: State, b: State) -> Tensor:
        chance = chain.back_search * a.found.double()
        corrects = a.found & (a.fix == b.z).all(1)
        return (chance * corrects + (1 - chance) * single / a.count).log()

    def log_several(a: State) -> Tensor:
        return (1 - chain.back_search * a.found.double()).log() - a.count.log()

    one = log_single(new, now) - log_single(now, new)
    backwards = torch.where(distance == 1, one, log_several(new) - log_several(now))
    return log_target(new, chain) - log_target(now, chain) + backwards


def log_target(state: State, chain: ChainSettings) -> Tensor:
    return (state.right.double() + chain.epsilon).log() + state.log_p


@dataclass(frozen=True)
class State:
    """Where each chain is, and what the next step needs to know about it."""

    z: Tensor
    log_p: Tensor  # float64 [row]: log p(z|x)
    right: Tensor  # bool [row]: whether z gives the answer
    fix: Tensor  # [row, time]: 1-BS(z); z itself where that is right, or where nothing was found
    found: Tensor  # bool [row]: whether `fix` gives the answer
    count: Tensor  # float64 [row]: how many edits z has

    @classmethod
    def of(cls, z: Tensor, score: Score, edits: Edits, judge: Judge) -> State:
        right, near, count = right_neighbours(z, edits, judge)
        rows = torch.arange(len(z), device=z.device)
        # One question for both: a network takes as long for a hundred sentences as for ten.
        log_p = score(torch.cat([rows, near.rows]), torch.cat([z, near.symbols])).double()
        fixed = best_right(z, right, near, log_p[len(z) :])
        return cls(z, log_p[: len(z)], right, fixed.z, fixed.found, count)

    def select(self, rows: Tensor) -> State:
        """The states of some rows, by a mask or by numbers."""
        return State(*(part[rows] for part in self._parts))

    def replaced(self, rows: Tensor, other: State) -> State:
        """This state, with that of `other` in some rows, given by number."""
        pairs = zip(self._parts, other._parts, strict=True)
        return State(*(old.index_copy(0, rows, new) for old, new in pairs))

    @property
    def _parts(self) -> list[Tensor]:
        return [getattr(self, field.name) for field in fields(self)]


def right_neighbours(z: Tensor, edits: Edits, judge: Judge) -> tuple[Tensor, Candidates, Tensor]:
    """Whether each sentence [row, time] is right, right neighbours of the others, and counts."""
    right = judge(torch.arange(len(z), device=z.device), z)
    near, count = edits.around(z)
    wrong = ~right[near.rows]
    rows, symbols = near.rows[wrong], near.symbols[wrong]
    keep = judge(rows, symbols)
    return right, Candidates(rows[keep], symbols[keep]), count


def best_right(z: Tensor, right: Tensor, near: Candidates, log_p: Tensor) -> Corrections:
    """Each right sentence, and the first most likely possible right neighbour of each other one."""
    none, number = len(near.rows), len(z)
    highest = log_p.new_full((number,), -torch.inf).scatter_reduce(0, near.rows, log_p, "amax")
    best = ((log_p == highest[near.rows]) & ~log_p.isneginf()).nonzero().flatten()
    first = best.new_full((number,), none).scatter_reduce(0, near.rows[best], best, "amin")
    found = first < none
    fix = torch.where(found[:, None], near.symbols[first.clamp(max=none - 1)], z) if none else z
    return Corrections(fix, right | found)
