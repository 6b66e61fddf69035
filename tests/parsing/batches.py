"""Ragged batches in random languages, with all their sentences: what the tests of distributions share."""

import math
from dataclasses import dataclass

import torch
from hypothesis import assume
from hypothesis import strategies as st
from torch import Tensor

from ngs.grammar.grammar import Grammar
from ngs.parsing.independent import Independent, independent
from tests.enumeration import sentences
from tests.grammars import grammars, score_tables

SEED = 1966


@dataclass(frozen=True)
class Batch:
    """Scores, NaN behind the end of each example."""

    grammar: Grammar
    scores: Tensor
    """[batch, time, symbol]"""
    lengths: list[int]

    def p(self, dtype: torch.dtype = torch.float64) -> Independent:
        return independent(self.grammar, self.scores.to(dtype), self.lengths)

    def sentences(self, example: int) -> tuple[Tensor, Tensor]:
        """All sentences [sentence, time] of the example's length, with their log-probabilities."""
        length = self.lengths[example]
        symbols = torch.tensor([self.grammar.encode(s) for s in sentences(self.grammar, length)])
        return symbols, self.scores[example, torch.arange(length), symbols].sum(-1)

    def ranking(self, example: int) -> dict[tuple[int, ...], float]:
        """The possible sentences by falling log-probability."""
        symbols, log_probs = self.sentences(example)
        pairs = zip(map(tuple, symbols.tolist()), log_probs.tolist(), strict=True)
        return {z: log_p for z, log_p in sorted(pairs, key=lambda pair: -pair[1]) if log_p > -math.inf}


@st.composite
def batches(draw: st.DrawFn, *, impossible: float = 0.1, behind: float = math.nan) -> Batch:
    grammar = draw(grammars())
    known = [n for n in range(1, 6) if sentences(grammar, n)]
    assume(known)
    lengths = draw(st.lists(st.sampled_from(known), min_size=1, max_size=4))
    time = max(lengths) + draw(st.integers(0, 1))
    scores = draw(score_tables(grammar, time, batch=len(lengths), impossible=impossible))
    after = torch.arange(time) >= torch.tensor(lengths)[:, None]
    return Batch(grammar, scores.masked_fill(after[..., None], behind), lengths)


def marginals_of(scores: Tensor, symbols: Tensor, log_probs: Tensor) -> Tensor:
    """p(z_t = s) [time, symbol], as the scores, when only these sentences are possible."""
    total, wanted = log_probs.logsumexp(0), torch.zeros_like(scores)
    if total > -math.inf:
        one_hot = torch.nn.functional.one_hot(symbols, scores.shape[-1]).double()
        wanted[: symbols.shape[1]] = ((log_probs - total).exp()[:, None, None] * one_hot).sum(0)
    return wanted


def entropy_of(log_probs: Tensor) -> float:
    """Of sentences with these log-probabilities, in proportion; 0 where none is possible."""
    share = log_probs.softmax(0)
    return -float(share.xlogy(share).sum()) if log_probs.gt(-math.inf).any() else 0.0


def random_scores(grammar: Grammar, time: int, *, seed: int = 0) -> Tensor:
    """One example [1, time, symbol] of moderately peaked scores."""
    generator, shape = torch.Generator().manual_seed(seed), (1, time, len(grammar.symbols))
    return torch.randn(shape, generator=generator, dtype=torch.float64).log_softmax(-1)


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(SEED)
