"""The baselines that learn from rewards: REINFORCE, and MAPO with its memory of what was rewarded."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ngs.errors import NGSError
from ngs.learning.examples import Batch
from ngs.learning.objective import Asking, Drawing, Loss
from ngs.learning.processes import gathered, mean_over_processes
from ngs.learning.reasoner import Reasoner
from ngs.parsing.decode import PAD, score_of


class Baseline:
    """b = decay * b + (1 - decay) * mean reward: what a reward has to beat."""

    def __init__(self, decay: float, device: torch.device) -> None:
        if not 0 <= decay < 1:
            raise NGSError(f"the baseline's decay is {decay}; it must be in [0, 1)")
        self.decay = decay
        self.value = torch.zeros((), device=device)

    def advantage(self, rewards: Tensor) -> Tensor:
        """r - b, with b of the steps before, which do not depend on this sample; then b moves on."""
        advantage = rewards - self.value
        self.value = torch.lerp(mean_over_processes(rewards.mean()), self.value, self.decay)
        return advantage


class Reinforce(Asking, Drawing):
    """REINFORCE (Eq. 18) on the policy p(z | x, z in L(G)), which samples formulas and nothing else.

        loss = -(r(z, y) - b) log p(z | x, z in L(G)),    r = 1 if f(z) = y else 0

    Restricting the policy to the grammar brings in log p(z in L(G) | x), which every sample's probability
    is divided by; its gradient belongs to the loss.
    """

    def __init__(
        self, reasoner: Reasoner, generator: torch.Generator, decay: float = 0.99, samples: int = 1
    ) -> None:
        if samples < 1:
            raise NGSError(f"{samples} samples; draw at least one")
        self.reasoner, self.generator, self.samples = reasoner, generator, samples
        self.baseline = Baseline(decay, reasoner.examples.inputs.device)

    def draw(self, log_probs: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Formulas drawn from the policy [samples, batch, time], and their rewards [samples, batch]."""
        columns = torch.stack(
            [self.reasoner.sample(log_probs, batch, self.generator) for _ in range(self.samples)]
        )
        rewards = torch.stack([self.reasoner.right(drawn, batch) for drawn in columns]).float()
        return columns, rewards

    def __call__(self, log_probs: Tensor, batch: Batch) -> Loss:
        columns, rewards = self.draw(log_probs, batch)
        each = log_probs.expand(self.samples, -1, -1, -1)
        log_policy = score_of(each, columns) - self.reasoner.log_partition(log_probs, batch)
        loss = -(self.baseline.advantage(rewards) * log_policy).mean()
        return Loss(loss, {"reward": rewards.mean()})

    def state(self) -> dict[str, Tensor]:
        return {**super().state(), "baseline": self.baseline.value}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        super().restore(state)
        self.baseline.value.copy_(state["baseline"])


class Memory:
    """Formulas that were rewarded, a few for each example, the oldest forgotten first."""

    def __init__(self, examples: int, size: int, time: int, device: torch.device) -> None:
        if size < 1:
            raise NGSError(f"a memory of {size} formulas for each example; keep at least one")
        self.columns = torch.full((examples, size, time), PAD, dtype=torch.int16, device=device)
        self.found = torch.zeros(examples, dtype=torch.long, device=device)
        """[example]: how many were ever put in"""

    def of(self, examples: Tensor) -> Tensor:
        """[batch, size, time]: PAD throughout where a place is empty"""
        return self.columns[examples].long()

    def contains(self, examples: Tensor, columns: Tensor) -> Tensor:
        """[batch]"""
        return (self.columns[examples] == columns[:, None]).all(2).any(1)

    def add(self, examples: Tensor, columns: Tensor, wanted: Tensor) -> None:
        """Remember `columns` [batch, time] of these examples, each at most once, where `wanted` [batch]."""
        new = wanted & ~self.contains(examples, columns)
        place = self.found[examples] % self.columns.shape[1]
        old = self.columns[examples, place]
        self.columns[examples, place] = torch.where(new[:, None], columns.to(torch.int16), old)
        self.found[examples] += new


class Mapo(Asking, Drawing):
    """MAPO (Liang et al. 2018, "Memory augmented policy optimization", Sec. 3, 4.1).

    The expected reward splits into what is remembered (B) and what is not:

        loss = - w        E over z in B, by p(z) / p(B)                of  log p(z)
               - (1 - w)  E over z not in B, by p(z) / (1 - p(B))      of  (r(z) - b) log p(z)

    with w = max(p(B), alpha), clipped so that a network that does not yet believe in its memory cannot
    forget it: the cure for the cold start. The first expectation is summed exactly. For the second, one
    sample of the policy is drawn; it counts 0 where it is remembered, and 1 / (1 - p(B)) where not. Without
    clipping and baseline the gradient is that of the expected reward; b, which only the second term has,
    adds b times the gradient of p(B).
    """

    def __init__(
        self,
        reasoner: Reasoner,
        generator: torch.Generator,
        decay: float = 0.99,
        clip: float = 0.1,
        size: int = 8,
    ) -> None:
        if not 0 <= clip <= 1:
            raise NGSError(f"the memory weight is clipped to {clip}; it must be in [0, 1]")
        examples = reasoner.examples
        device = examples.inputs.device
        self.reasoner, self.generator, self.clip = reasoner, generator, clip
        self.baseline = Baseline(decay, device)
        self.memory = Memory(len(examples), size, examples.time, device)

    def __call__(self, log_probs: Tensor, batch: Batch) -> Loss:
        log_partition = self.reasoner.log_partition(log_probs, batch)
        columns = self.reasoner.sample(log_probs, batch, self.generator)
        rewarded = self.reasoner.right(columns, batch)
        fresh = ~self.memory.contains(batch.examples, columns)

        remembered = self.memory.of(batch.examples)
        empty = (remembered == PAD).all(2)
        each = log_probs[:, None].expand(-1, remembered.shape[1], -1, -1)
        log_policy = score_of(each, remembered).masked_fill(empty, -torch.inf) - log_partition[:, None]
        believed = log_policy.detach().exp().sum(1).clamp(max=1.0)  # p(B), whatever rounding makes of it
        weight = torch.where(empty.all(1), 0.0, believed.clamp(min=self.clip))
        share = log_policy.detach().masked_fill(empty.all(1)[:, None], 0.0).softmax(1)
        from_memory = (share * log_policy.masked_fill(empty, 0.0)).sum(1)

        advantage = self.baseline.advantage(rewarded.float())
        from_policy = fresh * advantage * (score_of(log_probs, columns) - log_partition)
        # Never above 1. Where all is believed no sample is fresh, and 0 / 0 would be asked for.
        outside = (1 - weight) / (1 - believed).clamp(min=1e-6)
        loss = -(weight * from_memory + outside * from_policy).mean()

        self.memory.add(gathered(batch.examples), gathered(columns), gathered(rewarded))
        measures = {"reward": rewarded.float().mean(), "remembered": (~empty.all(1)).float().mean()}
        return Loss(loss, {**measures, "memory_weight": weight.mean()})

    def state(self) -> dict[str, Tensor]:
        memory = {"memory": self.memory.columns, "found": self.memory.found}
        return {**super().state(), "baseline": self.baseline.value, **memory}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        super().restore(state)
        self.baseline.value.copy_(state["baseline"])
        self.memory.columns.copy_(state["memory"])
        self.memory.found.copy_(state["found"])
