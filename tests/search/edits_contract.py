"""What `ngs.search.edits` asks of every kind of edits, as checks that the tests of any edits can call.

A test makes a `Language` of its edits and calls `check_all(language, walks, chain, seed)`, with the exact
chances of its random walks: `walks_by_steps(language)` for edits that are made one after another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, factorial, inf
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ngs.grammar.tree import Sentence
from ngs.parsing.candidates import fingerprints
from ngs.search import multi_step
from ngs.search.back_search import (
    ChainSettings,
    State,
    back_search,
    log_ratio,
    log_target,
    sample_corrections,
)
from ngs.search.correction import Edit
from ngs.search.edits import Edits

FARTHEST = 12
"""The greatest distance of a random walk whose probability matters."""
CHAINS = 4000

chains = st.builds(
    ChainSettings,
    steps=st.integers(0, 4),
    back_search=st.sampled_from([0.0, 0.3, 0.6, 0.9]),
    distance=st.sampled_from([0.3, 1.0, 2.0]),
    epsilon=st.sampled_from([1e-30, 1e-3, 0.1, 1.0]),
)


@dataclass(frozen=True)
class ListedEdits:
    """Edits of one sentence, given as a list: what `multi_step.Substitutions` is for substitutions."""

    neighbours: Callable[[Sentence], Iterable[Edit]]
    """what each edit makes of a sentence, in the language"""

    def ways(self, sentence: Sentence) -> Mapping[Sentence, float]:
        counts = Counter(edit.sentence for edit in self.neighbours(sentence))
        return {z: float(n) for z, n in counts.items() if z != sentence}

    def count(self, sentence: Sentence) -> float:
        return max(1.0, float(sum(1 for _ in self.neighbours(sentence))))


ReferenceEdits = ListedEdits | multi_step.Substitutions


@dataclass(frozen=True)
class Language:
    """A small language that edits do not leave, with a probability and a judgement of every sentence."""

    edits: Edits
    sentences: Tensor
    """[sentence, time], by rising fingerprint"""
    log_p: Tensor
    right: Tensor

    @classmethod
    def random(cls, edits: Edits, sentences: Tensor, seed: int) -> Language:
        """A tenth of the sentences has probability zero, and up to half of them are right."""
        generator = torch.Generator().manual_seed(seed)
        log_p = 2 * torch.randn(len(sentences), generator=generator, dtype=torch.float64)
        impossible, right, share = torch.rand((3, len(sentences)), generator=generator)
        ordered = sentences[fingerprints(sentences).argsort()]
        return cls(edits, ordered, log_p.masked_fill(impossible < 0.1, -inf), right < share[0] / 2)

    def __len__(self) -> int:
        return len(self.sentences)

    def find(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """The number of each sentence [row], and whether it is in the language."""
        numbers = torch.searchsorted(fingerprints(self.sentences), fingerprints(z)).clamp(max=len(self) - 1)
        return numbers, (self.sentences[numbers] == z).all(1)

    def score(self, _: Tensor, z: Tensor) -> Tensor:
        return self.log_p[self.find(z)[0]]

    def judge(self, _: Tensor, z: Tensor) -> Tensor:
        numbers, inside = self.find(z)
        return self.right[numbers] & inside

    def states(self) -> State:
        return State.of(self.sentences, self.score, self.edits, self.judge)

    def ways(self) -> Tensor:
        """[sentence, sentence], zero on the diagonal: what changes nothing is no step."""
        now, new = pairs(len(self))
        table = self.edits.ways(self.sentences[now], self.sentences[new])
        return table.view(len(self), len(self)).fill_diagonal_(0.0)

    def chances(self, start: Tensor, walked: Tensor, weight: Tensor) -> Tensor:
        """[sentence, sentence] of walks from the sentences of these numbers to `walked` [walk, time]."""
        end, inside = self.find(walked)
        assert inside.all(), "a walk left the language"
        table = torch.zeros(len(self), len(self), dtype=torch.float64)
        return table.index_put((start, end), weight.double(), accumulate=True)


def pairs(number: int) -> tuple[Tensor, Tensor]:
    each = torch.arange(number)
    return each.repeat_interleave(number), each.repeat(number)


def reached(edits: Edits, z: Tensor, at_most: int) -> Tensor | None:
    """The sentences that edits lead to from some; None where there are more than so many."""
    number = 0
    while number < len(z) <= at_most:
        number = len(z)
        z = torch.cat([z, edits.neighbours(z).symbols]).unique(dim=0)
    return z if len(z) <= at_most else None


class Drawn(TorchFunctionMode):
    """Uniform random numbers are those given."""

    def __init__(self, uniform: Tensor) -> None:
        super().__init__()
        self.uniform = uniform

    def __torch_function__(
        self, function: Any, _: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if function is not torch.rand:
            return function(*args, **(kwargs or {}))
        assert torch.Size(args[0] if isinstance(args[0], tuple) else args) == self.uniform.shape
        return self.uniform


def walks_by_steps(language: Language) -> list[Tensor]:
    """For each distance, P(z'|z) of one edit after another: one step on every draw, and its powers."""
    number = language.edits.count(language.sentences).long()
    start = torch.arange(len(number)).repeat_interleave(number)
    rank = torch.arange(len(start)) - (number.cumsum(0) - number)[start]
    z, once = language.sentences[start], torch.ones_like(start)
    with Drawn((rank + 0.5) / number[start]):
        walked = language.edits.walk(z, once, torch.Generator())
    step = language.chances(start, walked, 1 / number[start].double())
    return [torch.matrix_power(step, distance) for distance in range(FARTHEST)]


def check_steps_follow_each_other(edits: Edits, z: Tensor, seed: int) -> None:
    """A walk is one edit after another."""
    distance = torch.randint(4, (len(z),), generator=torch.Generator().manual_seed(seed))
    generator = torch.Generator().manual_seed(seed)
    step = z
    for k in range(int(distance.max())):
        step = edits.walk(step, (k < distance).long(), generator)
    assert torch.equal(edits.walk(z, distance, torch.Generator().manual_seed(seed)), step)


def check_ways(language: Language) -> None:
    """They are symmetric, and neighbours are the sentences with any."""
    ways = language.ways()
    assert torch.equal(ways, ways.T)
    near = language.edits.neighbours(language.sentences)
    assert torch.equal(near.rows, near.rows.sort().values)
    numbers, inside = language.find(near.symbols)
    found = torch.zeros_like(ways).index_put((near.rows[inside], numbers[inside]), torch.ones(1).double())
    assert torch.equal(found.fill_diagonal_(0.0), (ways > 0).double())


def check_single_step(language: Language, walks: Sequence[Tensor]) -> None:
    """A walk of one step makes each edit with probability ways / count, and one of none stays."""
    want = language.ways() / language.edits.count(language.sentences)[:, None]
    torch.testing.assert_close(walks[1].clone().fill_diagonal_(0.0), want, rtol=0, atol=1e-12)
    torch.testing.assert_close(walks[0], torch.eye(len(language), dtype=torch.float64), rtol=0, atol=1e-12)


def check_reversible(language: Language, walks: Sequence[Tensor]) -> None:
    """For each distance, count(z) P(z'|z) = count(z') P(z|z')."""
    for chances in walks:
        flow = language.edits.count(language.sentences)[:, None] * chances
        torch.testing.assert_close(flow, flow.T, rtol=0, atol=1e-12)


def check_corrections(language: Language) -> None:
    """1-BS by a plain loop: the most likely right neighbour, of equals the first."""
    have = back_search(language.sentences, language.score, language.edits, language.judge)
    near = language.edits.neighbours(language.sentences)
    possible = language.judge(near.rows, near.symbols) & ~language.score(near.rows, near.symbols).isneginf()
    for row, z in enumerate(language.sentences):
        right = near.symbols[possible & (near.rows == row)]
        if not language.right[row] and len(right):
            z = max(right, key=lambda fix: float(language.score(torch.tensor([row]), fix[None])))
        assert torch.equal(have.z[row], z)
        assert have.found[row] == (language.right[row] or len(right) > 0)


def transition_matrix(language: Language, walks: Sequence[Tensor], chain: ChainSettings) -> Tensor:
    """P(z'|z) of the chain [sentence, sentence]; `walks[d]` are the chances of walks of d edits."""
    states, number = language.states(), len(language)
    now, new = (State(*(part[rows] for part in vars(states).values())) for rows in pairs(number))
    to_fix = language.chances(torch.arange(number), states.fix, torch.ones(number))
    chance = (chain.back_search * states.found.double())[:, None]
    moves = torch.zeros(number, number, dtype=torch.float64)
    for d, walk in enumerate(walks):
        log_r = log_ratio(now, new, torch.full((number**2,), d), language.edits, chain).view_as(moves)
        poisson = exp(-chain.distance) * chain.distance**d / factorial(d)
        proposed = (1 - chance) * poisson * walk + (chance * to_fix if d == 1 else 0.0)
        moves += proposed * log_r.exp().clamp(max=1).nan_to_num(0.0)
    moves.fill_diagonal_(0.0)
    return moves + torch.diag(1 - moves.sum(1))


def smoothed_posterior(language: Language, chain: ChainSettings) -> Tensor:
    """p'(z|x,y) ~ [p(y|z) + epsilon] p(z|x) (Eq. 11)."""
    return log_target(language.states(), chain).softmax(0)


def check_chain(language: Language, walks: Sequence[Tensor], chain: ChainSettings) -> None:
    """The exact transition matrix is in detailed balance with the smoothed posterior."""
    matrix = transition_matrix(language, walks, chain)
    assert matrix.min() >= -1e-12
    if not language.log_p.isneginf().all():
        flow = smoothed_posterior(language, chain)[:, None] * matrix
        torch.testing.assert_close(flow, flow.T, rtol=0, atol=1e-12)


def check_sampled_chains(
    language: Language, walks: Sequence[Tensor], chain: ChainSettings, seed: int
) -> None:
    """Chains from one sentence end where the transition matrix says, but for noise."""
    start = seed % len(language)
    want = torch.matrix_power(transition_matrix(language, walks, chain), chain.steps)[start]
    last = sample_corrections(
        language.sentences[start].expand(CHAINS, -1),
        language.score,
        language.edits,
        language.judge,
        chain,
        torch.Generator().manual_seed(seed),
    )
    numbers, inside = language.find(last.z)
    assert inside.all() and torch.equal(last.found, language.right[numbers])
    have = torch.bincount(numbers, minlength=len(language)) / CHAINS
    # The total variation is at most `noise` on average, and a chain moves it by at most 1 / CHAINS; so it is
    # above by 0.05 with probability below exp(-2 CHAINS 0.05^2) = 2e-9 (McDiarmid).
    noise = (want * (1 - want).clamp(min=0) / CHAINS).clamp(min=0).sqrt().sum() / 2
    assert (have - want).abs().sum() / 2 < noise + 0.05


def check_reference(
    language: Language,
    edits: ReferenceEdits,
    sentence_of: Callable[[list[int]], tuple[Any, ...]],
    chain: ChainSettings,
) -> None:
    """The reference has the same acceptance ratio for every two different sentences, at each distance."""
    states = language.states()
    slow = []
    for number in range(len(language)):
        z, fix = (sentence_of(part[number].tolist()) for part in (states.z, states.fix))
        right, found = bool(states.right[number]), bool(states.found[number])
        slow.append(multi_step.State(z, float(states.log_p[number]), right, fix if found else None))
    now, new = (State(*(part[rows] for part in vars(states).values())) for rows in pairs(len(language)))
    for d in range(4):
        have = log_ratio(now, new, torch.full((len(language) ** 2,), d), language.edits, chain)
        want = [multi_step.log_ratio(a, b, d, edits, chain) for a in slow for b in slow]
        want = torch.tensor(want, dtype=torch.float64)
        moves = (now.z != new.z).any(1)
        undefined = have.isnan()  # the engine stays where the reference says that it is impossible
        assert (want[moves & undefined] == -inf).all()
        defined = moves & ~undefined
        torch.testing.assert_close(have[defined], want[defined], rtol=1e-9, atol=1e-9)


def check_all(language: Language, walks: Sequence[Tensor], chain: ChainSettings, seed: int) -> None:
    check_ways(language)
    check_single_step(language, walks)
    check_reversible(language, walks)
    check_corrections(language)
    check_chain(language, walks, chain)
    check_sampled_chains(language, walks, chain, seed)
