"""What a pointer network says about arrangements: their probabilities, samples of them, the likeliest.

    p(z|x) = product over t of p(z_t | z_1 .. z_t-1, x),    each factor over what the language allows there

so that p is a distribution over the arrangements of the language, and what is sampled has exactly the
probability that is reported with it. (A network with dropout is another one at every call while it is
trained: there the two agree on average.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ngs.gpu import has_kernels, products_are_rounded
from ngs.grammar.constraint import Constraint, Counting, Given, KernelRule
from ngs.grammar.padding import PAD
from ngs.networks.pointer import Encoded, PointerNetwork, of_rows

if TYPE_CHECKING:
    from ngs.networks.kernels.decoder import Decoder


@dataclass(frozen=True)
class Policy:
    """p(z|x) for the questions that a network has read, inside a language."""

    encoded: Encoded
    language: Constraint[Any]
    time: int
    """modules of the longest program"""

    @property
    def given(self) -> Given:
        """The modules of each question."""
        return Given(multiset=self.encoded.asked.modules)

    @property
    def rows(self) -> Tensor:
        """[question]: the number of each"""
        return torch.arange(len(self.encoded.asked.modules), device=self.encoded.asked.modules.device)

    @cached_property
    def _decoder(self) -> Decoder | None:
        """The kernel that walks on a GPU; none where `_Walk` is to be taken.

        It rounds products, and knows neither dropout nor gradients. Weights and modes are those of its first
        use: a policy is what a network has read, and is read off before the network changes.
        """
        network, rule = self.encoded.reader, rule_of(self.language, self.encoded.asked.modules)
        single = self.encoded.memory.keys.dtype == torch.float32
        drops = network.training and network.dropout.p > 0
        if rule is None or drops or not (single and walks_by_kernel(network, rule)):
            return None
        from ngs.networks.kernels.decoder import Decoder

        with torch.no_grad():
            return Decoder.of(self.encoded, rule)

    def log_probs(self, rows: Tensor, columns: Tensor) -> Tensor:
        """log p(z|x) [sentence] of arrangements `columns` [sentence, time] of the questions `rows`.

        -inf where one is not in the language; of one that is cut short, that of its beginning.
        Differentiable.
        """
        if not torch.is_grad_enabled() and self._decoder is not None:
            from ngs.networks.kernels.recitation import recited, takes

            if takes(self._decoder):
                return recited(self._decoder, rows, columns)
        scores = self.scores(rows, columns)
        legal = masks(self.language, self.given.select(rows), columns)
        said = columns != PAD
        log_p = log_softmax_among(scores, legal | ~said[..., None])
        taken = log_p.gather(2, columns.clamp(min=0)[..., None])[..., 0]
        return taken.masked_fill(~said, 0.0).sum(1)

    def scores(self, rows: Tensor, columns: Tensor) -> Tensor:
        """The network's scores at each step of given arrangements [sentence, time, module]."""
        before = torch.cat([columns.new_full((len(columns), 1), PAD), columns[:, :-1]], 1)
        state = of_rows(self.encoded.state, rows)
        scores, _ = self.encoded.reader.follow(self.encoded.memory.select(rows), state, before)
        return scores

    @torch.no_grad()
    def sample(self, rows: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """An arrangement for each of `rows` [sentence, time], drawn from p, and its log p."""
        if self._decoder is not None:
            from ngs.networks.kernels.decoder import by_chance

            choice = by_chance(rows, self.time, self.encoded.asked.modules.shape[1], generator)
            return self._decoder.walk(rows, self.time, choice)
        walk = _Walk(self, rows)
        for _ in range(self.time):
            log_p = walk.look()
            over = ~walk.legal.any(1)
            # Of a network that has diverged anything may be drawn: its loss is no number, and will be told.
            p = log_p.exp().masked_fill(over[:, None], 1.0).nan_to_num(nan=1.0)
            drawn = torch.multinomial(p, 1, generator=generator)
            walk.take(drawn[:, 0].masked_fill(over, PAD), log_p)
        return walk.columns, walk.log_p

    @torch.no_grad()
    def likeliest(self, k: int = 1) -> tuple[Tensor, Tensor]:
        """The k likeliest arrangements that a beam of k finds [question, k, time], and their log p.

        Likeliest first; where there are fewer, the rest is PAD with log p = -inf. With k = 1 this takes the
        likeliest module at each step.
        """
        rows = self.rows
        if k == 1 and self._decoder is not None:
            from ngs.networks.kernels.decoder import by_rank

            columns, log_p = self._decoder.walk(rows, self.time, by_rank(rows))
            return columns[:, None], log_p[:, None]
        questions = len(rows)
        walk = _Walk(self, rows)
        beams = 1
        for _ in range(self.time):
            log_p = walk.look()
            over = ~walk.legal.any(1)
            log_p[:, 0] = torch.where(over, 0.0, log_p[:, 0])  # the finished go on as they are
            total = (walk.log_p[:, None] + log_p).view(questions, -1)
            best, flat = total.topk(min(k, total.shape[1]), dim=1)
            parent = flat // log_p.shape[1] + rows[:, None] * beams
            beams = best.shape[1]
            chosen = (flat % log_p.shape[1]).flatten().masked_fill(over[parent.flatten()], PAD)
            walk.select(parent.flatten())
            walk.take(chosen, log_p[parent.flatten()])
            walk.log_p = best.flatten()  # what is finished goes on in one way only: the others stay at -inf
        columns, log_p = walk.columns.view(questions, beams, -1), walk.log_p.view(questions, beams)
        missing = k - beams
        columns = torch.nn.functional.pad(columns, (0, 0, 0, missing), value=PAD)
        log_p = torch.nn.functional.pad(log_p, (0, missing), value=-torch.inf)
        return columns.masked_fill(log_p.isneginf()[..., None], PAD), log_p


def rule_of(constraint: Constraint[Any], counts: Tensor) -> KernelRule | None:
    """The rule for multisets [row, symbol] where a kernel can follow it; elsewhere none."""
    if not (has_kernels(counts) and isinstance(constraint, Counting)):
        return None
    return constraint.rule(counts.shape[1], counts.device)


def masks(constraint: Constraint[Any], given: Given, z: Tensor) -> Tensor:
    """What might have come at each step [row, time, symbol]: by a kernel where that is possible."""
    rule = None if given.multiset is None else rule_of(constraint, given.multiset)
    if rule is None or given.multiset is None:
        return constraint.masks(given, z)
    from ngs.parsing.kernels import legality

    return legality.legal_along(rule.function, rule.facts, given.multiset, z)


def walks_by_kernel(network: PointerNetwork, rule: KernelRule | None) -> bool:
    """Whether a kernel walks with a network's decoder, by a rule for what may come next: where nothing is
    dropped and no gradient asked for."""
    weight = network.key.weight
    if rule is None or not (has_kernels(weight) and weight.dtype == torch.float32 and products_are_rounded()):
        return False
    from ngs.networks.kernels.decoder import takes

    return takes(network)


class _Walk:
    """Arrangements in the making, one module longer with each `take`."""

    def __init__(self, policy: Policy, rows: Tensor) -> None:
        encoded = policy.encoded
        self.network, self.language = encoded.reader, policy.language
        self.memory, self.state = encoded.memory.select(rows), of_rows(encoded.state, rows)
        self.written = self.language.start(policy.given.select(rows))
        self.taken = [rows.new_full((len(rows),), PAD)]
        self.legal = self.language.mask(self.written)
        self.log_p = encoded.memory.keys.new_zeros(len(rows))

    @property
    def columns(self) -> Tensor:
        return torch.stack(self.taken, 1)[:, 1:]

    def look(self) -> Tensor:
        """log p of the next module [row, module]."""
        scores, self.state = self.network.follow(self.memory, self.state, self.taken[-1][:, None])
        return log_softmax_among(scores[:, 0], self.legal)

    def select(self, rows: Tensor) -> None:
        """Go on with some of the rows, in any order and number."""
        self.memory, self.state = self.memory.select(rows), of_rows(self.state, rows)
        self.written, self.legal = self.written.select(rows), self.legal[rows]
        self.taken = [column[rows] for column in self.taken]
        self.log_p = self.log_p[rows]

    def take(self, columns: Tensor, log_p: Tensor) -> None:
        """One more module for each row [row], or PAD, given what `look` said [row, module]."""
        gained = log_p.gather(1, columns.clamp(min=0)[:, None])[:, 0]
        self.log_p = self.log_p + gained.masked_fill(columns == PAD, 0.0)
        self.taken = [*self.taken, columns]
        self.written = self.language.advance(self.written, columns)
        self.legal = self.language.mask(self.written)


def log_softmax_among(scores: Tensor, legal: Tensor) -> Tensor:
    """log softmax over the legal modules; -inf elsewhere, and throughout where nothing is legal."""
    none = ~legal.any(-1, keepdim=True)
    return scores.masked_fill(~legal & ~none, -torch.inf).log_softmax(-1).masked_fill(~legal, -torch.inf)
