"""The k best derivations of a circuit, for a batch.

The semiring's elements are lists of the k best scores (Huang & Chiang 2005, "Better k-best parsing",
algorithm 0): the k best of an edge are among the pairs (i-th left, j-th right) with (i+1)(j+1) <= k.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ngs.parsing.circuit import FIRST_LEAF, ONE, Circuit, Edges
from ngs.parsing.semiring import IMPOSSIBLE, segment_argmax, segment_max


@dataclass(frozen=True)
class Pairs:
    """The pairs of ranks an edge combines, as two tensors [pair]."""

    left: Tensor
    right: Tensor

    @classmethod
    def of(cls, k: int, device: torch.device) -> Pairs:
        pairs = [(i, j) for i in range(k) for j in range(k // (i + 1))]
        return cls(*torch.tensor(pairs, device=device).unbind(1))

    def __len__(self) -> int:
        return len(self.left)

    def spread(self, edges: Edges) -> Edges:
        """Each edge once for each pair, pair by pair within the edge."""
        n = len(self)
        return Edges(
            edges.left.repeat_interleave(n),
            edges.right.repeat_interleave(n),
            edges.out.repeat_interleave(n),
            edges.segments,
        )


def k_best_sentences(circuit: Circuit, scores: Tensor, roots: Edges, k: int) -> tuple[Tensor, Tensor]:
    """Columns [batch, k, time] and scores [batch, k] of each root's k best derivations, best first.

    -inf where there are fewer than k with positive probability; their columns mean nothing.
    """
    batch, time, symbols = scores.shape
    pairs = Pairs.of(k, scores.device)
    leaves = FIRST_LEAF + time * symbols
    ranked = scores.new_full((k, circuit.rows, batch), IMPOSSIBLE)
    ranked[0, ONE] = 0.0
    ranked[0, FIRST_LEAF:leaves] = scores.detach().permute(1, 2, 0).flatten(0, 1).clamp(min=IMPOSSIBLE)
    chosen = []
    first = leaves
    for level in circuit.levels:
        spread = pairs.spread(level)
        i, j = (part.repeat(len(level.out)) for part in (pairs.left, pairs.right))
        totals, winners = _top(ranked[i, spread.left] + ranked[j, spread.right], spread, k)
        ranked[:, first : first + level.segments] = totals
        chosen.append(winners)
        first += level.segments
    spread = pairs.spread(roots)
    i, j = (part.repeat(len(roots.out)) for part in (pairs.left, pairs.right))
    root_scores = ranked[i, spread.left, spread.out] + ranked[j, spread.right, spread.out]
    totals, winners = _top(root_scores, spread, k)
    columns = _trace(circuit, pairs, roots, winners, totals > IMPOSSIBLE / 2, chosen, k)
    return columns, totals.masked_fill(totals <= IMPOSSIBLE / 2, -torch.inf).T


def _top(scores: Tensor, edges: Edges, k: int) -> tuple[Tensor, Tensor]:
    """The k highest scores of each segment and their edges: both [k, segment, ...]."""
    totals, winners = [], []
    pad = torch.full_like(scores[:1], 2 * IMPOSSIBLE)
    scores = torch.cat([scores, pad])  # an empty segment's winner is the padding
    for _ in range(k):
        winner = segment_argmax(scores[:-1], segment_max(scores[:-1], edges), edges)
        totals.append(scores.gather(0, winner).clamp(min=IMPOSSIBLE))
        winners.append(winner)
        scores = scores.scatter(0, winner, 2 * IMPOSSIBLE)
    return torch.stack(totals), torch.stack(winners)


def _trace(
    circuit: Circuit,
    pairs: Pairs,
    roots: Edges,
    root_winners: Tensor,
    possible: Tensor,
    chosen: list[Tensor],
    k: int,
) -> Tensor:
    """The leaves under each root winner, as columns [batch, k, time].

    An agenda of (derivation, rank, row) goes down the levels; each entry is replaced by the two rows
    its chosen edge joins, until only leaves are left.
    """
    batch = root_winners.shape[1]
    rank, example = possible.nonzero().unbind(1)
    winner = root_winners[rank, example]
    derivation = example * k + rank
    edge, pair = winner // len(pairs), winner % len(pairs)
    derivation = derivation.repeat(2)
    ranks = torch.cat([pairs.left[pair], pairs.right[pair]])
    rows = torch.cat([roots.left[edge], roots.right[edge]])
    last = circuit.rows
    for level, winners in zip(reversed(circuit.levels), reversed(chosen), strict=True):
        first = last - level.segments
        here = rows >= first
        winner = winners[ranks[here], rows[here] - first, derivation[here] // k]
        edge, pair = winner // len(pairs), winner % len(pairs)
        derivation = torch.cat([derivation[~here], derivation[here].repeat(2)])
        ranks = torch.cat([ranks[~here], pairs.left[pair], pairs.right[pair]])
        rows = torch.cat([rows[~here], level.left[edge], level.right[edge]])
        last = first
    is_leaf = rows >= FIRST_LEAF  # the others are ONE
    derivation, rows = derivation[is_leaf], rows[is_leaf] - FIRST_LEAF
    columns = torch.full((batch * k, circuit.time), -1, device=rows.device)
    columns[derivation, rows // circuit.symbols] = rows % circuit.symbols
    return columns.view(batch, k, circuit.time)
