"""The most likely sentences of a language under the network's scores, for a whole batch.

Every function takes `log_probs` [batch, time, symbol] (any real scores will do; with normalised
log-probabilities the results are log-probabilities) and `lengths` [batch], None meaning that all
examples fill the time axis. Scores beyond an example's length are never looked at. An empty batch has
an empty result: its tensors are [0, ...].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ngs.errors import ShapeError
from ngs.grammar.grammar import Grammar
from ngs.grammar.padding import PAD as PAD
from ngs.grammar.tree import Sentence, Tree
from ngs.parsing.chart import Chart, inside, log_total, outside, walked
from ngs.parsing.circuit import Circuit, Edges, derivation_circuit, sentence_circuit
from ngs.parsing.k_best import k_best_sentences
from ngs.parsing.scores import check_lattice, check_lengths
from ngs.parsing.semiring import MAX, drawing, exponential
from ngs.parsing.sentence import parse

Lengths = Tensor | Sequence[int] | None


@dataclass(frozen=True)
class Sentences:
    """A batch of sentences; both tensors may have further leading dimensions (k best).

    Where no sentence has positive probability, `log_probs` is -inf and `columns` is PAD throughout.
    """

    grammar: Grammar
    columns: Tensor
    """[..., time]: columns of the scores, PAD behind the end"""
    log_probs: Tensor
    """[...]"""

    def __getitem__(self, index: int | tuple[int, ...]) -> Sentence:
        """The sentence as symbols; empty where there is none."""
        if self.columns[index].ndim != 1:
            shape = list(self.columns.shape[:-1])
            raise ShapeError(
                f"[{index}] is not one of the sentences {shape}; for k best give [example, rank]"
            )
        return self.grammar.decode(column for column in self.columns[index].tolist() if column != PAD)

    def tree(self, index: int | tuple[int, ...]) -> Tree:
        """The reasoning tree of one sentence."""
        return parse(self.grammar, self[index])


def best(grammar: Grammar, log_probs: Tensor, lengths: Lengths = None) -> Sentences:
    """argmax over z in L(G) of p(z|x) (Li et al. 2020, Eq. 3)."""
    scores, _, circuit, roots = prepare(grammar, log_probs, lengths, derivation_circuit)
    columns = best_columns(circuit, scores.detach(), roots)
    return Sentences(grammar, columns, score_of(scores, columns))


def sample(
    grammar: Grammar, log_probs: Tensor, lengths: Lengths = None, *, generator: torch.Generator | None = None
) -> Sentences:
    """A sentence drawn exactly from p(z | x, z in L(G)); `log_probs` of the result are log p(z|x)."""
    scores, _, circuit, roots = prepare(grammar, log_probs, lengths)
    columns = sampled_columns(circuit, scores.detach(), roots, generator)
    return Sentences(grammar, columns, score_of(scores, columns))


def k_best(grammar: Grammar, log_probs: Tensor, lengths: Lengths = None, *, k: int) -> Sentences:
    """The k likeliest distinct sentences [batch, k], best first; -inf and PAD where there are fewer."""
    scores, lengths, circuit, roots = prepare(grammar, log_probs, lengths)
    columns, totals = k_best_sentences(circuit, scores, roots, k)
    return ranked(grammar, scores, columns, lengths, totals)


def log_partition(grammar: Grammar, log_probs: Tensor, lengths: Lengths = None) -> Tensor:
    """log p(z in L(G) | x) [batch], differentiable: log of the sum of p(z|x) over all sentences."""
    scores, _, circuit, roots = prepare(grammar, log_probs, lengths)
    return log_total(circuit, scores, roots)


def marginals(grammar: Grammar, log_probs: Tensor, lengths: Lengths = None) -> Tensor:
    """p(z_t = s | x, z in L(G)) [batch, time, symbol]: the gradient of `log_partition`; zero in padding."""
    with torch.inference_mode(False), torch.enable_grad():  # whatever the caller has turned off
        scores, _, circuit, roots = prepare(grammar, log_probs.detach().clone(), lengths)
        (gradient,) = torch.autograd.grad(log_total(circuit, scores.requires_grad_(), roots).sum(), scores)
    return gradient


def prepare(
    grammar: Grammar,
    log_probs: Tensor,
    lengths: Lengths,
    compiled: Callable[[Grammar, int], Circuit] = sentence_circuit,
) -> tuple[Tensor, Tensor, Circuit, Edges]:
    """Checked scores and lengths, the grammar's circuit, and each example's root in it."""
    scores, checked = checked_scores(grammar, log_probs, lengths)
    circuit = compiled(grammar, scores.shape[1])
    return scores, checked, circuit, circuit.select([circuit.root(n) for n in checked.tolist()])


def checked_scores(grammar: Grammar, log_probs: Tensor, lengths: Lengths) -> tuple[Tensor, Tensor]:
    """The scores, with padding zeroed so that nothing behind an example's end can spread, and the lengths."""
    checked = check_lengths(log_probs, lengths)
    scores = log_probs.float() if log_probs.dtype in (torch.float16, torch.bfloat16) else log_probs
    if lengths is not None:
        inside_sentence = torch.arange(scores.shape[1], device=scores.device) < checked[:, None]
        scores = torch.where(inside_sentence[..., None], scores, 0.0)
    check_lattice(grammar, scores)
    return scores, checked


def chosen_columns(chart: Chart) -> Tensor:
    """The sentence a one-hot `outside` stands for [batch, time]; PAD where nothing flows."""
    flow = outside(chart)
    return torch.where(flow.sum(-1) > 0, flow.argmax(-1), PAD)


def best_columns(circuit: Circuit, scores: Tensor, roots: Edges) -> Tensor:
    """The best derivation under each example's root, as columns [batch, time]."""
    roots = roots.to(scores.device)
    if walked(circuit, scores):
        from ngs.parsing.kernels import chart as kernel

        return kernel.best_columns(circuit, scores, roots)

    def passes(scores: Tensor, left: Tensor, right: Tensor, out: Tensor) -> tuple[Tensor]:
        return (chosen_columns(inside(circuit, scores, Edges(left, right, out, roots.segments), MAX)),)

    roots = roots.padded()
    (columns,) = circuit.replays("best", passes, (scores, roots.left, roots.right, roots.out))
    return columns


def sampled_columns(
    circuit: Circuit, scores: Tensor, roots: Edges, generator: torch.Generator | None
) -> Tensor:
    """A derivation drawn from the posterior under each example's root, as columns [batch, time]."""
    roots = roots.to(scores.device)
    if walked(circuit, scores):
        from ngs.parsing.kernels import chart as kernel

        flat = scores.new_empty(kernel.noise_size(circuit, scores, roots))
        return kernel.sampled_columns(circuit, scores, roots, exponential(generator)(flat))
    if scores.is_cuda:
        roots = roots.padded()
    # Before the recording, as `outside` will ask for it: of the roots, then of the levels from the top.
    sizes = [(len(roots.out),), *((len(level.out), len(scores)) for level in reversed(circuit.levels))]
    noise = [exponential(generator)(scores.new_empty(size)) for size in sizes]

    def passes(scores: Tensor, left: Tensor, right: Tensor, out: Tensor, *noise: Tensor) -> tuple[Tensor]:
        parts = iter(noise)
        ring = drawing(lambda _: next(parts))
        return (chosen_columns(inside(circuit, scores, Edges(left, right, out, roots.segments), ring)),)

    inputs = scores, roots.left, roots.right, roots.out, *noise
    (columns,) = circuit.replays("sample", passes, inputs)
    return columns


def score_of(scores: Tensor, columns: Tensor) -> Tensor:
    """sum over t of scores[t, columns[t]], skipping PAD; -inf for a sentence that is PAD throughout."""
    picked = scores.gather(-1, columns.clamp(min=0)[..., None])[..., 0]
    total = picked.masked_fill(columns == PAD, 0.0).sum(-1)
    return total.masked_fill((columns == PAD).all(-1), -torch.inf)


def ranked(grammar: Grammar, scores: Tensor, columns: Tensor, lengths: Tensor, totals: Tensor) -> Sentences:
    """`columns` [batch, k, time] with PAD behind the end, and throughout where the total is -inf."""
    behind = torch.arange(columns.shape[-1], device=columns.device) >= lengths[:, None, None]
    columns = columns.masked_fill(behind | torch.isneginf(totals)[..., None], PAD)
    each = scores[:, None].expand(-1, columns.shape[1], -1, -1)
    return Sentences(grammar, columns, score_of(each, columns))
