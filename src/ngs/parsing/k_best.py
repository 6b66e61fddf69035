"""The k best derivations of a circuit, for a batch: its chart in one more semiring.

The semiring's elements are lists of the k best scores (Huang & Chiang 2005, "Better k-best parsing",
algorithm 0): the k best of an edge are among the pairs (i-th left, j-th right) with (i+1)(j+1) <= k.
Each score has its symbols beside it, since several derivations of an example go through one row.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ngs.grammar.padding import PAD
from ngs.parsing.chart import IMPOSSIBLE, Semiring, inside, segment_argmax, segment_max
from ngs.parsing.circuit import FIRST_LEAF, Circuit, Edges


def k_best_derivations(circuit: Circuit, scores: Tensor, roots: Edges, k: int) -> Tensor:
    """The k best derivations under each example's root, best first, as symbol ids [batch, k, time]; PAD
    throughout after the last with positive probability."""
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
