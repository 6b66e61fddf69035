"""The k best derivations of a circuit, for a batch: its chart in one more semiring.

The semiring's elements are lists of the k best scores (Huang & Chiang 2005, "Better k-best parsing",
algorithm 0): the k best of an edge are among the pairs (i-th left, j-th right) with (i+1)(j+1) <= k.
The pass down follows the edges that `plus` chose, since several derivations of an example go through one row.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ngs.grammar.padding import PAD
from ngs.parsing.chart import IMPOSSIBLE, Chart, Semiring, inside, segment_argmax, segment_max
from ngs.parsing.circuit import FIRST_LEAF, Circuit, Edges


def k_best_sentences(circuit: Circuit, scores: Tensor, roots: Edges, k: int) -> tuple[Tensor, Tensor]:
    """Symbols [batch, k, time] and scores [batch, k] of each root's k best derivations, best first.

    -inf where there are fewer than k with positive probability; their symbols mean nothing.
    """
    ranks = torch.tensor([(i, j) for i in range(k) for j in range(k // (i + 1))], device=scores.device).T
    winners: list[Tensor] = []

    def lift(rows: Tensor) -> Tensor:
        ranked = rows.new_full((len(rows), k, rows.shape[1]), IMPOSSIBLE)
        ranked[:, 0] = rows
        return ranked

    def times(left: Tensor, right: Tensor) -> Tensor:
        return left.index_select(1, ranks[0]).add_(right.index_select(1, ranks[1])).flatten(0, 1)

    def plus(scores: Tensor, edges: Edges) -> Tensor:
        out = edges.out.repeat_interleave(ranks.shape[1])
        totals, chosen = _top(scores, Edges(out, out, out, edges.segments), k)
        winners.append(chosen)
        return totals

    chart = inside(circuit, scores, roots, Semiring(plus, None, times, lift))
    return _trace(chart, ranks, winners, k), chart.totals.masked_fill(~chart.possible, -torch.inf)


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


def _trace(chart: Chart, ranks: Tensor, winners: list[Tensor], k: int) -> Tensor:
    """The leaves under each root winner, as symbols [batch, k, time].

    An agenda of (derivation, rank, row) goes down the levels; each entry is replaced by the two rows
    its chosen edge joins, until only leaves are left.
    """
    circuit, last = chart.circuit, chart.circuit.rows
    derivation = chart.possible.flatten().nonzero()[:, 0]

    def parts(edges: Edges, winner: Tensor) -> tuple[Tensor, Tensor]:
        edge, pair = winner // ranks.shape[1], winner % ranks.shape[1]
        return ranks[:, pair].flatten(), torch.cat([edges.left[edge], edges.right[edge]])

    rank, row = parts(chart.root_edges, winners[-1].flatten()[derivation])
    derivation = derivation.repeat(2)
    for level, chosen in zip(reversed(circuit.levels), reversed(winners[:-1]), strict=True):
        first = last - level.segments
        inner = row >= first
        below = parts(level, chosen[row[inner] - first, rank[inner], derivation[inner] // k])
        derivation = torch.cat([derivation[~inner], derivation[inner].repeat(2)])
        rank, row = (torch.cat([old[~inner], new]) for old, new in zip((rank, row), below, strict=True))
        last = first
    is_leaf = row >= FIRST_LEAF  # the others are ONE
    derivation, leaf = derivation[is_leaf], row[is_leaf] - FIRST_LEAF
    symbols = torch.full((chart.possible.numel(), circuit.time), PAD, device=row.device)
    symbols[derivation, leaf // circuit.symbols] = leaf % circuit.symbols
    return symbols.view(*chart.possible.shape, circuit.time)
