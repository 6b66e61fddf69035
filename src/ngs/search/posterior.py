"""The exact posterior p(z|x,y) over the sentences that give the right answer.

The paper (Sec. 3.2.2) calls computing it "not efficient": a sum over all z, which "grows exponentially".
But a sentence's value is built from the values of its parts, so the sum is a chart over (symbol, span,
value), compiled once (`compiled.py`); its marginals, its mode and its samples are one pass up and one
pass down. Where the values are too many, each span keeps only the likeliest (`beam.py`), and the result
says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ngs.errors import NGSError
from ngs.grammar.ambiguity import refuse_ambiguity
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import no_such_length, normal_form
from ngs.parsing.chart import log_total
from ngs.parsing.circuit import Circuit, Edges
from ngs.parsing.decode import (
    PAD,
    Lengths,
    Sentences,
    best_columns,
    checked_scores,
    ranked,
    sampled_columns,
    score_of,
)
from ngs.parsing.k_best import k_best_sentences
from ngs.parsing.scores import check_normalised
from ngs.reasoning.operation import Value, check_answers
from ngs.reasoning.semantics import Meaning, interpret
from ngs.search.beam import beam_circuit
from ngs.search.compiled import BUDGET, exact_length, value_circuit


@dataclass(frozen=True)
class Group:
    """Examples that share a circuit."""

    examples: Tensor
    """[n]: numbers of the examples in the batch"""
    circuit: Circuit
    roots: Edges


@dataclass(frozen=True)
class Posterior:
    """p(z|x,y) for a batch. Everything is zero, or -inf, where no sentence gives the answer."""

    grammar: Grammar
    scores: Tensor
    lengths: Tensor
    groups: tuple[Group, ...]
    exact: Tensor
    """[batch]: false where a beam dropped values, so that the evidence is a lower bound"""

    @cached_property
    def log_evidence(self) -> Tensor:
        """log p(y|x) [batch] (Eq. 7), differentiable: the gradient is `marginals`, as in Eq. 8."""
        # Kept for later calls, so it must not depend on the grad mode of the first.
        with torch.inference_mode(False), torch.enable_grad():
            evidence = self.scores.new_zeros(len(self.scores))
            for group in self.groups:
                part = self.scores[group.examples, : group.circuit.time]
                evidence = evidence.index_put((group.examples,), log_total(group.circuit, part, group.roots))
            return evidence

    @property
    def found(self) -> Tensor:
        """[batch]: whether some sentence of positive probability gives the answer."""
        return ~torch.isneginf(self.log_evidence.detach())

    @cached_property
    def marginals(self) -> Tensor:
        """p(z_t = s | x, y) [batch, time, symbol]: what the network should have said."""
        if not self.groups:
            return torch.zeros_like(self.scores)  # an empty batch: nothing to differentiate
        with torch.inference_mode(False), torch.enable_grad():
            scores = self.scores.detach().clone().requires_grad_()
            detached = Posterior(self.grammar, scores, self.lengths, self.groups, self.exact)
            (gradient,) = torch.autograd.grad(detached.log_evidence.sum(), scores)
            return gradient

    def best(self) -> Sentences:
        """argmax over z with f(z) = y of p(z|x)."""
        return self._choose(best_columns)

    def sample(self, generator: torch.Generator | None = None) -> Sentences:
        """A sentence drawn exactly from p(z|x,y) (Eq. 9)."""
        return self._choose(lambda circuit, scores, roots: sampled_columns(circuit, scores, roots, generator))

    def k_best(self, k: int) -> Sentences:
        """The k likeliest sentences that give the answer [batch, k]; -inf and PAD where there are fewer."""
        columns = self.lengths.new_full((len(self.scores), k, self.scores.shape[1]), PAD)
        log_probs = self.scores.new_full((len(self.scores), k), -torch.inf)
        for group in self.groups:
            if not len(group.roots.out):
                continue  # no sentence gives any of the answers
            time = group.circuit.time
            part = self.scores[group.examples, :time]
            columns[group.examples, :, :time], log_probs[group.examples] = k_best_sentences(
                group.circuit, part.detach(), group.roots, k
            )
        return ranked(self.grammar, self.scores, columns, self.lengths, log_probs)

    def _choose(self, choice: Callable[[Circuit, Tensor, Edges], Tensor]) -> Sentences:
        columns = self.lengths.new_full(self.scores.shape[:2], PAD)
        scores = self.scores.detach()
        for group in self.groups:
            time = group.circuit.time
            part = scores[group.examples, :time]
            columns[group.examples, :time] = choice(group.circuit, part, group.roots)
        return Sentences(self.grammar, columns, score_of(self.scores, columns))


def posterior(
    grammar: Grammar,
    semantics: Meaning,
    log_probs: Tensor,
    lengths: Lengths,
    answers: Sequence[Value],
    *,
    budget: int = BUDGET,
    beam: int = 32,
) -> Posterior:
    """p(z|x,y) for log-normalised `log_probs` [batch, time, symbol] and an answer for each example.

    Exact for every length whose tables have at most `budget` entries; for longer sentences each span
    keeps its `beam` likeliest values.
    """
    scores, checked = checked_scores(grammar, log_probs, lengths)
    check_normalised(log_probs.detach(), checked)
    check_answers(answers, len(checked))
    if beam < 1:
        raise NGSError(f"beam is {beam}; keep at least one value of each span")
    each = checked.tolist()
    known = normal_form(grammar).lengths(max(each, default=0))
    for length in sorted(set(each)):
        if length not in known:
            raise no_such_length(length, known, max(each))
        refuse_ambiguity(grammar, length)
    fitting = exact_length(grammar, semantics, max(each, default=0), budget)
    short = [b for b, length in enumerate(each) if length <= fitting]
    groups = []
    if short:
        circuit = value_circuit(grammar, semantics, max(each[b] for b in short), budget)
        groups.append(_group(circuit, short, [circuit.root(each[b], answers[b]) for b in short], scores))
    complete = {b: True for b in short}
    for b in (b for b, length in enumerate(each) if length > fitting):
        circuit, complete[b] = beam_circuit(
            grammar, interpret(grammar, semantics), scores[b, : each[b]].detach(), answers[b], beam
        )
        groups.append(_group(circuit, [b], [circuit.root(each[b], answers[b])], scores))
    exact = torch.tensor([complete[b] for b in range(len(each))], dtype=torch.bool, device=scores.device)
    return Posterior(grammar, scores, checked, tuple(groups), exact)


def _group(circuit: Circuit, examples: Sequence[int], roots: Sequence[int | None], scores: Tensor) -> Group:
    with torch.inference_mode(False):  # autograd keeps these, and takes no tensors of that mode
        numbers = torch.tensor(examples, dtype=torch.long, device=scores.device)
        return Group(numbers, circuit, circuit.select(roots).to(scores.device))
