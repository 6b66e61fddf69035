"""The operations on segments of edges against one segment at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ngs.parsing.chart import (
    IMPOSSIBLE,
    LOG,
    MAX,
    Semiring,
    drawing,
    exponential,
    segment_argmax,
    segment_max,
)
from ngs.parsing.circuit import Edges

SEED = 20_200_713


@dataclass(frozen=True)
class Case:
    """Edges with scores [edge], or [edge, batch]."""

    edges: Edges
    scores: Tensor

    def segments(self, by_edge: Tensor, by_segment: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """For each segment of each example its scores, the rows of `by_edge`, and that of `by_segment`."""
        for scores, edge_rows, segment_rows in zip(
            *map(_examples, (self.scores, by_edge, by_segment)), strict=True
        ):
            for number in range(self.edges.segments):
                own = self.edges.out == number
                yield scores[own], edge_rows[own], segment_rows[number]


def _examples(tensor: Tensor) -> tuple[Tensor, ...]:
    return (tensor,) if tensor.ndim == 1 else tensor.unbind(1)


def edges_to(out: Tensor, segments: int) -> Edges:
    nowhere = torch.zeros_like(out)
    return Edges(nowhere, nowhere, out, segments)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Some segments stay empty, some scores tie, and some edges are impossible once or twice over."""
    segments, count = draw(st.integers(1, 5)), draw(st.integers(0, 12))
    shape = draw(st.sampled_from([(count,), (count, 1), (count, 3)]))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32 - 1)))
    out = torch.randint(segments, (count,), generator=generator).sort().values
    scores = 3 * torch.randn(shape, generator=generator, dtype=torch.float64)
    if draw(st.booleans()):
        scores = scores.round()
    excluded = torch.rand(shape, generator=generator)
    scores[excluded < 0.3] = IMPOSSIBLE
    scores[excluded < 0.1] = 2 * IMPOSSIBLE
    return Case(edges_to(out, segments), scores)


def possible(scores: Tensor) -> bool:
    return bool((scores > IMPOSSIBLE / 2).any())


@given(cases())
def test_log_adds_up_and_shares_in_proportion(case: Case) -> None:
    totals = LOG.plus(case.scores, case.edges)
    shares = LOG.share(case.scores, totals, case.edges)
    for scores, own, total in case.segments(shares, totals):
        if possible(scores):
            assert total.item() == pytest.approx(scores.logsumexp(0).item())
            assert own.tolist() == pytest.approx(scores.softmax(0).tolist())
        else:
            assert total == IMPOSSIBLE
        assert not own.isnan().any()


@given(cases())
def test_max_takes_the_best_and_gives_it_to_the_first_of_equals(case: Case) -> None:
    totals = MAX.plus(case.scores, case.edges)
    shares = MAX.share(case.scores, totals, case.edges)
    for scores, own, total in case.segments(shares, totals):
        if possible(scores):
            assert total == scores.max()
            winner = scores.tolist().index(scores.max())
            assert own.tolist() == [float(edge == winner) for edge in range(len(scores))]
        else:
            assert total == IMPOSSIBLE


@given(cases())
def test_the_winner_is_the_first_best_edge_or_one_past_the_last(case: Case) -> None:
    numbers = torch.arange(len(case.edges.out)).view(-1, *[1] * (case.scores.ndim - 1)).expand_as(case.scores)
    winners = segment_argmax(case.scores, segment_max(case.scores, case.edges), case.edges)
    for scores, own, winner in case.segments(numbers, winners):
        if possible(scores):
            assert winner == own[scores.tolist().index(scores.max())]
        elif len(scores) == 0:
            assert winner == len(case.edges.out)


@given(cases(), st.integers(0, 2**32 - 1))
def test_a_drawn_edge_is_possible(case: Case, seed: int) -> None:
    ring = drawing(exponential(torch.Generator().manual_seed(seed)))
    totals = ring.plus(case.scores, case.edges)
    assert totals.equal(LOG.plus(case.scores, case.edges))
    shares = ring.share(case.scores, totals, case.edges)
    for scores, own, _ in case.segments(shares, totals):
        if possible(scores):
            assert sorted(own.tolist()) == [0.0] * (len(own) - 1) + [1.0]
            assert (own * scores).sum() > IMPOSSIBLE / 2
    again = drawing(exponential(torch.Generator().manual_seed(seed)))
    assert again.share(case.scores, totals, case.edges).equal(shares)


def test_edges_are_drawn_as_often_as_they_share() -> None:
    out = torch.tensor([0, 0, 0, 0, 1, 1])
    edges = edges_to(out, 2)
    scores = torch.tensor([0.0, 1.0, IMPOSSIBLE, -1.0, 2.0, 2.0], dtype=torch.float64)[:, None]
    wanted = LOG.share(scores, LOG.plus(scores, edges), edges)[:, 0]
    number = 20_000
    many = scores.expand(-1, number)
    ring = drawing(exponential(torch.Generator().manual_seed(SEED)))
    drawn = ring.share(many, ring.plus(many, edges), edges).sum(1)
    error = ((drawn - number * wanted) ** 2 / (number * wanted))[wanted > 0].sum()
    assert drawn[2] == 0
    assert error < 20, f"chi-square {error:.1f} with 3 degrees of freedom, seed {SEED}"


@pytest.mark.parametrize("ring", [LOG, MAX, drawing(exponential(None))])
def test_no_edges_and_no_examples_are_fine(ring: Semiring) -> None:
    none = edges_to(torch.empty(0, dtype=torch.int64), 2)
    scores = torch.empty(0, 3)
    totals = ring.plus(scores, none)
    assert totals.tolist() == [[pytest.approx(IMPOSSIBLE)] * 3] * 2
    assert ring.share(scores, totals, none).shape == (0, 3)
    some = edges_to(torch.tensor([0, 1]), 2)
    scores = torch.empty(2, 0)
    totals = ring.plus(scores, some)
    assert totals.shape == (2, 0)
    assert ring.share(scores, totals, some).shape == (2, 0)


@given(cases())
def test_single_precision_is_close(case: Case) -> None:
    single = case.scores.float()
    for ring in (LOG, MAX):
        totals = ring.plus(single, case.edges)
        assert totals.dtype == torch.float32
        torch.testing.assert_close(totals.double(), ring.plus(case.scores, case.edges), rtol=1e-5, atol=1e-5)
