"""A reasoner: everything symbolic that learning asks about a batch, prepared once for a set of examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ngs.search.back_search import Judge
from ngs.search.edits import Edits
from ngs.search.support import Plan

Distributing = Callable[[Any, Any], Any]
"""(what a network gives for a batch, the batch) -> the distribution p(z|x) of the batch."""


class Reasoner(nn.Module):
    """Distributions, a judge, edits and a plan for the examples of one task."""

    def __init__(self, distribution: Distributing, judge: Judge, edits: Edits, plan: Plan) -> None:
        super().__init__()
        self.distribution = distribution
        self.judge, self.edits, self.plan = judge, edits, plan

    def judge_of(self, batch: Any) -> Judge:
        """Whether f(z) = y, for rows of a batch."""
        return lambda rows, z: self.judge(batch.examples[rows], z)

    def right(self, batch: Any, z: Tensor) -> Tensor:
        """bool [batch]: whether each row's sentence [batch, time] gives its answer."""
        return self.judge(batch.examples, z)

    def posterior(self, p: Any, batch: Any, generator: torch.Generator) -> Any:
        """p(z|x,y) of a batch."""
        return self.plan.posterior(p, batch.examples, generator)
