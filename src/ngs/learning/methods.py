"""The learning methods by name: each makes an objective for a reasoner and a source of random numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from ngs.learning.objective import Likeliest, Marginal, MultiStep, Objective, OneStep, Supervised
from ngs.learning.policy_gradient import Mapo, Reinforce
from ngs.learning.reasoner import Reasoner
from ngs.search.multi_step import Walk

Method = Callable[[Reasoner, torch.Generator], Objective]


def supervised(_: Reasoner, __: torch.Generator) -> Objective:
    """Labels: the ceiling."""
    return Supervised()


def posterior(reasoner: Reasoner, _: torch.Generator) -> Objective:
    """All formulas with the right answer, weighted by their exact posterior (Eq. 7, 8)."""
    return Marginal(reasoner)


def k_likeliest(k: int) -> Method:
    """The k likeliest formulas with the right answer; one is a hard label."""
    return lambda reasoner, _: Likeliest(reasoner, k)


def one_step(reasoner: Reasoner, _: torch.Generator) -> Objective:
    """1-BS (Algorithm 1)."""
    return OneStep(reasoner)


def multi_step(walk: Walk | None = None) -> Method:
    """m-BS (Algorithm 2) with these hyperparameters."""
    return lambda reasoner, generator: MultiStep(reasoner, generator, Walk() if walk is None else walk)


def reinforce(decay: float = 0.99, samples: int = 1) -> Method:
    """NGS-RL (Eq. 18), with a moving average of the reward as baseline."""
    return lambda reasoner, generator: Reinforce(reasoner, generator, decay, samples)


def mapo(decay: float = 0.99, clip: float = 0.1, size: int = 8) -> Method:
    """NGS-MAPO (Liang et al. 2018), with `size` remembered formulas for each example."""
    return lambda reasoner, generator: Mapo(reasoner, generator, decay, clip, size)


METHODS: Mapping[str, Method] = {
    "posterior": posterior,
    "posterior-hard": k_likeliest(1),
    "posterior-k-best": k_likeliest(5),
    "m-bs": multi_step(),
    "1-bs": one_step,
    "mapo": mapo(),
    "reinforce": reinforce(),
    "supervised": supervised,
}
"""With the settings of the paper where it has any."""
