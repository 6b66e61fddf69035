"""One pass up and one pass down a circuit, for a batch, in any semiring.

A semiring says what a chart does with rival derivations: add them, take the best, or draw one (Goodman 1999,
"Semiring parsing"). On the way up, `plus` reduces the edge scores of each segment to one score. On the way
down, `share` says which part of it comes from each edge. With log-sum-exp the shares are the softmax, which
is the gradient and so the posterior.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ngs.parsing.circuit import FIRST_LEAF, NOTHING, ONE, Circuit, Edges

IMPOSSIBLE = -1e30  # not -inf: -inf minus -inf is NaN, which one dead cell would spread over a batch


@dataclass(frozen=True)
class Semiring:
    """`plus(scores, edges)` -> totals by segment; `share(scores, totals, edges)` -> weights by edge.

    An element need not be one score: `lift` makes elements [row, ..., batch] of scores [row, batch], and
    `times` combines those of the left and the right parts of edges. Without `share` there is no `outside`.
    """

    plus: Callable[[Tensor, Edges], Tensor]
    share: Callable[[Tensor, Tensor, Edges], Tensor] | None
    times: Callable[[Tensor, Tensor], Tensor] = Tensor.add_
    lift: Callable[[Tensor], Tensor] = lambda scores: scores


def segment_max(scores: Tensor, edges: Edges) -> Tensor:
    """max over the edges of each segment; IMPOSSIBLE for a segment without edges."""
    totals = scores.new_full((edges.segments, *scores.shape[1:]), IMPOSSIBLE)
    return totals.scatter_reduce_(0, _expand(edges.out, scores), scores, "amax", include_self=True)


def segment_logsumexp(scores: Tensor, edges: Edges) -> Tensor:
    """log sum exp over the edges of each segment, IMPOSSIBLE for a segment without edges."""
    peak = segment_max(scores, edges)
    total = torch.zeros_like(peak).index_add_(0, edges.out, (scores - peak.index_select(0, edges.out)).exp_())
    return peak.add_(total.clamp_(min=1.0).log_())  # the peak itself adds exp(0) = 1


def softmax_share(scores: Tensor, totals: Tensor, edges: Edges) -> Tensor:
    """p(edge | segment) = exp(score - total)."""
    return (scores - totals.index_select(0, edges.out)).exp_()


def segment_argmax(scores: Tensor, best: Tensor, edges: Edges) -> Tensor:
    """The first edge that has the `best` score of its segment; `len(edges.out)` where there is none."""
    candidate = torch.where(scores == best.index_select(0, edges.out), _numbers(scores), len(scores))
    first = candidate.new_full(best.shape, len(scores))
    return first.scatter_reduce_(0, _expand(edges.out, scores), candidate, "amin", include_self=True)


def winner_share(scores: Tensor, best: Tensor, edges: Edges) -> Tensor:
    """One for the first edge with the best score of its segment, zero for the others."""
    winner = segment_argmax(scores, best, edges).index_select(0, edges.out)
    return (winner == _numbers(scores)).to(scores.dtype)


def _numbers(scores: Tensor) -> Tensor:
    return torch.arange(len(scores), device=scores.device).view(-1, *[1] * (scores.dim() - 1))


def _expand(out: Tensor, scores: Tensor) -> Tensor:
    return out.view(-1, *[1] * (scores.dim() - 1)).expand_as(scores)


LOG = Semiring(segment_logsumexp, softmax_share)
"""Totals: log of the summed probability. Shares: posterior weights."""

MAX = Semiring(segment_max, winner_share)
"""Totals: log-probability of the best derivation. Shares: that derivation, as zeros and ones."""


def drawing(*noise: Tensor) -> Semiring:
    """Totals as LOG. Shares: one derivation drawn from the posterior, as zeros and ones.

    An edge is drawn from p(edge | segment) by adding Gumbel noise and taking the winner. `noise` are standard
    exponential numbers: for the root's edges, then for those of each level from the top.
    """
    parts = iter(noise)

    def share(scores: Tensor, _: Tensor, edges: Edges) -> Tensor:
        noisy = scores - next(parts).log()
        return winner_share(noisy, segment_max(noisy, edges), edges)

    return Semiring(segment_logsumexp, share)


@dataclass(frozen=True)
class Chart:
    """The result of `inside`: totals of all rows and edges, and of one root for each example."""

    circuit: Circuit
    ring: Semiring
    rows: Tensor
    """[row, batch], like all scores below with further dimensions where the semiring has them"""
    edge_scores: tuple[Tensor, ...]
    """for each level [edge, batch]; none where the semiring has no `share`"""
    root_edges: Edges
    root_scores: Tensor  # [edge of the selected roots]
    totals: Tensor  # [batch]: IMPOSSIBLE or less where no derivation has positive probability

    @property
    def possible(self) -> Tensor:
        return self.totals > IMPOSSIBLE / 2


def inside(circuit: Circuit, scores: Tensor, roots: Edges, ring: Semiring) -> Chart:
    """The total of each example's root, bottom-up:

        rows[out] = plus over edges (left, right) -> out of  times(rows[left], rows[right])

    `scores` is [batch, time, symbol]; `roots` comes from `circuit.select`.
    """
    batch, time, symbols = scores.shape
    rows = scores.new_empty(circuit.rows, batch)
    rows[ONE], rows[NOTHING] = 0.0, IMPOSSIBLE
    leaves = FIRST_LEAF + time * symbols
    rows[FIRST_LEAF:leaves] = scores.permute(1, 2, 0).reshape(time * symbols, batch).clamp(min=IMPOSSIBLE)
    rows = ring.lift(rows)
    edge_scores = []
    first = leaves
    for level in circuit.levels:
        edges = ring.times(rows.index_select(0, level.left), rows.index_select(0, level.right))
        rows[first : first + level.segments] = ring.plus(edges, level)
        if ring.share is not None:
            edge_scores.append(edges)
        first += level.segments
    # Only the edges of each example's own root: what makes conditioning on an answer cheap.
    root_scores = ring.times(rows[roots.left, ..., roots.out], rows[roots.right, ..., roots.out])
    totals = ring.plus(root_scores, roots)
    return Chart(circuit, ring, rows, tuple(edge_scores), roots, root_scores, totals)


def outside(chart: Chart) -> Tensor:
    """How much of each example's root every score [batch, time, symbol] carries, top-down:

        flow[left], flow[right] += flow[out] * share(edge)

    In the LOG semiring these are the posterior marginals and the gradient of the total; in MAX and
    when drawing, the chosen sentence as zeros and ones. Zero where nothing is possible.
    """
    circuit, ring, roots = chart.circuit, chart.ring, chart.root_edges
    batch = chart.totals.shape[0]
    assert ring.share is not None
    flow = torch.zeros_like(chart.rows)
    share = ring.share(chart.root_scores, chart.totals, roots) * chart.possible[roots.out]
    flat = flow.view(-1)
    flat.index_add_(0, roots.left * batch + roots.out, share)
    flat.index_add_(0, roots.right * batch + roots.out, share)
    last = circuit.rows
    for level, scores in zip(reversed(circuit.levels), reversed(chart.edge_scores), strict=True):
        first = last - level.segments
        carried = ring.share(scores, chart.rows[first:last], level)
        carried *= flow[first:last].index_select(0, level.out)
        flow.index_add_(0, level.left, carried)
        flow.index_add_(0, level.right, carried)
        last = first
    leaves = flow[FIRST_LEAF : FIRST_LEAF + circuit.time * circuit.symbols]
    return leaves.view(circuit.time, circuit.symbols, batch).permute(2, 0, 1)
