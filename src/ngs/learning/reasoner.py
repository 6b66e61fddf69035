"""Everything symbolic that learning asks about a batch, prepared once for a set of examples.

The tables of a grammar do not depend on what the network says, and neither does the place of an answer in
them: both are looked up here before the first step (`Tabled`). Where sentences are too long for tables,
back-search asks the task for the values of whole batches (`Substituting`), or, where it has none to offer,
the same questions go to the public functions, one example at a time (`Untabled`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from ngs.grammar.ambiguity import refuse_ambiguity
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import normal_form
from ngs.learning.examples import Batch, Examples
from ngs.parsing.chart import log_total
from ngs.parsing.circuit import Circuit, Edges, derivation_circuit, sentence_circuit
from ngs.parsing.decode import PAD, best_columns, sampled_columns
from ngs.parsing.k_best import k_best_sentences
from ngs.parsing.sentence import parse
from ngs.reasoning.operation import UNDEFINED, Value
from ngs.reasoning.semantics import Meaning, evaluate
from ngs.search import batched
from ngs.search.batched import correct, one_step_batch
from ngs.search.batched_walk import multi_step_batch, walk_batch
from ngs.search.compiled import BUDGET, exact_length, value_circuit
from ngs.search.evaluator import Evaluator, evaluator
from ngs.search.multi_step import Draws, Walk
from ngs.search.neighbours import Engine
from ngs.search.posterior import Posterior, posterior
from ngs.search.substitution import Compile, Substitutions

BEAM = 32
"""Values that each span keeps where there are no tables."""


class Reasoner(Protocol):
    """Questions about a batch; `log_probs` is [batch, time, symbol], zero behind the end.

    Sentences are columns [batch, time], PAD behind the end, and PAD throughout where there is none.
    """

    @property
    def grammar(self) -> Grammar: ...

    @property
    def examples(self) -> Examples: ...

    def read(self, log_probs: Tensor, batch: Batch) -> Tensor:
        """argmax of p(z|x) over z in L(G) (Eq. 3)."""

    def sample(self, log_probs: Tensor, batch: Batch, generator: torch.Generator) -> Tensor:
        """z drawn from p(z | x, z in L(G))."""

    def log_partition(self, log_probs: Tensor, batch: Batch) -> Tensor:
        """log p(z in L(G) | x) [batch], differentiable."""

    def right(self, columns: Tensor, batch: Batch) -> Tensor:
        """Whether f(z) = y [batch]."""

    def log_evidence(self, log_probs: Tensor, batch: Batch) -> Tensor:
        """log p(y|x) [batch] (Eq. 7), differentiable; -inf where no sentence gives the answer."""

    def likeliest(self, log_probs: Tensor, batch: Batch, k: int) -> Tensor:
        """The k likeliest z with f(z) = y [batch, k, time]."""

    def one_step(self, log_probs: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """1-BS from the likeliest sentence, and whether it found a right one [batch]."""

    def multi_step(
        self, log_probs: Tensor, batch: Batch, walk: Walk, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """m-BS from the likeliest sentence, and whether it ended in a right one [batch]."""


def reasoner(
    grammar: Grammar,
    semantics: Meaning,
    examples: Examples,
    *,
    budget: int = BUDGET,
    beam: int = BEAM,
    batched_values: Compile | None = None,
) -> Reasoner:
    """By tables where those of as many symbols as `examples` have room for have at most `budget` entries.

    Elsewhere by `batched_values` of the same semantics, if there are any, and one by one if not.
    """
    lengths = normal_form(grammar).lengths(examples.time)
    if exact_length(grammar, semantics, examples.time, budget) >= max(lengths, default=0):
        return Tabled(grammar, semantics, examples, budget)
    if batched_values is not None:
        return Substituting(grammar, semantics, examples, budget, beam, batched_values)
    return Untabled(grammar, semantics, examples, budget, beam)


@dataclass(frozen=True, eq=False)
class Parsing:
    """What needs the grammar alone."""

    grammar: Grammar
    semantics: Meaning
    examples: Examples
    budget: int

    @cached_property
    def _derivations(self) -> Circuit:
        return derivation_circuit(self.grammar, self.examples.time)

    @cached_property
    def _sentences(self) -> Circuit:
        return sentence_circuit(self.grammar, self.examples.time)

    def read(self, log_probs: Tensor, batch: Batch) -> Tensor:
        roots = self._whole(self._derivations, batch)
        return best_columns(self._derivations, log_probs.detach(), roots)

    def sample(self, log_probs: Tensor, batch: Batch, generator: torch.Generator) -> Tensor:
        roots = self._whole(self._sentences, batch)
        return sampled_columns(self._sentences, log_probs.detach(), roots, generator)

    def log_partition(self, log_probs: Tensor, batch: Batch) -> Tensor:
        return log_total(self._sentences, log_probs, self._whole(self._sentences, batch))

    def _whole(self, circuit: Circuit, batch: Batch) -> Edges:
        """The root of all sentences of each example's length."""
        return circuit.select([circuit.root(n) for n in self.examples.lengths[batch.numbers].tolist()])


class BackSearching(Parsing, ABC):
    """Back-search for whole batches, by whatever engine says which changes of one symbol are right."""

    @property
    @abstractmethod
    def _engine(self) -> Engine: ...

    @property
    @abstractmethod
    def _answers(self) -> Tensor:
        """[example, ...]: the answers as the engine writes them"""

    def one_step(self, log_probs: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        fixes = correct(self._search(log_probs, batch), self.read(log_probs, batch))
        return fixes.columns, fixes.found

    def multi_step(
        self, log_probs: Tensor, batch: Batch, walk: Walk, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        draws = Draws.of(walk, len(batch.examples), batch.time, generator)
        return walk_batch(self._search(log_probs, batch), self.read(log_probs, batch), walk, draws)

    def _search(self, log_probs: Tensor, batch: Batch) -> batched.Batch:
        answers = self._answers[batch.examples]
        return batched.Batch(self._engine, log_probs.detach(), batch.lengths, answers)


@dataclass(frozen=True, eq=False)
class Tabled(BackSearching):
    """By compiled tables: no Python for single examples."""

    def __post_init__(self) -> None:
        for length in sorted(set(self.examples.lengths.tolist())):
            if length not in self._engine.answers:
                self._engine.numbers([length], [UNDEFINED])  # raises, naming the lengths there are

    @cached_property
    def _engine(self) -> Evaluator:
        engine = evaluator(self.grammar, self.semantics, self.examples.time, self.budget)
        return engine.to(self.examples.inputs.device)

    @cached_property
    def _answers(self) -> Tensor:
        """[example]: the number of each answer"""
        return self._engine.numbers(self.examples.lengths.tolist(), self.examples.answers)

    @cached_property
    def _circuit(self) -> Circuit:
        for length in sorted(set(self.examples.lengths.tolist())):
            refuse_ambiguity(self.grammar, length)
        return value_circuit(self.grammar, self.semantics, self.examples.time, self.budget)

    @cached_property
    def _answer_roots(self) -> list[int | None]:
        """of each example"""
        pairs = zip(self.examples.lengths.tolist(), self.examples.answers, strict=True)
        return [self._circuit.root(length, answer) for length, answer in pairs]

    def _roots(self, batch: Batch) -> Edges:
        """Of the sentences that give each example's answer."""
        return self._circuit.select([self._answer_roots[number] for number in batch.numbers.tolist()])

    def right(self, columns: Tensor, batch: Batch) -> Tensor:
        numbers = self._engine.answers_of(columns, batch.lengths)
        return (numbers == self._answers[batch.examples]) & (columns[:, 0] != PAD)

    def log_evidence(self, log_probs: Tensor, batch: Batch) -> Tensor:
        return log_total(self._circuit, log_probs, self._roots(batch))

    def likeliest(self, log_probs: Tensor, batch: Batch, k: int) -> Tensor:
        scores, roots = log_probs.detach(), self._roots(batch)
        if k == 1:
            return best_columns(self._circuit, scores, roots)[:, None]
        if not len(roots.out):  # no sentence gives any of the answers
            return batch.lengths.new_full((len(batch.examples), k, batch.time), PAD)
        columns, totals = k_best_sentences(self._circuit, scores, roots, k)
        behind = torch.arange(batch.time, device=scores.device) >= batch.lengths[:, None, None]
        return columns.masked_fill(behind | torch.isneginf(totals)[..., None], PAD)


@dataclass(frozen=True, eq=False)
class Beamed(Parsing):
    """The posterior of sentences too long for tables: one by one, with a beam of values."""

    beam: int

    def log_evidence(self, log_probs: Tensor, batch: Batch) -> Tensor:
        return self._posterior(log_probs, batch).log_evidence

    def likeliest(self, log_probs: Tensor, batch: Batch, k: int) -> Tensor:
        return self._posterior(log_probs.detach(), batch).k_best(k).columns

    def _posterior(self, log_probs: Tensor, batch: Batch) -> Posterior:
        return posterior(
            self.grammar,
            self.semantics,
            log_probs,
            batch.lengths,
            self._wanted(batch),
            budget=self.budget,
            beam=self.beam,
        )

    def _wanted(self, batch: Batch) -> list[Value]:
        return [self.examples.answers[k] for k in batch.numbers.tolist()]


@dataclass(frozen=True, eq=False)
class Substituting(Beamed, BackSearching):
    """By batched values: long sentences are judged and corrected without tables, many at once."""

    batched_values: Compile

    @cached_property
    def _engine(self) -> Substitutions:
        device = self.examples.inputs.device
        return Substitutions.of(self.grammar, self.examples.time, device, self.batched_values)

    @cached_property
    def _answers(self) -> Tensor:
        return self._engine.values.targets(self.examples.answers)

    def right(self, columns: Tensor, batch: Batch) -> Tensor:
        return self._engine.neighbours(columns, batch.lengths, self._answers[batch.examples]).right


@dataclass(frozen=True, eq=False)
class Untabled(Beamed):
    """One by one, by the public functions."""

    def right(self, columns: Tensor, batch: Batch) -> Tensor:
        def gives(sentence: list[int], answer: Value) -> bool:
            symbols = self.grammar.decode(column for column in sentence if column != PAD)
            if not symbols:
                return False
            value = evaluate(parse(self.grammar, symbols), self.semantics)
            return value is not UNDEFINED and bool(value == answer)

        pairs = zip(columns.tolist(), self._wanted(batch), strict=True)
        return torch.tensor([gives(*pair) for pair in pairs], dtype=torch.bool, device=columns.device)

    def one_step(self, log_probs: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        found = one_step_batch(
            self.grammar, self.semantics, log_probs.detach(), batch.lengths, self._wanted(batch)
        )
        return found.sentences.columns, found.found

    def multi_step(
        self, log_probs: Tensor, batch: Batch, walk: Walk, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        found = multi_step_batch(
            self.grammar,
            self.semantics,
            log_probs.detach(),
            batch.lengths,
            self._wanted(batch),
            walk=walk,
            generator=generator,
        )
        return found.sentences.columns, found.found
