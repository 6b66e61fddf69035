"""Multi-step back-search: a Metropolis-Hastings sampler over corrections, one example at a time.

Algorithm 2 of Li et al. (2020). The chain's states are sentences z of the language, its distribution

    p'(z|x,y)  ~  q(z) = [p(y|z) + epsilon] p(z|x)                                     (Eq. 11)

Each step proposes z' = 1-BS(z) with probability lambda, otherwise a random walk z' ~ g(.|z) whose
distance is Poisson(beta), and accepts it with probability min(1, r),

    r = q(z') Q(z|z') / (q(z) Q(z'|z)),     Q(z'|z) = lambda [z' = 1-BS(z)] + (1 - lambda) g(z'|z)

where lambda counts as 0 in a state that 1-BS cannot correct. The paper's two ratios (Sec. 3.2.3) are
this r where its assumptions hold: z wrong and z' right after 1-BS, both wrong after a walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, exp, inf, lgamma, log

import torch
from torch import Tensor

from ngs.errors import NGSError
from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.tree import Sentence
from ngs.parsing.scores import check_lattice
from ngs.parsing.sentence import recognises
from ngs.reasoning.operation import Value, check_answer
from ngs.reasoning.semantics import Meaning
from ngs.search.one_step import Correction, Search, first_sentence

SMALLEST = 1e-300
"""What a uniform draw of zero counts as: its logarithm is needed."""


@dataclass(frozen=True)
class Walk:
    """The hyperparameters of Algorithm 2."""

    steps: int = 5
    """T"""
    back_search: float = 0.9
    """lambda: the probability of proposing the one-step correction"""
    distance: float = 1.0
    """beta: the expected number of symbols a random walk changes"""
    epsilon: float = 1e-30
    """what a wrong answer weighs; small enough that a correction is practically always accepted"""

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise NGSError(f"steps is {self.steps}; it must be 0 or more")
        if not 0 <= self.back_search < 1:
            raise NGSError(
                f"back_search is {self.back_search}; it must be in [0, 1), or the chain cannot move on"
            )
        if not 0 < self.distance < inf:
            raise NGSError(f"distance is {self.distance}; it must be positive and finite")
        if not self.epsilon > 0:
            raise NGSError(
                f"epsilon is {self.epsilon}; it must be positive, or wrong states could not be left"
            )


@dataclass(frozen=True)
class Draws:
    """All the randomness of a batch of walks, so that two engines can be given the same."""

    kind: Tensor
    """[steps, batch] uniform: back-search or walk"""
    distance: Tensor
    """[steps, batch] Poisson(beta)"""
    order: Tensor
    """[steps, batch, time] uniform: the positions with the lowest numbers change"""
    symbol: Tensor
    """[steps, batch, time] uniform: which other symbol they change to"""
    accept: Tensor
    """[steps, batch] uniform"""

    @classmethod
    def of(cls, walk: Walk, batch: int, time: int, generator: torch.Generator) -> Draws:
        device = generator.device

        def uniform(*shape: int) -> Tensor:
            return torch.rand(walk.steps, *shape, generator=generator, device=device, dtype=torch.float64)

        rate = torch.full((walk.steps, batch), walk.distance, device=device)
        return cls(
            uniform(batch),
            torch.poisson(rate, generator=generator).long(),
            uniform(batch, time),
            uniform(batch, time),
            uniform(batch),
        )

    def select(self, examples: Tensor, time: int) -> Draws:
        """The draws of some examples, for the first `time` positions."""
        examples = examples.to(self.kind.device)
        order, symbol = (part[:, examples, :time] for part in (self.order, self.symbol))
        return Draws(
            self.kind[:, examples], self.distance[:, examples], order, symbol, self.accept[:, examples]
        )

    def to(self, device: torch.device) -> Draws:
        return Draws(*(part.to(device) for part in self.parts))

    @property
    def parts(self) -> tuple[Tensor, ...]:
        return self.kind, self.distance, self.order, self.symbol, self.accept


@dataclass(frozen=True)
class Chain:
    """The states a walk went through."""

    states: tuple[Sentence, ...]
    """z(0) to z(T)"""
    right: bool
    """whether the last one gives the target"""

    @property
    def sentence(self) -> Sentence:
        return self.states[-1]


def multi_step(
    grammar: Grammar,
    semantics: Meaning,
    log_probs: Tensor,
    target: Value,
    sentence: Sequence[str] | None = None,
    *,
    walk: Walk | None = None,
    generator: torch.Generator,
) -> Chain:
    """m-BS(z, y): a correction of `sentence`, by default the most likely one, sampled towards `target`.

    `log_probs` is [time, symbol], log-normalised.
    """
    check_lattice(grammar, log_probs)
    walk = Walk() if walk is None else walk
    draws = Draws.of(walk, 1, log_probs.shape[0], generator)
    return walk_along(grammar, semantics, log_probs, target, sentence, walk, draws, 0)


def walk_along(
    grammar: Grammar,
    semantics: Meaning,
    log_probs: Tensor,
    target: Value,
    sentence: Sequence[str] | None,
    walk: Walk,
    draws: Draws,
    example: int,
) -> Chain:
    """The walk that the draws of one example of a batch decide."""
    check_answer(target)
    start = first_sentence(grammar, log_probs, sentence)
    search = Search(grammar, semantics, log_probs, target)
    proposal = RandomWalk(grammar, len(start), walk.distance)
    state = _State(search.run(start), search, start)
    states = [start]
    for step in range(walk.steps):
        if draws.kind[step, example] < walk.back_search and state.fix is not None:
            proposed = state.fix
        else:
            proposed = proposal.draw(
                state.sentence,
                int(draws.distance[step, example]),
                draws.order[step, example].tolist(),
                draws.symbol[step, example].tolist(),
            )
        if recognises(grammar, proposed):
            other = _State(search.run(proposed), search, proposed)
            if log(max(draws.accept[step, example].item(), SMALLEST)) <= _log_ratio(
                state, other, proposal, walk
            ):
                state = other
        states.append(state.sentence)
    return Chain(tuple(states), state.right)


class _State:
    """A sentence with what the chain needs to know of it."""

    def __init__(self, correction: Correction, search: Search, sentence: Sentence) -> None:
        self.sentence = sentence
        self.fix = correction.sentence
        self.right = correction.sentence == sentence
        columns = search.grammar.encode(sentence)
        self.log_p = sum(search.log_probs[t][column] for t, column in enumerate(columns))

    def log_q(self, epsilon: float) -> float:
        return log(self.right + epsilon) + self.log_p


def _log_ratio(state: _State, other: _State, proposal: RandomWalk, walk: Walk) -> float:
    """log r for moving from `state` to `other`."""
    if other.log_p == -inf:
        return -inf
    log_g = proposal.log_probability(state.sentence, other.sentence)  # g is symmetric

    def log_proposal(a: _State, b: _State) -> float:
        chance = 0.0 if a.fix is None else walk.back_search
        total = chance * (a.fix == b.sentence) + (1 - chance) * exp(log_g)
        return log(total) if total > 0 else -inf

    forwards, backwards = log_proposal(state, other), log_proposal(other, state)
    return other.log_q(walk.epsilon) - state.log_q(walk.epsilon) + backwards - forwards


class RandomWalk:
    """g(z'|z): change d ~ Poisson(beta) symbols, at uniform positions, to uniform others.

        g(z'|z) = Poisson(d; beta) / (n choose d) * product over changed positions of 1 / alternatives

    `alternatives` are the other symbols that some sentence of this length has there, so g is symmetric;
    a draw outside the language, or with d above the n positions that can change, is no move.
    """

    def __init__(self, grammar: Grammar, length: int, distance: float) -> None:
        self.grammar = grammar
        self.usable = prefix_automaton(grammar).symbols_at(length)
        self.changeable = [t for t, columns in enumerate(self.usable) if len(columns) > 1]
        self.distance = distance

    def draw(
        self, sentence: Sentence, distance: int, order: Sequence[float], symbol: Sequence[float]
    ) -> Sentence:
        if distance > len(self.changeable):
            return sentence
        changed = list(sentence)
        for t in sorted(self.changeable, key=lambda t: order[t])[:distance]:
            current = self.grammar.column(sentence[t])
            others = [column for column in self.usable[t] if column != current]
            changed[t] = self.grammar.symbols[others[int(symbol[t] * len(others))]]
        return tuple(changed)

    def log_probability(self, a: Sentence, b: Sentence) -> float:
        changed = [t for t, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]
        d = len(changed)
        log_poisson = d * log(self.distance) - self.distance - lgamma(d + 1)
        ways = log(comb(len(self.changeable), d))
        return log_poisson - ways - sum(log(len(self.usable[t]) - 1) for t in changed)
