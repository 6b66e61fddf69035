"""What a chart gives for a batch: totals with their gradient, the k best derivations, and a sample."""

from collections.abc import Callable, Hashable
from typing import Any

import torch
from torch import Tensor

from ngs.grammar.padding import PAD
from ngs.parsing.chart import (
    IMPOSSIBLE,
    LOG,
    MAX,
    Chart,
    Semiring,
    drawing,
    inside,
    outside,
    segment_argmax,
    segment_max,
)
from ngs.parsing.circuit import FIRST_LEAF, Circuit, Edges

Tensors = tuple[Tensor, ...]


def log_total(circuit: Circuit, scores: Tensor, roots: Edges) -> Tensor:
    """log of the summed probability of each example's derivations [batch], differentiable in `scores`.

    -inf where there are none; the gradient is the posterior marginal of each (time, symbol).
    """
    totals: Tensor = _LogTotal.apply(scores, circuit, roots)  # type: ignore[no-untyped-call]
    return totals


class _LogTotal(torch.autograd.Function):
    """`inside` in the LOG semiring with `outside` as its derivative: autograd never sees the chart."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, circuit: Circuit, roots: Edges) -> Tensor:
        wanted = ctx.needs_input_grad[0]
        totals, *marginals = _sums(circuit, scores, roots, wanted)
        ctx.save_for_backward(totals, *marginals)
        return totals

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        totals, marginals = ctx.saved_tensors
        # A total of -inf has no derivative; zero keeps such an example from spoiling its batch.
        grad = grad.masked_fill(totals.isneginf(), 0.0)
        return marginals * grad[:, None, None], None, None


def _sums(circuit: Circuit, scores: Tensor, roots: Edges, wanted: bool) -> Tensors:
    """Totals [batch], -inf where nothing is possible, and if `wanted` marginals [batch, time, symbol]."""

    def sums(chart: Chart) -> Tensors:
        totals = chart.totals.masked_fill(~chart.possible, -torch.inf)
        return (totals, outside(chart)) if wanted else (totals,)

    return _run(circuit, (scores.shape, wanted), lambda *_: LOG, sums, scores, roots)


def best_derivation(circuit: Circuit, scores: Tensor, roots: Edges) -> Tensor:
    """The best derivation under each example's root, as symbol ids [batch, time]."""
    return _run(circuit, "best", lambda *_: MAX, _chosen_symbols, scores, roots)[0]


def sampled_derivation(
    circuit: Circuit, scores: Tensor, roots: Edges, generator: torch.Generator | None
) -> Tensor:
    """A derivation drawn from the posterior under each example's root, as symbol ids [batch, time]."""
    roots = roots.padded() if scores.is_cuda else roots
    device = scores.device if generator is None else generator.device  # which need not be that of the scores
    sizes = [(len(roots.out),), *((len(level.out), len(scores)) for level in reversed(circuit.levels))]
    noise = (scores.new_empty(size, device=device).exponential_(generator=generator) for size in sizes)
    on_device = [each.to(scores.device) for each in noise]  # drawn before a CUDA graph is captured
    return _run(circuit, "sample", drawing, _chosen_symbols, scores, roots, *on_device)[0]


def _chosen_symbols(chart: Chart) -> Tensors:
    """The sentence a one-hot `outside` stands for [batch, time]; PAD where nothing flows."""
    flow = outside(chart)
    return (torch.where(flow.sum(-1) > 0, flow.argmax(-1), PAD),)


def _run(
    circuit: Circuit,
    key: Hashable,
    ring: Callable[..., Semiring],
    result: Callable[[Chart], Tensors],
    scores: Tensor,
    roots: Edges,
    *noise: Tensor,
) -> Tensors:
    """The `result` of a chart in the semiring that `ring` makes of the noise; on a GPU as one CUDA graph."""

    def passes(scores: Tensor, table: Tensor, *noise: Tensor) -> Tensors:
        return result(inside(circuit, scores, Edges(table, roots.segments), ring(*noise)))

    if not scores.is_cuda:
        return passes(scores, roots.table, *noise)
    roots = roots.padded()  # few shapes, so that few graphs are captured
    return circuit.cuda_graphs(key, passes, (scores, roots.table, *noise))


def k_best_derivations(circuit: Circuit, scores: Tensor, roots: Edges, k: int) -> Tensor:
    """The k best derivations under each example's root, best first, as symbol ids [batch, k, time].

    PAD throughout after the last with positive probability. The elements of the semiring are lists of the k
    best scores (Huang & Chiang 2005, "Better k-best parsing", algorithm 0): the k best of an edge are among
    the pairs (i-th left, j-th right) with (i+1)(j+1) <= k. Each score has its symbols beside it, since
    several derivations of an example go through one row.
    """
    batch, time, symbols = scores.shape
    device = scores.device
    ranks = torch.tensor([(i, j) for i in range(k) for j in range(k // (i + 1))], device=device).T
    leaf, examples = torch.arange(circuit.leaves, device=device), torch.arange(batch, device=device)
    leaves = torch.full((FIRST_LEAF + len(leaf), k, batch, time), PAD, dtype=torch.int32, device=device)
    leaves[FIRST_LEAF + leaf, :, :, leaf // symbols] = (leaf % symbols).int()[:, None, None]
    spelled = [leaves]  # the symbols of each level's rows [row, k, batch, time]

    def lift(rows: Tensor) -> Tensor:
        ranked = rows.new_full((len(rows), k, rows.shape[1]), IMPOSSIBLE)
        ranked[:, 0] = rows
        return ranked

    def times(left: Tensor, right: Tensor) -> Tensor:
        return left.index_select(1, ranks[0]).add_(right.index_select(1, ranks[1])).flatten(0, 1)

    def plus(scores: Tensor, edges: Edges) -> Tensor:
        out = edges.out.repeat_interleave(ranks.shape[1])
        totals, winner = _top(scores, Edges(out.expand(3, -1), edges.segments), k)
        edge, pair = winner.clamp(max=len(scores) - 1) // ranks.shape[1], winner % ranks.shape[1]
        example = examples[:, None] if scores.dim() == 1 else examples  # each root is of its own example
        rows = torch.cat(spelled)
        left = rows[edges.left[edge], ranks[0][pair], example]
        spelled.append(torch.maximum(left, rows[edges.right[edge], ranks[1][pair], example]))
        return totals

    chart = inside(circuit, scores, roots, Semiring(plus, None, times, lift))
    return spelled[-1].long().masked_fill(~chart.possible[..., None], PAD)


def _top(scores: Tensor, edges: Edges, k: int) -> tuple[Tensor, Tensor]:
    """The k highest scores of each segment and their edges: both [segment, k, ...]."""
    totals, winners = [], []
    pad = torch.full_like(scores[:1], 2 * IMPOSSIBLE)
    scores = torch.cat([scores, pad])  # an empty segment's winner is the padding
    for _ in range(k):
        winner = segment_argmax(scores[:-1], segment_max(scores[:-1], edges), edges)
        totals.append(scores.gather(0, winner).clamp(min=IMPOSSIBLE))
        winners.append(winner)
        scores.scatter_(0, winner, 2 * IMPOSSIBLE)
    return torch.stack(totals, 1), torch.stack(winners, 1)
