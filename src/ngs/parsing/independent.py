"""p(z|x) = product over positions t of p(z_t|x): independent scores, restricted to a language by a chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import prod

import torch
from torch import Tensor

from ngs.errors import NGSError, ShapeError
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import Value
from ngs.grammar.padding import PAD
from ngs.parsing.candidates import Candidates
from ngs.parsing.circuit import Circuit, Edges, derivation_circuit, sentence_circuit
from ngs.parsing.derivations import best_derivation, k_best_derivations, log_total, sampled_derivation
from ngs.parsing.distribution import Listed
from ngs.parsing.scores import Lengths, check_normalised, checked_scores
from ngs.parsing.sentence import Sentences


@dataclass(frozen=True)
class Group:
    """Rows of a batch that share a chart."""

    rows: Tensor | slice
    """[n]; a slice for all rows of the batch, since views are cheaper than copies"""
    circuit: Circuit
    roots: Edges  # of each of these rows

    @classmethod
    def of(
        cls,
        rows: Sequence[int] | None,
        circuit: Circuit,
        lengths: Sequence[int],
        values: Sequence[Value] | None = None,
    ) -> Group:
        """Some rows (None: all), with the lengths and values of their sentences."""
        with torch.inference_mode(False):  # autograd keeps these, and takes no tensors of that mode
            edges = circuit.edges_of(lengths, values)
            if rows is None:
                return cls(slice(None), circuit, edges)
            return cls(torch.tensor(rows, dtype=torch.long, device=edges.out.device), circuit, edges)


Charts = Callable[[Grammar, int, torch.device], Circuit]


@dataclass(frozen=True, eq=False)
class Independent:
    """Sentences of known lengths, with a score for each symbol at each position, normalised or not.

    `score` is the sum over positions, and `log_z` the log-sum-exp of `score` over the support.
    """

    grammar: Grammar
    log_probs: Tensor
    """[batch, time, symbol]; what is after the end of a sentence is never looked at"""
    lengths: Tensor
    """int64 [batch]"""
    support: tuple[Group, ...] | None = None
    """the sentences that these charts derive; None for the whole language"""
    exact: Tensor | None = None
    """bool [batch]: false where a beam found the support, so that `log_z` is a lower bound; None: all are"""

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def log_z(self) -> Tensor:
        # Cached for later calls, so it must not depend on the grad mode of the first.
        with torch.inference_mode(False), torch.enable_grad():
            total = self.log_probs.new_full((len(self),), -torch.inf)
            for group in self._sums:
                part = self.log_probs[group.rows, : group.circuit.time]
                found = log_total(group.circuit, part, group.roots)
                if isinstance(group.rows, slice):
                    return found
                total = total.index_put((group.rows,), found)
            return total

    @property
    def found(self) -> Tensor:
        """bool [batch]: whether the support has a sentence of positive probability."""
        return ~self.log_z.detach().isneginf()

    @cached_property
    def marginals(self) -> Tensor:
        """p(z_t = s | x, support) [batch, time, symbol], the gradient of `log_z`; zero after the end."""
        if not len(self):
            return torch.zeros_like(self.log_probs)
        with torch.inference_mode(False), torch.enable_grad():
            log_probs = self.log_probs.detach().clone().requires_grad_()
            total = replace(self, log_probs=log_probs).log_z.sum()
            (gradient,) = torch.autograd.grad(total, log_probs)
            return gradient

    @cached_property
    def entropy(self) -> Tensor:
        """The entropy of p(z | x, support) [batch], in nats; zero where the support is empty."""
        log_probs = self.log_probs.detach().masked_fill(self.marginals == 0, 0.0)
        expected = (self.marginals * log_probs).sum((1, 2))
        return torch.where(self.found, self.log_z.detach() - expected, 0.0)

    def score(self, rows: Tensor, z: Tensor) -> Tensor:
        """log p(z|x) [sentence]; -inf for what is PAD throughout, no sentence."""
        position = torch.arange(z.shape[1], device=z.device)
        picked = self.log_probs[rows[:, None], position, z.clamp(min=0)].masked_fill(z == PAD, 0.0)
        return picked.sum(1, dtype=torch.float64).masked_fill((z == PAD).all(1), -torch.inf)

    def best(self) -> Sentences:
        """argmax over the support of p(z|x) (Li et al. 2020, Eq. 3)."""
        return self._choose(self._maxima, best_derivation)

    def sample(self, generator: torch.Generator | None = None) -> Sentences:
        """Drawn exactly from p(z | x, support) (Eq. 9)."""
        return self._choose(self._sums, partial(sampled_derivation, generator=generator))

    def topk(self, k: int) -> Sentences:
        if k < 1:
            raise ShapeError(f"k is {k}; ask for at least one sentence")
        return self._choose(self._sums, partial(k_best_derivations, k=k), k)

    def select(self, rows: Tensor) -> Independent:
        if self.support is not None:
            raise NGSError("the support is narrowed already; choose rows first")
        return replace(self, log_probs=self.log_probs[rows], lengths=self.lengths[rows])

    def within(self, support: Candidates) -> Listed:
        return Listed.of(self, support)

    def _choose(
        self, groups: tuple[Group, ...], choice: Callable[[Circuit, Tensor, Edges], Tensor], *ranks: int
    ) -> Sentences:
        batch, longest, _ = self.log_probs.shape
        z = self.lengths.new_full((batch, *ranks, longest), PAD)
        for group in groups:
            if len(group.roots.out):  # otherwise the support has no sentence
                time = group.circuit.time
                part = self.log_probs[group.rows, :time].detach()
                z[group.rows, ..., :time] = choice(group.circuit, part, group.roots)
        return self._scored(z)

    def _scored(self, z: Tensor) -> Sentences:
        """Sentences [batch, ..., time] with log p(z|x)."""
        rows = torch.arange(len(self), device=z.device).repeat_interleave(prod(z.shape[1:-1]))
        log_probs = self.score(rows, z.flatten(0, -2)).to(self.log_probs.dtype)
        return Sentences(z, log_probs.view(z.shape[:-1]), self.grammar)

    @cached_property
    def _sums(self) -> tuple[Group, ...]:
        """Charts in which each sentence has one derivation: a sum counts it once."""
        return self._language(sentence_circuit) if self.support is None else self.support

    @cached_property
    def _maxima(self) -> tuple[Group, ...]:
        """Charts in which a sentence may have several derivations, which no maximum minds."""
        return self._language(derivation_circuit) if self.support is None else self.support

    def _language(self, charts: Charts) -> tuple[Group, ...]:
        circuit = charts(self.grammar, self.log_probs.shape[1], self.log_probs.device)
        return (Group.of(None, circuit, self.lengths.tolist()),)


def independent(grammar: Grammar, log_probs: Tensor, lengths: Lengths = None) -> Independent:
    """p(z | x, z in L(G)) for `log_probs` [batch, time, symbol], checked.

    Any real scores will do; with normalised log-probabilities the results are log-probabilities. `lengths`
    [batch] are the symbols of each sentence; None means that all fill the time axis.

    >>> grammar = Grammar.parse('start: digit "+" digit -> add' + chr(10) + 'digit: "1" | "2"')
    >>> p = independent(grammar, torch.zeros(1, 3, 3).log_softmax(-1))
    >>> p.log_z.exp().item()  # 4 of 27 sequences of three symbols are sentences
    0.148...
    """
    scores, checked = checked_scores(grammar, log_probs, lengths)
    return Independent(grammar, scores, checked)


def normalised(grammar: Grammar, log_probs: Tensor, lengths: Lengths = None) -> Independent:
    """The same where the scores must be log-probabilities; a ShapeError where they do not sum to one."""
    p = independent(grammar, log_probs, lengths)
    check_normalised(log_probs.detach(), p.lengths)
    return p
