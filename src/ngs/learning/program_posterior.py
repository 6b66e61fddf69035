"""Beyond the paper: p(z|x,y) over all programs that a question's modules allow, as a soft target.

    loss = -(1/|z|) log p(y|x),    p(y|x) = sum over meanings with f(z) = y of max p(z|x)    (Eq. 7)

where programs that mean the same are counted once, by the likeliest of them. Its gradient is the
expectation of Eq. 8 under the posterior: every right meaning is a label, weighted by how likely it is.
Where the arrangements of the modules can be enumerated, the right ones among them are found once, before the
first step; if they are few, the sum is exact. Elsewhere it runs over what is found in a step: some of them at
random, programs drawn from the network, their neighbours, and the likeliest that were found before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from ngs.errors import NGSError
from ngs.grammar.constraint import Given, enumerate_sentences
from ngs.grammar.padding import PAD
from ngs.learning.objective import Drawing, Loss
from ngs.learning.processes import gathered
from ngs.learning.questions import QuestionBatch, QuestionExamples
from ngs.networks.decoding import Policy
from ngs.search.arrangement import Candidates, Edits, distinct, joined, places

AT_ONCE = 1024
"""Questions whose programs are enumerated in one go."""

Meanings = Callable[[Tensor], Tensor]
"""Programs [program, time] -> numbers [program], the same for programs that mean the same."""


class ProgramPosterior(Drawing):
    """The posterior of programs: exact where few of them are right, searched elsewhere."""

    waits = True
    """what it finds differs in number from step to step"""

    def __init__(
        self,
        examples: QuestionExamples,
        edits: Edits,
        meanings: Meanings,
        generator: torch.Generator,
        *,
        at_most: int = 512,
        few: int = 32,
        samples: int = 8,
        fresh: int = 16,
        memory: int = 8,
    ) -> None:
        """Enumerate no more than `at_most` programs of a question; up to `few` right ones are all summed.

        For a question with more: draw `samples` programs in each step, take `fresh` right ones from what was
        enumerated and as many from the samples and their neighbours, and keep a `memory` of the likeliest.
        """
        if min(at_most, few, samples, fresh, memory) < 1:
            raise NGSError(
                f"{at_most} programs to enumerate, {few} to sum, {samples} samples, {fresh} new programs and "
                f"a memory of {memory}; each must be at least 1"
            )
        self.edits, self.meanings, self.generator = edits, meanings, generator
        self.samples, self.fresh = samples, fresh
        self.enumerated = Enumeration.of(examples, at_most)
        self.exact = self.enumerated.complete & (self.enumerated.numbers <= few)
        """bool [question]: whether its sum is exact"""
        searched = int((~self.exact).sum())
        self.slots = torch.where(self.exact, searched, (~self.exact).cumsum(0) - 1)
        """[question]: its row of the memory; those that are not searched share the last, which stays empty"""
        shape = (searched + 1, memory, int(examples.lengths.max(initial=0)))
        self.memory = torch.full(shape, PAD, dtype=torch.int8, device=examples.device)
        """[slot, place, time]: the likeliest right programs seen last, PAD where there are fewer"""

    def __call__(self, policy: Policy, batch: QuestionBatch) -> Loss:
        exact = self.exact[batch.questions]
        all_right = self.enumerated.of_rows(batch, exact.nonzero().flatten())
        right = joined(all_right, self._searched(policy, batch, (~exact).nonzero().flatten()))
        log_p = policy.log_probs(right.rows, right.columns)
        self._remember(batch, right, log_p.detach(), exact)
        once = self._likeliest_of_each_meaning(right, log_p.detach())
        log_evidence = log_sum(log_p[once], right.rows[once], len(batch))
        found = ~log_evidence.isneginf()
        loss = -(log_evidence.masked_fill(~found, 0.0) / batch.lengths).mean()
        measures = {"found": found.float().mean(), "exact": exact.float().mean()}
        return Loss(loss, measures)

    def _searched(self, policy: Policy, batch: QuestionBatch, rows: Tensor) -> Candidates:
        """Right programs of these rows: some that were enumerated, some that are drawn or next to such, and
        all that are remembered."""
        remembered = self.remembered(batch.questions[rows])[..., : batch.time].long()
        known = Candidates(rows.repeat_interleave(remembered.shape[1]), remembered.flatten(0, 1))
        known = known.select((known.columns != PAD).any(1))
        if not len(rows):
            return known
        owners = rows.repeat_interleave(self.samples)
        drawn = distinct(Candidates(owners, policy.sample(owners, self.generator)[0]))
        new = distinct(joined(drawn, self.edits.neighbours(drawn.columns).of(drawn.rows)))
        new = new.select(batch.right(new.rows, new.columns))
        listed = self.enumerated.some_of_rows(batch, rows, self.fresh, self.generator)
        return distinct(joined(self._some(new), listed, known))

    def remembered(self, questions: Tensor) -> Tensor:
        """int8 [question, place, time]: the likeliest right programs that were found for some questions."""
        return self.memory[self.slots[questions]]

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
        self.memory[self.slots[gathered(batch.questions)]] = gathered(table)

    def state(self) -> dict[str, Tensor]:
        return {**super().state(), "memory": self.memory}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        super().restore(state)
        self.memory.copy_(state["memory"])


@dataclass(frozen=True)
class Enumeration:
    """The right programs of every question whose arrangements are not too many."""

    columns: Tensor
    """int8 [program, time]: of one question behind those of the other"""
    begins: Tensor
    """[question + 1]: where the programs of a question begin"""
    complete: Tensor
    """bool [question]: false where there were too many programs to enumerate"""

    @property
    def numbers(self) -> Tensor:
        """[question]: how many right programs are known"""
        return self.begins.diff()

    @classmethod
    def of(cls, examples: QuestionExamples, at_most: int) -> Enumeration:
        time = int(examples.lengths.max(initial=0))
        parts, complete = [], []
        for first in range(0, len(examples), AT_ONCE):
            counts = examples.modules[first : first + AT_ONCE].long()
            found = enumerate_sentences(examples.language, Given(multiset=counts), at_most)
            right = examples.judge(found.rows + first, found.sentences)
            columns = pad(found.sentences[right], (0, time - found.sentences.shape[1]), value=PAD)
            parts.append((found.rows[right] + first, columns.to(torch.int8)))
            complete.append(found.complete)
        rows = torch.cat([part[0] for part in parts])
        questions = torch.arange(len(examples) + 1, device=rows.device)
        begins = torch.searchsorted(rows, questions)
        return cls(torch.cat([part[1] for part in parts]), begins, torch.cat(complete))

    def of_rows(self, batch: QuestionBatch, rows: Tensor) -> Candidates:
        """All right programs of some rows of a batch."""
        questions = batch.questions[rows]
        owners = rows.repeat_interleave(self.numbers[questions])
        first = self.begins[batch.questions][owners]
        return Candidates(owners, self.columns[first + places(owners), : batch.time].long())

    def some_of_rows(
        self, batch: QuestionBatch, rows: Tensor, number: int, generator: torch.Generator
    ) -> Candidates:
        """`number` draws from the right programs of each of some rows that have any."""
        rows = rows[self.numbers[batch.questions[rows]] > 0]
        owners = rows.repeat_interleave(number)
        questions = batch.questions[owners]
        draws = torch.rand(len(owners), generator=generator, device=rows.device)
        where = self.begins[questions] + (draws * self.numbers[questions]).long()
        return Candidates(owners, self.columns[where, : batch.time].long())


def log_sum(log_p: Tensor, rows: Tensor, number: int) -> Tensor:
    """log of the sum of exp(log_p) over each row [number]; -inf where a row has none."""
    highest = log_p.new_full((number,), -torch.inf).scatter_reduce(0, rows, log_p.detach(), "amax")
    total = log_p.new_zeros(number).index_add(0, rows, (log_p - highest[rows]).exp())
    # At least 1 where there is any, so the logarithm has a gradient; 1 where there is none, for the same.
    return torch.where(total > 0, total, 1.0).log() + highest
