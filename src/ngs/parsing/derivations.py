"""What a chart gives for a batch: totals with their gradient, the best derivation, and one that is drawn."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import ngs.kernels
from ngs.grammar.padding import PAD
from ngs.parsing.chart import IMPOSSIBLE, LOG, MAX, Chart, drawing, exponential, inside, outside
from ngs.parsing.circuit import FIRST_LEAF, NOTHING, ONE, Circuit, Edges

if TYPE_CHECKING:
    from ngs.kernels.chart import ChartLayout

Passes = Callable[..., tuple[Tensor, ...]]
"""Scores, `left`, `right` and `out` of the roots and whatever else is needed -> what a chart gives."""

MAX_KERNEL_EDGES = 4_000
"""Edges of a circuit that a kernel goes through one after the other, in one launch.

The kernel takes time in proportion to the edges, whatever the batch; launching every level takes time in
proportion to the levels, and has the whole GPU for their edges. So the more edges a level has, the less there
is to gain, and the levels of circuits for values have thousands. On an H200, for 64 sentences of arithmetic,
146 edges (7 symbols) take 43 us instead of 382, and 2,786 edges (47 symbols) 1,043 instead of 2,410.
"""


def has_kernel(circuit: Circuit, scores: Tensor) -> bool:
    """Whether `ngs.kernels.chart` does the work of `inside` and `outside`, in one launch."""
    known = scores.dtype in (torch.float32, torch.float64)
    return known and ngs.kernels.available("chart", scores) and circuit.edges <= MAX_KERNEL_EDGES


def kernel_layout(circuit: Circuit) -> ChartLayout:
    """A circuit as the kernels read it."""
    from ngs.kernels.chart import ChartLayout

    segments = circuit.rows - FIRST_LEAF - circuit.leaves
    sizes = circuit.time, circuit.symbols, segments, circuit.inner_edges
    return ChartLayout(circuit.flat, *sizes, ONE, NOTHING, FIRST_LEAF, IMPOSSIBLE)


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
        passes = _kernel_sums if has_kernel(circuit, scores) else _engine_sums
        totals, *marginals = passes(circuit, scores, roots, wanted)
        ctx.save_for_backward(totals, *marginals)
        return totals

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        totals, marginals = ctx.saved_tensors
        # A total of -inf has no derivative; zero keeps such an example from spoiling its batch.
        grad = grad.masked_fill(totals.isneginf(), 0.0)
        return marginals * grad[:, None, None], None, None


def _engine_sums(circuit: Circuit, scores: Tensor, roots: Edges, wanted: bool) -> tuple[Tensor, ...]:
    """Totals [batch], -inf where nothing is possible, and if `wanted` marginals [batch, time, symbol]."""

    def passes(scores: Tensor, left: Tensor, right: Tensor, out: Tensor) -> tuple[Tensor, ...]:
        chart = inside(circuit, scores, Edges(left, right, out, roots.segments), LOG)
        totals = chart.totals.masked_fill(~chart.possible, -torch.inf)
        return (totals, outside(chart)) if wanted else (totals,)

    return _run(circuit, (scores.shape, wanted), passes, scores, roots)


def _run(
    circuit: Circuit, key: Hashable, passes: Passes, scores: Tensor, roots: Edges, *noise: Tensor
) -> tuple[Tensor, ...]:
    """The passes of a chart, on a GPU as one CUDA graph."""
    if not scores.is_cuda:
        return passes(scores, roots.left, roots.right, roots.out, *noise)
    roots = roots.padded()  # few shapes, so that few graphs are captured
    return circuit.cuda_graphs(key, passes, (scores, roots.left, roots.right, roots.out, *noise))


def _kernel_sums(circuit: Circuit, scores: Tensor, roots: Edges, wanted: bool) -> tuple[Tensor, ...]:
    """The totals and marginals of `_engine_sums`, by a kernel."""
    from ngs.kernels.chart import log_totals

    return log_totals(kernel_layout(circuit), scores, roots.parts, wanted=wanted)


def _chosen_symbols(chart: Chart) -> Tensor:
    """The sentence a one-hot `outside` stands for [batch, time]; PAD where nothing flows."""
    flow = outside(chart)
    return torch.where(flow.sum(-1) > 0, flow.argmax(-1), PAD)


def best_derivation(circuit: Circuit, scores: Tensor, roots: Edges) -> Tensor:
    """The best derivation under each example's root, as symbol ids [batch, time]."""
    if has_kernel(circuit, scores):
        from ngs.kernels import chart as kernel

        return kernel.best_derivation(kernel_layout(circuit), scores, roots.parts)

    def passes(scores: Tensor, left: Tensor, right: Tensor, out: Tensor) -> tuple[Tensor]:
        return (_chosen_symbols(inside(circuit, scores, Edges(left, right, out, roots.segments), MAX)),)

    return _run(circuit, "best", passes, scores, roots)[0]


def sampled_derivation(
    circuit: Circuit, scores: Tensor, roots: Edges, generator: torch.Generator | None
) -> Tensor:
    """A derivation drawn from the posterior under each example's root, as symbol ids [batch, time]."""
    if has_kernel(circuit, scores):
        from ngs.kernels import chart as kernel

        flat = scores.new_empty(circuit.inner_edges * len(scores) + len(roots.out))
        return kernel.sampled_derivation(
            kernel_layout(circuit), scores, roots.parts, exponential(generator)(flat)
        )
    roots = roots.padded() if scores.is_cuda else roots
    # Before the capture, as `outside` will ask for it: of the roots, then of the levels from the top.
    sizes = [(len(roots.out),), *((len(level.out), len(scores)) for level in reversed(circuit.levels))]
    noise = [exponential(generator)(scores.new_empty(size)) for size in sizes]

    def passes(scores: Tensor, left: Tensor, right: Tensor, out: Tensor, *noise: Tensor) -> tuple[Tensor]:
        parts = iter(noise)
        ring = drawing(lambda _: next(parts))
        return (_chosen_symbols(inside(circuit, scores, Edges(left, right, out, roots.segments), ring)),)

    return _run(circuit, "sample", passes, scores, roots, *noise)[0]
