"""What a pointer network is trained towards: objectives over programs, arrangements of given modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ngs.errors import NGSError
from ngs.learning.objective import Drawing, Loss, Stateless
from ngs.learning.policy_gradient import Baseline
from ngs.learning.questions import QuestionBatch
from ngs.networks.decoding import Policy
from ngs.parsing.decode import PAD
from ngs.search.arrangement import Corrected, Edits, LogProbs, multi_step, one_step
from ngs.search.multi_step import Walk

Start = Callable[[Policy, torch.Generator], Tensor]
"""The program [row, time] of each question that back-search sets out from."""


def the_likeliest(policy: Policy, _: torch.Generator) -> Tensor:
    """The paper's: what the network would answer with."""
    return policy.likeliest(1)[0][:, 0]


def a_sample(policy: Policy, generator: torch.Generator) -> Tensor:
    """A program drawn from p(z|x).

    Chains from the likeliest program return to what the network believes already, and it becomes sure of
    that, right or not; a sample tries others as long as they are likely.
    """
    return policy.sample(policy.rows, generator)[0]


class SupervisedPrograms(Stateless):
    """-(1/|z|) log p(z|x) of the true z: the ceiling of what answers alone can teach.

    A true program that is none of the language's, or not made of the question's modules, teaches nothing.
    """

    def __call__(self, policy: Policy, batch: QuestionBatch) -> Loss:
        if batch.labels is None:
            raise NGSError("these questions have no programs; give data with programs, or another method")
        log_p = policy.log_probs(batch.rows, batch.labels)
        possible = ~log_p.isneginf() & (batch.labels != PAD).any(1)
        losses = -log_p.masked_fill(~possible, 0.0) / batch.lengths
        return Loss(losses.mean(), {"found": possible.float().mean()})


class ReinforcePrograms(Drawing):
    """REINFORCE (Eq. 18) on the policy p(z|x), with `samples` programs for each question:

    loss = -(r(z, y) - b) log p(z|x),    r = 1 if f(z) = y else 0
    """

    def __init__(
        self, device: torch.device, generator: torch.Generator, samples: int = 1, decay: float = 0.99
    ) -> None:
        if samples < 1:
            raise NGSError(f"{samples} samples; draw at least one")
        self.generator, self.samples = generator, samples
        self.baseline = Baseline(decay, device)

    def __call__(self, policy: Policy, batch: QuestionBatch) -> Loss:
        rows = batch.rows.repeat(self.samples)
        columns, _ = policy.sample(rows, self.generator)
        rewards = batch.right(rows, columns).float()
        log_p = policy.log_probs(rows, columns)
        return Loss(-(self.baseline.advantage(rewards) * log_p).mean(), {"reward": rewards.mean()})

    def state(self) -> dict[str, Tensor]:
        return {**super().state(), "baseline": self.baseline.value}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        super().restore(state)
        self.baseline.value.copy_(state["baseline"])


@dataclass(frozen=True, eq=False)
class OneStepPrograms(Drawing):
    """1-BS (Algorithm 1): the likeliest right neighbour of a program is the label."""

    edits: Edits
    generator: torch.Generator
    start: Start = a_sample

    def __call__(self, policy: Policy, batch: QuestionBatch) -> Loss:
        first = self.start(policy, self.generator)
        return _towards(policy, batch, one_step(first, self.edits, _without_gradients(policy), batch.right))


@dataclass(frozen=True, eq=False)
class MultiStepPrograms(Drawing):
    """m-BS (Algorithm 2): a sample of p'(z|x,y) (Eq. 11), where it gives the answer, is the label."""

    edits: Edits
    generator: torch.Generator
    start: Start = a_sample
    walk: Walk = field(default_factory=Walk)

    def __call__(self, policy: Policy, batch: QuestionBatch) -> Loss:
        first = self.start(policy, self.generator)
        log_probs = _without_gradients(policy)
        found = multi_step(first, self.edits, log_probs, batch.right, self.walk, self.generator)
        return _towards(policy, batch, found)


def _without_gradients(policy: Policy) -> LogProbs:
    return torch.no_grad()(policy.log_probs)


def _towards(policy: Policy, batch: QuestionBatch, corrected: Corrected) -> Loss:
    """-(1/|z*|) log p(z*|x) of the corrections that were found; a question without one teaches nothing."""
    measures = {"found": corrected.found.float().mean()}
    if corrected.found.is_cuda:  # to ask which these are would wait; log p of an empty program is 0
        columns = corrected.columns.masked_fill(~corrected.found[:, None], PAD)
        losses = -policy.log_probs(batch.rows, columns) / batch.lengths
        return Loss(losses.mean(), measures)
    rows = corrected.found.nonzero().flatten()
    losses = -policy.log_probs(rows, corrected.columns[rows]) / batch.lengths[rows]
    return Loss(losses.sum() / len(batch), measures)
