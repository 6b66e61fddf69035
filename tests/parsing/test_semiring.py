"""The operations on segments against loops over them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ngs.parsing.circuit import Edges
from ngs.parsing.semiring import (
    IMPOSSIBLE,
    LOG,
    MAX,
    drawing,
    segment_argmax,
    segment_logsumexp,
    segment_max,
    softmax_share,
    winner_share,
)


@dataclass(frozen=True)
class Scored:
    """Edges with scores [edge], or [edge, batch]."""

    edges: Edges
    scores: Tensor

    def segment(self, number: int) -> list[int]:
        return [edge for edge, out in enumerate(self.edges.out.tolist()) if out == number]


def edges_to(out: Tensor, segments: int) -> Edges:
    nowhere = torch.zeros_like(out)
    return Edges(nowhere, nowhere, out, segments)


@st.composite
def scored_edges(draw: st.DrawFn) -> Scored:
    """Some segments stay empty, some scores tie, and some edges are impossible once or twice over."""
    segments, count = draw(st.integers(1, 5)), draw(st.integers(0, 12))
    batch = draw(st.sampled_from([(), (1,), (3,)]))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32 - 1)))
    out = torch.randint(segments, (count,), generator=generator).sort().values
    scores = torch.randn((count, *batch), generator=generator, dtype=torch.float64) * 3
    if draw(st.booleans()):
        scores = scores.round()
    impossible = torch.rand(scores.shape, generator=generator)
    scores[impossible < 0.2] = IMPOSSIBLE
    scores[impossible < 0.1] = 2 * IMPOSSIBLE
    return Scored(edges_to(out, segments), scores)


def per_segment(case: Scored, reduce: object, empty: float) -> Tensor:
    """`reduce` over the scores of each segment and example."""
    flat = case.scores.reshape(len(case.scores), math.prod(case.scores.shape[1:]))
    rows = [
        [reduce([float(flat[e, b]) for e in case.segment(s)]) if case.segment(s) else empty for b in range(flat.shape[1])]
        for s in range(case.edges.segments)
    ]
    return torch.tensor(rows, dtype=torch.float64).reshape(case.edges.segments, *case.scores.shape[1:])
