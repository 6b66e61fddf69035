"""The learning methods, each once: (distribution, reasoner, batch) -> loss. None of them knows its task.

Which p(z|x) a loss uses, and what it is divided by, is the same for every network and is said here:

- Methods that teach sentences (supervised, posterior, k-best, 1-BS, m-BS) use `score`, log p(z|x) as the
  network says it. They divide by the length |z|, so that every example counts the same: while a network knows
  nothing, the corrections of long sentences are mostly spurious and agree with what it believes already.
  Weighted by length, they would outvote the short ones.
- Policy gradients (REINFORCE, MAPO) use p(z | x, z in the language), from which they sample: `score - log_z`.
  They are expected rewards, and are not divided by the length.
- Every loss is a mean over the batch. An example that teaches nothing counts as 0.

`log_z` is 0 for an autoregressive distribution, which writes nothing outside of the language. With
independent scores it is the log share of p(z|x) that is grammatical.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ngs.errors import NGSError, check_setting
from ngs.grammar.padding import PAD
from ngs.learning.loop import Loss
from ngs.parsing.distribution import Distribution
from ngs.processes import mean_over_processes
from ngs.search.back_search import ChainSettings, Corrections, back_search, sample_corrections
from ngs.search.memory import Memory
from ngs.search.reasoner import Reasoner

Start = Callable[[Distribution, torch.Generator], Tensor]
"""The sentence [batch, time] that back-search starts from."""


def most_likely(p: Distribution, _: torch.Generator) -> Tensor:
    """The paper's: what the network would answer with."""
    return p.best().symbols


def a_sample(p: Distribution, generator: torch.Generator) -> Tensor:
    """A sentence drawn from p(z|x).

    From the most likely sentence, chains return to what the network believes already, right or not.
    """
    return p.sample(generator).symbols


class Method(nn.Module):
    """A way to learn. What it keeps between steps is a buffer, so that checkpoints have it."""

    needs_posterior = False
    """whether it asks for p(z|x,y)"""

    def forward(self, p: Any, reasoner: Reasoner, batch: Any, generator: torch.Generator) -> Loss:
        """The loss of a batch, given p(z|x) of its examples."""
        raise NotImplementedError


class Objective(nn.Module):
    """A method for the examples of one reasoner: what the training loop minimises."""

    def __init__(self, method: Method, reasoner: Reasoner, generator: torch.Generator) -> None:
        super().__init__()
        self.method, self.reasoner, self.generator = method, reasoner, generator
        if method.needs_posterior:
            _ = reasoner.plan  # now, so that a checkpoint can be restored into what it keeps

    def forward(self, output: Any, batch: Any) -> Loss:
        """The loss of what a network gives for a batch."""
        p = self.reasoner.distribution(output, batch)
        loss: Loss = self.method(p, self.reasoner, batch, self.generator)
        return loss


class Supervised(Method):
    """-(1/|z|) log p(z|x) of the true z. A label of probability zero teaches nothing: PAD throughout, or
    outside of the language of a network that writes nothing else."""

    def forward(self, p: Distribution, reasoner: Reasoner, batch: Any, generator: torch.Generator) -> Loss:
        _check_labels(batch)
        log_p = p.score(batch.rows, batch.labels)
        return _mean_of(log_p, ~log_p.isneginf(), batch)


class Posterior(Method):
    """-(1/|z|) log p(y|x), with p(y|x) = sum over z with f(z) = y of p(z|x) (Eq. 7).

    Its gradient is the expectation of Eq. 8 under the posterior p(z|x,y): every sentence with the right
    answer is a label, weighted by how likely it is.
    """

    needs_posterior = True

    def forward(self, p: Distribution, reasoner: Reasoner, batch: Any, generator: torch.Generator) -> Loss:
        log_z = reasoner.posterior(p, batch, generator).log_z
        return _mean_of(log_z, ~log_z.isneginf(), batch)


class KBest(Method):
    """The k most likely sentences with the right answer as labels, weighted by p(z|x,y) among them."""

    needs_posterior = True

    def __init__(self, k: int = 1) -> None:
        super().__init__()
        check_setting("k", k, k >= 1, "at least one sentence")
        self.k = k

    def forward(self, p: Distribution, reasoner: Reasoner, batch: Any, generator: torch.Generator) -> Loss:
        with torch.no_grad():
            z = reasoner.posterior(p, batch, generator).topk(self.k).symbols
        log_p = p.score(batch.rows.repeat_interleave(self.k), z.flatten(0, 1)).view(-1, self.k)
        exists = ~log_p.isneginf()
        weights = log_p.detach().masked_fill(~exists.any(1, keepdim=True), 0.0).softmax(1)
        return _mean_of((weights * log_p.masked_fill(~exists, 0.0)).sum(1), exists.any(1), batch)


class OneStep(Method):
    """1-BS (Algorithm 1): the most likely correction by one edit is the label."""

    def __init__(self, start: Start = most_likely) -> None:
        super().__init__()
        self.start = start

    def forward(self, p: Distribution, reasoner: Reasoner, batch: Any, generator: torch.Generator) -> Loss:
        with torch.no_grad():
            z = self.start(p, generator)
            found = back_search(z, p.score, reasoner.edits, reasoner.judge_of(batch))
        return _toward(found, p, batch)


class MultiStep(Method):
    """m-BS (Algorithm 2): the last state of a chain towards p'(z|x,y) (Eq. 11) is the label, if right."""

    def __init__(self, chain: ChainSettings, start: Start = most_likely) -> None:
        super().__init__()
        self.chain, self.start = chain, start

    def forward(self, p: Distribution, reasoner: Reasoner, batch: Any, generator: torch.Generator) -> Loss:
        with torch.no_grad():
            z, judge = self.start(p, generator), reasoner.judge_of(batch)
            found = sample_corrections(z, p.score, reasoner.edits, judge, self.chain, generator)
        return _toward(found, p, batch)


class Baseline(nn.Module):
    """b = decay * b + (1 - decay) * mean reward: what a reward has to beat."""

    def __init__(self, decay: float, device: torch.device) -> None:
        super().__init__()
        check_setting("the baseline's decay", decay, 0 <= decay < 1, "in [0, 1)")
        self.decay = decay
        self.value = nn.Buffer(torch.zeros((), device=device))

    def advantage(self, rewards: Tensor) -> Tensor:
        """r - b, with b of the steps before, which do not depend on this sample; then b moves on."""
        advantage = rewards - self.value
        self.value.copy_(torch.lerp(mean_over_processes(rewards.mean()), self.value, self.decay))
        return advantage


class Reinforce(Method):
    """REINFORCE (Eq. 18) on the policy p(z | x, z in the language), with some samples for each example:

    loss = -(r(z, y) - b) log p(z | x, z in the language),    r = 1 if f(z) = y else 0
    """

    def __init__(self, device: torch.device, decay: float = 0.99, samples: int = 1) -> None:
        super().__init__()
        check_setting("samples", samples, samples >= 1, "at least 1")
        self.samples, self.baseline = samples, Baseline(decay, device)

    def forward(self, p: Distribution, reasoner: Reasoner, batch: Any, generator: torch.Generator) -> Loss:
        rows = batch.rows.repeat(self.samples)
        with torch.no_grad():
            z = (p if self.samples == 1 else p.select(rows)).sample(generator).symbols
            rewards = reasoner.judge_of(batch)(rows, z).float()
        log_policy = p.score(rows, z) - p.log_z[rows]
        loss = -(self.baseline.advantage(rewards) * log_policy).mean()
        return Loss(loss, {"reward": rewards.mean()})


class Mapo(Method):
    """MAPO (Liang et al. 2018, "Memory augmented policy optimization", Sec. 3, 4.1).

    The expected reward splits into what is in the memory (B) and what is not:

        loss = - w        E over z in B, by p(z) / p(B)                of  log p(z)
               - (1 - w)  E over z not in B, by p(z) / (1 - p(B))      of  (r(z) - b) log p(z)

    with w = max(p(B), alpha), clipped so that a network that does not yet believe in its memory cannot forget
    it: the cure for the cold start. The first expectation is summed exactly. For the second, one sample of
    the policy is drawn; it counts 0 where it is in the memory, and 1 / (1 - p(B)) where not. Without clipping
    and baseline the gradient is that of the expected reward; b, which only the second term has, adds b times
    the gradient of p(B).
    """

    def __init__(self, memory: Memory, decay: float = 0.99, clip: float = 0.1) -> None:
        super().__init__()
        check_setting("clip", clip, 0 <= clip <= 1, "in [0, 1]")
        self.clip, self.memory, self.baseline = clip, memory, Baseline(decay, memory.stored.device)

    def forward(self, p: Distribution, reasoner: Reasoner, batch: Any, generator: torch.Generator) -> Loss:
        with torch.no_grad():
            z = p.sample(generator).symbols
            rewarded = reasoner.right(batch, z)
        fresh = ~self.memory.contains(batch.examples, z)
        stored = self.memory.of(batch.examples)[..., : z.shape[1]]
        empty = (stored == PAD).all(2)
        rows = batch.rows.repeat_interleave(stored.shape[1])
        log_policy = p.score(rows, stored.flatten(0, 1)).view_as(empty) - p.log_z[:, None]
        log_policy = log_policy.masked_fill(empty, -torch.inf)
        believed = log_policy.detach().exp().sum(1).clamp(max=1.0)  # p(B), whatever rounding makes of it
        weight = torch.where(empty.all(1), 0.0, believed.clamp(min=self.clip))
        share = log_policy.detach().masked_fill(empty.all(1)[:, None], 0.0).softmax(1)
        from_memory = (share * log_policy.masked_fill(empty, 0.0)).sum(1)

        advantage = self.baseline.advantage(rewarded.float())
        from_policy = fresh * advantage * (p.score(batch.rows, z) - p.log_z)
        # Never above 1. Where all is believed no sample is fresh, and this would be 0 / 0.
        outside = (1 - weight) / (1 - believed).clamp(min=1e-6)
        loss = -(weight * from_memory + outside * from_policy).mean()

        self.memory.add(batch.examples, z, rewarded)
        measures = {"reward": rewarded.float().mean(), "in_memory": (~empty.all(1)).float().mean()}
        return Loss(loss, {**measures, "memory_weight": weight.mean()})


def _check_labels(examples: Any) -> None:
    if examples.labels is None:
        raise NGSError("these examples have no labels; give data with labels, or another method")


def _toward(found: Corrections, p: Distribution, batch: Any) -> Loss:
    """The corrections that were found as labels."""
    rows = found.found.nonzero().flatten()
    log_p = torch.zeros_like(batch.lengths, dtype=torch.float64)
    log_p = log_p.index_put((rows,), p.score(rows, found.z[rows]))
    return _mean_of(log_p, found.found, batch)


def _mean_of(log_p: Tensor, taught: Tensor, batch: Any) -> Loss:
    """-(1/|z|) log p [batch], averaged; 0 for examples that teach nothing."""
    losses = -log_p.masked_fill(~taught, 0.0) / batch.lengths
    return Loss(losses.mean(), {"found": taught.float().mean()})


MakeMethod = Callable[[Any], Method]
"""Makes a method for examples: it may need their number, their length and their device."""


def supervised(examples: Any) -> Method:
    """Learn from the labels, to compare learning from answers with."""
    _check_labels(examples)
    return Supervised()


def posterior(_: Any) -> Method:
    """Learn from all sentences with the right answer, weighted by their posterior (Eq. 7, 8)."""
    return Posterior()


def k_best(k: int) -> MakeMethod:
    """Learn from the k most likely sentences with the right answer; one is a hard label."""
    return lambda examples: KBest(k)


def one_step(start: Start = most_likely) -> MakeMethod:
    """Learn from the corrections of 1-BS (Algorithm 1)."""
    return lambda examples: OneStep(start)


def multi_step(chain: ChainSettings | None = None, start: Start = most_likely) -> MakeMethod:
    """Learn from the corrections of m-BS (Algorithm 2) with these hyperparameters."""
    return lambda examples: MultiStep(ChainSettings() if chain is None else chain, start)


def reinforce(decay: float = 0.99, samples: int = 1) -> MakeMethod:
    """Learn by NGS-RL (Eq. 18), with a moving average of the reward as baseline."""
    return lambda examples: Reinforce(examples.device, decay, samples)


def mapo(decay: float = 0.99, clip: float = 0.1, size: int = 8) -> MakeMethod:
    """Learn by NGS-MAPO (Liang et al. 2018), with a memory of `size` sentences for each example."""
    return lambda examples: Mapo(Memory(len(examples), size, examples.time, examples.device), decay, clip)


METHODS: Mapping[str, MakeMethod] = {
    "posterior": posterior,
    "posterior-hard": k_best(1),
    "posterior-k-best": k_best(5),
    "m-bs": multi_step(),
    "1-bs": one_step(),
    "mapo": mapo(),
    "reinforce": reinforce(),
    "supervised": supervised,
}
"""With the settings of the paper where it has any."""
