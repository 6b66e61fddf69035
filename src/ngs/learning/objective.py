"""What a network is trained towards: objectives that turn the probabilities of a batch into a loss.

The loop (`loop.py`) is the same for all of them. An objective is made for one set of examples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from ngs.errors import NGSError
from ngs.learning.examples import Batch
from ngs.learning.processes import own_state, states_of_all
from ngs.learning.reasoner import Reasoner
from ngs.parsing.decode import PAD, score_of
from ngs.search.multi_step import Walk


@dataclass(frozen=True)
class Loss:
    """The number to make smaller, and what else a step found out (scalars, for the record)."""

    value: Tensor
    measures: Mapping[str, Tensor] = field(default_factory=dict)


class Objective(Protocol):
    """A loss for what the network believes of a batch, with whatever it has to remember between steps.

    Beliefs are what `batch.beliefs` makes: for formulas log p(z_t|x) [batch, time, symbol], for programs a
    policy that gives and samples p(z|x).
    """

    def __call__(self, beliefs: Any, batch: Any, /) -> Loss: ...

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint must keep."""

    def restore(self, state: Mapping[str, Tensor]) -> None: ...


class Stateless:
    """An objective that remembers nothing."""

    def state(self) -> dict[str, Tensor]:
        return {}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        if state:
            raise NGSError(
                f"{type(self).__name__} keeps no state, but was given {', '.join(state)}; give it what its "
                f"own `state` returned"
            )


class Drawing:
    """An objective that draws random numbers, and remembers where it is in them."""

    generator: torch.Generator

    def state(self) -> dict[str, Tensor]:
        return {"generator": states_of_all(self.generator.get_state(), self.generator.device)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.generator.set_state(own_state(state["generator"]))


class Asking:
    """An objective that asks a reasoner to read, sample, judge or correct sentences."""

    reasoner: Reasoner


def negative_log_likelihood(log_probs: Tensor, columns: Tensor) -> Tensor:
    """-log p(z|x) [batch] of sentences [batch, time]; zero where there is none."""
    log_p = score_of(log_probs, columns)
    return -log_p.masked_fill((columns == PAD).all(-1), 0.0)


class Supervised(Stateless):
    """-log p(z|x) of the true z: the ceiling of what answers alone can teach."""

    def __call__(self, log_probs: Tensor, batch: Batch) -> Loss:
        if batch.labels is None:
            raise NGSError("these examples have no labels; give some to `Examples.of`, or another method")
        return Loss(negative_log_likelihood(log_probs, batch.labels).mean())


@dataclass(frozen=True, eq=False)
class Marginal(Stateless):
    """-log p(y|x) = -log sum over z with f(z) = y of p(z|x) (Eq. 7), summed exactly.

    Its gradient is the expectation of Eq. 8 under the posterior p(z|x,y): every formula with the right
    answer is a label, weighted by how likely it is.
    """

    reasoner: Reasoner

    def __call__(self, log_probs: Tensor, batch: Batch) -> Loss:
        log_evidence = self.reasoner.log_evidence(log_probs, batch)
        reachable = ~log_evidence.isneginf()
        return Loss(-log_evidence.masked_fill(~reachable, 0.0).mean(), {"found": reachable.float().mean()})


@dataclass(frozen=True, eq=False)
class Likeliest(Stateless):
    """The k likeliest formulas with the right answer as labels, weighted by p(z|x,y) among them.

    With k = 1 that is the mode of the posterior: a hard label, as back-search would find if it always
    found the best; with more, an approximation of `Marginal`.
    """

    reasoner: Reasoner
    k: int = 1

    def __call__(self, log_probs: Tensor, batch: Batch) -> Loss:
        columns = self.reasoner.likeliest(log_probs, batch, self.k)  # [batch, k, time]
        each = log_probs[:, None].expand(-1, columns.shape[1], -1, -1)
        exists = columns[..., 0] != PAD
        log_p = score_of(each, columns).masked_fill(~exists, -torch.inf)
        found = exists.any(1)
        weights = log_p.detach().masked_fill(~found[:, None], 0.0).softmax(1)
        losses = (weights * negative_log_likelihood(each, columns)).sum(1)
        return Loss(losses.mean(), {"found": found.float().mean()})


def _towards(log_probs: Tensor, columns: Tensor, found: Tensor, batch: Batch) -> Loss:
    """-(1/|z*|) log p(z*|x) of the corrections that were found; an example without one teaches nothing.

    Divided by the length, so that every formula counts the same. While the network knows nothing, long
    formulas get corrections that are mostly spurious and agree with whatever it believes already; weighted
    by length they outvote the short ones, and on some seeds nothing is ever learned.
    """
    losses = negative_log_likelihood(log_probs, columns) / batch.lengths * found
    return Loss(losses.mean(), {"found": found.float().mean()})


@dataclass(frozen=True, eq=False)
class OneStep(Asking, Stateless):
    """1-BS (Algorithm 1): the likeliest correction of one symbol is the label."""

    reasoner: Reasoner

    def __call__(self, log_probs: Tensor, batch: Batch) -> Loss:
        return _towards(log_probs, *self.reasoner.one_step(log_probs, batch), batch)


@dataclass(frozen=True, eq=False)
class MultiStep(Asking, Drawing):
    """m-BS (Algorithm 2): a sample of p'(z|x,y) (Eq. 11), where it gives the answer, is the label."""

    reasoner: Reasoner
    generator: torch.Generator
    walk: Walk = field(default_factory=Walk)

    def __call__(self, log_probs: Tensor, batch: Batch) -> Loss:
        found = self.reasoner.multi_step(log_probs, batch, self.walk, self.generator)
        return _towards(log_probs, *found, batch)
