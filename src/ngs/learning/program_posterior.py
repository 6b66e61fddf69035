"""Beyond the paper: p(z|x,y) over all programs that a question's modules allow, as a soft target.

    loss = -(1/|z|) log p(y|x),    p(y|x) = sum over z with f(z) = y of p(z|x)             (Eq. 7)

Its gradient is the expectation of Eq. 8 under the posterior: every right program is a label, weighted by how
likely the network finds it. Where the arrangements of the modules are few, the right ones among them are
found once, before the first step, and the sum is exact. Where they are many it runs over what is found:
programs drawn from the network, their neighbours, and the likeliest that were found before.

Programs that mean the same are counted once, by the likeliest of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn.functional import pad

from ngs.errors import NGSError
from ngs.learning.objective import Drawing, Loss
from ngs.learning.processes import gathered
from ngs.learning.questions import QuestionBatch, QuestionExamples
from ngs.parsing.arrangement import arrangements
from ngs.parsing.decode import PAD
from ngs.perception.decoding import Policy
from ngs.search.arrangement import Candidates, Edits, distinct, joined, places

AT_ONCE = 4096
"""Questions whose programs are enumerated in one go."""

Meanings = Callable[[Tensor], Tensor]
"""Programs [program, time] -> numbers [program], the same for programs that mean the same."""


class ProgramPosterior(Drawing):
    """The posterior of programs, exact where they can be enumerated and sampled where not."""

    def __init__(
        self,
        examples: QuestionExamples,
        edits: Edits,
        meanings: Meanings,
        generator: torch.Generator,
        *,
        at_most: int = 64,
        samples: int = 8,
        fresh: int = 16,
        memory: int = 8,
    ) -> None:
        if min(at_most, samples, fresh, memory) < 1:
            raise NGSError(
                f"{at_most} programs to enumerate, {samples} samples, {fresh} new programs and a memory of "
                f"{memory}; each must be at least 1"
            )
        self.edits, self.meanings, self.generator = edits, meanings, generator
        self.samples, self.fresh = samples, fresh
        self.enumerated = Enumeration.of(examples, at_most)
        time = int(examples.lengths.max(initial=0))
        shape = (len(examples), memory, time)
        self.memory = torch.full(shape, PAD, dtype=torch.int8, device=examples.device)
        """[question, place, time]: the likeliest right programs seen last, PAD where there are fewer"""

    def __call__(self, policy: Policy, batch: QuestionBatch) -> Loss:
        exact = self.enumerated.exact[batch.questions]
        open_rows = (~exact).nonzero().flatten()
        right = joined(self.enumerated.of_batch(batch), self._searched(policy, batch, open_rows))
        log_p = policy.log_probs(right.rows, right.columns)
        self._remember(batch, right, log_p.detach(), exact)
        once = self._likeliest_of_each_meaning(right, log_p.detach())
        log_evidence = log_sum(log_p[once], right.rows[once], len(batch))
        found = ~log_evidence.isneginf()
        loss = -(log_evidence.masked_fill(~found, 0.0) / batch.lengths).mean()
        measures = {"found": found.float().mean(), "exact": exact.float().mean()}
        return Loss(loss, measures)

    def _searched(self, policy: Policy, batch: QuestionBatch, rows: Tensor) -> Candidates:
        """Right programs of these rows: some that are drawn or next to such, and all that are remembered."""
        remembered = self.memory[batch.questions[rows], :, : batch.time].long()
        known = Candidates(rows.repeat_interleave(remembered.shape[1]), remembered.flatten(0, 1))
        known = known.select((known.columns != PAD).any(1))
        if not len(rows):
            return known
        owners = rows.repeat_interleave(self.samples)
        drawn = distinct(Candidates(owners, policy.sample(owners, self.generator)[0]))
        new = distinct(joined(drawn, self.edits.neighbours(drawn.columns).of(drawn.rows)))
        new = new.select(batch.right(new.rows, new.columns))
        return distinct(joined(self._some(new), known))

    def _some(self, candidates: Candidates) -> Candidates:
        """At most `fresh` of each row, at random: a question can have hundreds of right neighbours."""
        device = candidates.rows.device
        order = torch.rand(len(candidates), generator=self.generator, device=device).argsort()
        order = order[candidates.rows[order].argsort(stable=True)]
        return candidates.select(order[places(candidates.rows[order]) < self.fresh])

    def _likeliest_of_each_meaning(self, right: Candidates, log_p: Tensor) -> Tensor:
        """Numbers [program] of those that count, rows in rising order."""
        meaning = self.meanings(right.columns)
        order = log_p.argsort(descending=True)
        order = order[meaning[order].argsort(stable=True)]
        order = order[right.rows[order].argsort(stable=True)]
        rows, meaning = right.rows[order], meaning[order]
        first = torch.ones_like(rows, dtype=torch.bool)
        first[1:] = (rows[1:] != rows[:-1]) | (meaning[1:] != meaning[:-1])
        return order[first]

    def _remember(self, batch: QuestionBatch, right: Candidates, log_p: Tensor, exact: Tensor) -> None:
        """Keep the likeliest right programs of the questions that were searched."""
        order = log_p.argsort(descending=True)
        order = order[right.rows[order].argsort(stable=True)]
        rows = right.rows[order]
        place = places(rows)
        kept = (place < self.memory.shape[1]) & ~exact[rows]
        table = self.memory.new_full((len(batch), *self.memory.shape[1:]), PAD)
        columns = pad(right.columns, (0, self.memory.shape[2] - batch.time), value=PAD).to(torch.int8)
        table[rows[kept], place[kept]] = columns[order[kept]]
        self.memory[gathered(batch.questions)] = gathered(table)

    def state(self) -> dict[str, Tensor]:
        return {**super().state(), "memory": self.memory}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        super().restore(state)
        self.memory.copy_(state["memory"])


class Enumeration:
    """The right programs of every question that has few arrangements."""

    def __init__(self, columns: Tensor, begins: Tensor, exact: Tensor) -> None:
        self.columns, self.begins, self.exact = columns, begins, exact
        """int8 [program, time]; [question + 1], where a question's programs begin; bool [question]"""

    @classmethod
    def of(cls, examples: QuestionExamples, at_most: int) -> Enumeration:
        time = int(examples.lengths.max(initial=0))
        parts, exact = [], []
        for first in range(0, len(examples), AT_ONCE):
            counts = examples.modules[first : first + AT_ONCE].long()
            found = arrangements(examples.language, counts, at_most)
            right = examples.judge(found.rows + first, found.columns)
            columns = pad(found.columns[right], (0, time - found.columns.shape[1]), value=PAD)
            parts.append((found.rows[right] + first, columns.to(torch.int8)))
            exact.append(found.complete)
        rows = torch.cat([part[0] for part in parts])
        questions = torch.arange(len(examples) + 1, device=rows.device)
        begins = torch.searchsorted(rows, questions)
        return cls(torch.cat([part[1] for part in parts]), begins, torch.cat(exact))

    def of_batch(self, batch: QuestionBatch) -> Candidates:
        begins, ends = self.begins[batch.questions], self.begins[batch.questions + 1]
        rows = batch.rows.repeat_interleave(ends - begins)
        where = begins[rows] + places(rows)
        return Candidates(rows, self.columns[where, : batch.time].long())


def log_sum(log_p: Tensor, rows: Tensor, number: int) -> Tensor:
    """log of the sum of exp(log_p) over each row [number]; -inf where a row has none."""
    highest = log_p.new_full((number,), -torch.inf).scatter_reduce(0, rows, log_p.detach(), "amax")
    total = log_p.new_zeros(number).index_add(0, rows, (log_p - highest[rows]).exp())
    # At least 1 where there is any, so the logarithm has a gradient; 1 where there is none, for the same.
    return torch.where(total > 0, total, 1.0).log() + highest
