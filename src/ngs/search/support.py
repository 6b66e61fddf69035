"""Which sentences give the answer: the support of the posterior p(z|x,y), in the way that fits the task.

tables   every value of every part is compiled once: the support is a chart, exact (`TablePlan`)
beam     the values are too many: each span keeps the most likely ones, one example at a time (`TablePlan`)
list     the sentences are few: the right ones are enumerated before the first step, exact (`ListPlan`)
search   they are too many for a list as well: samples, their neighbours, and the best ones found so far
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from ngs.errors import check_setting
from ngs.grammar.ambiguity import refuse_ambiguity
from ngs.grammar.constraint import Constraint, Given, enumerate_sentences
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import no_such_length, normal_form
from ngs.grammar.padding import PAD
from ngs.parsing.autoregressive import Autoregressive
from ngs.parsing.candidates import Candidates, distinct, first_of_each, joined, most_likely_first, rank_in_row
from ngs.parsing.distribution import Listed
from ngs.parsing.independent import Group, Independent, normalised
from ngs.parsing.scores import Lengths
from ngs.reasoning.operation import Value, check_answers
from ngs.reasoning.semantics import Meaning, interpret
from ngs.search.back_search import Judge
from ngs.search.beam import beam_circuit
from ngs.search.compiled import BUDGET, check_cacheable, exact_length, value_circuit
from ngs.search.edits import Edits
from ngs.search.memory import Memory

BEAM = 32  # values that each span keeps where tables do not fit


class Plan(Protocol):
    """How a reasoner finds the sentences with the right answer; an `nn.Module` if it has buffers."""

    def posterior(self, p: Any, examples: Tensor, generator: torch.Generator) -> Any:
        """p(z|x,y): the distribution `p`, with a row for each of `examples`, within the right sentences."""

    def describe(self) -> str:
        """What it does, and whether it is exact."""


@dataclass(frozen=True, eq=False)
class TablePlan:
    """Tables where they fit the budget, and a beam of values for sentences that are too long for them."""

    grammar: Grammar
    semantics: Meaning
    lengths: Sequence[int]
    answers: Sequence[Value]
    budget: int = BUDGET
    beam: int = BEAM

    def __post_init__(self) -> None:
        check_setting("beam", self.beam, self.beam >= 1, "at least one value of each span")
        check_cacheable(self.semantics)
        longest = max(self.lengths, default=0)
        known = normal_form(self.grammar).lengths(longest)
        for length in sorted(set(self.lengths)):
            if length not in known:
                raise no_such_length(length, known, longest)

    def posterior(self, p: Independent, examples: Tensor, _: torch.Generator | None = None) -> Independent:
        lengths = [self.lengths[k] for k in examples.tolist()]
        answers = [self.answers[k] for k in examples.tolist()]
        for length in sorted(set(lengths)):
            refuse_ambiguity(self.grammar, length)
        every, exact, groups = range(len(lengths)), [True] * len(lengths), list[Group]()
        short = [row for row in every if lengths[row] <= self.fitting]
        if short:
            device = p.log_probs.device
            circuit = value_circuit(self.grammar, self.semantics, self.fitting, self.budget, device)
            known = [lengths[row] for row in short], [answers[row] for row in short]
            groups.append(Group.of(None if len(short) == len(every) else short, circuit, *known))
        for row in sorted(set(every).difference(short)):
            algebra = interpret(self.grammar, self.semantics)
            scores = p.log_probs[row, : lengths[row]].detach()
            circuit, exact[row] = beam_circuit(self.grammar, algebra, scores, answers[row], self.beam)
            groups.append(Group.of([row], circuit, [lengths[row]], [answers[row]]))
        flags = torch.tensor(exact, dtype=torch.bool, device=p.log_probs.device)
        return replace(p, support=tuple(groups), exact=flags)

    def describe(self) -> str:
        longest = max(self.lengths, default=0)
        if longest <= self.fitting:
            return f"tables for sentences of up to {longest} symbols; exact"
        return (
            f"tables for up to {self.fitting} symbols, exact; for up to {longest} symbols the {self.beam} "
            f"most likely values of each span, a lower bound"
        )

    @cached_property
    def fitting(self) -> int:
        """The longest example whose tables fit: found out when a posterior is first asked for."""
        fitting = exact_length(self.grammar, self.semantics, max(self.lengths, default=0), self.budget)
        return max((length for length in self.lengths if length <= fitting), default=0)


def posterior(
    grammar: Grammar,
    semantics: Meaning,
    log_probs: Tensor,
    lengths: Lengths,
    answers: Sequence[Value],
    *,
    budget: int = BUDGET,
    beam: int = BEAM,
) -> Independent:
    """Return p(z|x,y) for log-normalised `log_probs` [batch, time, symbol] and an answer for each example.

    The paper (Sec. 3.2.2) calls computing it "not efficient": a sum over all z, which "grows exponentially".
    But the value of a sentence is built from the values of its parts, so the sum is a chart over (symbol,
    span, value), compiled once.

    Exact for every length whose tables have at most `budget` entries. For longer sentences each span keeps
    its `beam` most likely values, and `exact` says so.

    >>> from ngs import Arithmetic, arithmetic_grammar
    >>> uniform = torch.zeros(1, 3, 14).log_softmax(-1)
    >>> p = posterior(arithmetic_grammar(), Arithmetic, uniform, None, [17])
    >>> p.topk(2)[0, 0], p.topk(2)[0, 1]  # there are no others
    (('8', '+', '9'), ('9', '+', '8'))
    >>> round(p.log_z.exp().item() * 14**3, 3)  # of all sequences of three symbols
    2.0
    """
    p = normalised(grammar, log_probs, lengths)
    check_answers(answers, len(p))
    plan = TablePlan(grammar, semantics, p.lengths.tolist(), answers, budget, beam)
    return plan.posterior(p, torch.arange(len(p)))


Same = Callable[[Tensor], Tensor]
"""Sentences [sentence, time] -> numbers [sentence], equal for sentences that mean the same."""

AT_ONCE = 1024  # examples whose sentences are enumerated in one go


@dataclass(frozen=True)
class Effort:
    """How hard to look for right sentences where the language of an example is finite."""

    enumerated: int = 512
    """the right sentences are known for all examples with at most this many sentences"""
    few: int = 32  # up to so many right ones, all of them are summed in every step
    samples: int = 8  # for other examples: sentences to draw in each step
    fresh: int = 16
    """right sentences to take from the list, and as many from the samples and their neighbours"""
    memory: int = 8  # the most likely right sentences that are kept from step to step

    def __post_init__(self) -> None:
        for name, number in vars(self).items():
            check_setting(name, number, number >= 1, "at least 1")


class ListPlan(nn.Module):
    """The right sentences as a list: all of them where they are few, otherwise those that a step finds.

    Sentences that mean the same count once, by the most likely of them:

        log p(y|x) = log of the sum over meanings with f(z) = y of max p(z|x)
    """

    def __init__(
        self,
        constraint: Constraint[Any],
        given: Given,
        judge: Judge,
        edits: Edits,
        same: Same,
        effort: Effort,
    ) -> None:
        super().__init__()
        self.edits, self.judge, self.same, self.effort = edits, judge, same, effort
        listed, begins, complete = _right_sentences(constraint, given, judge, effort.enumerated)
        exact = complete & (begins.diff() <= effort.few)
        searched = int((~exact).sum())
        self.listed = nn.Buffer(listed, persistent=False)
        """int16 [sentence, time]: right sentences, those of one example after those of another"""
        self.begins = nn.Buffer(begins, persistent=False)
        """[example + 1]: where the sentences of an example begin"""
        self.exact = nn.Buffer(exact, persistent=False)
        """bool [example]: whether all its right sentences are summed"""
        self.slots = nn.Buffer(torch.where(exact, searched, (~exact).cumsum(0) - 1), persistent=False)
        """[example]: its row of the memory; those that are not searched share the last, which stays empty"""
        self.memory = Memory(searched + 1, effort.memory, listed.shape[1], listed.device)

    def posterior(self, p: Autoregressive, examples: Tensor, generator: torch.Generator) -> Listed:
        exact = self.exact[examples]
        known = self._all_listed(examples, p.time, exact.nonzero().flatten())
        found = self._searched(p, examples, (~exact).nonzero().flatten(), generator)
        right = joined(known, found)
        listed = p.within(right)
        log_p = listed.scores.detach()
        order = most_likely_first(right.rows, log_p)
        self._keep(examples, right, order, exact)
        meaning = self.same(right.symbols)
        return listed.among(order[first_of_each(right.rows[order], meaning[order])])

    def describe(self) -> str:
        share = float(self.exact.float().mean()) if len(self.exact) else 1.0
        listed = f"all right sentences are listed and summed for {share:.0%} of the examples, exact"
        searched = f"{self.effort.samples} samples and their neighbours in each step, a lower bound"
        return listed if share == 1 else f"{listed}; for the others {searched}"

    def _all_listed(self, examples: Tensor, time: int, rows: Tensor) -> Candidates:
        chosen = examples[rows]
        owners = rows.repeat_interleave(self.begins.diff()[chosen])
        first = self.begins[examples][owners]
        return Candidates(owners, self.listed[first + rank_in_row(owners), :time].long())

    def _some_listed(
        self, examples: Tensor, time: int, rows: Tensor, generator: torch.Generator
    ) -> Candidates:
        """`fresh` draws from the listed sentences of each of some rows that has any."""
        numbers = self.begins.diff()[examples]
        owners = rows[numbers[rows] > 0].repeat_interleave(self.effort.fresh)
        draws = torch.rand(len(owners), generator=generator, device=owners.device)
        where = self.begins[examples[owners]] + (draws * numbers[owners]).long()
        return Candidates(owners, self.listed[where, :time].long())

    def _searched(
        self, p: Autoregressive, examples: Tensor, rows: Tensor, generator: torch.Generator
    ) -> Candidates:
        """Right sentences of these rows: listed ones, samples with their neighbours, and those in memory."""
        cached = self.memory.of(self.slots[examples[rows]])[..., : p.time]
        known = Candidates(rows.repeat_interleave(cached.shape[1]), cached.flatten(0, 1))
        known = known.select((known.symbols != PAD).any(1))
        if not len(rows):
            return known
        owners = rows.repeat_interleave(self.effort.samples)
        drawn = distinct(Candidates(owners, p.select(owners).sample(generator).symbols))
        new = distinct(joined(drawn, self.edits.neighbours(drawn.symbols).of(drawn.rows)))
        new = new.select(self.judge(examples[new.rows], new.symbols))
        listed = self._some_listed(examples, p.time, rows, generator)
        return distinct(joined(self._at_random(new, generator), listed, known))

    def _at_random(self, candidates: Candidates, generator: torch.Generator) -> Candidates:
        """At most `fresh` of each row, at random: an example can have hundreds of right neighbours."""
        device = candidates.rows.device
        order = torch.rand(len(candidates), generator=generator, device=device).argsort()
        order = order[candidates.rows[order].argsort(stable=True)]
        return candidates.select(order[rank_in_row(candidates.rows[order]) < self.effort.fresh])

    def _keep(self, examples: Tensor, right: Candidates, order: Tensor, exact: Tensor) -> None:
        """Keep the first right sentences in `order`, the most likely, of examples that were searched."""
        rows = right.rows[order]
        rank = rank_in_row(rows)
        kept = (rank < self.effort.memory) & ~exact[rows]
        table = right.symbols.new_full((len(examples), self.effort.memory, self.memory.time), PAD)
        symbols = pad(right.symbols, (0, self.memory.time - right.symbols.shape[1]), value=PAD)
        table[rows[kept], rank[kept]] = symbols[order[kept]]
        self.memory.replace(self.slots[examples], table)


def _right_sentences(
    constraint: Constraint[Any], given: Given, judge: Judge, at_most: int
) -> tuple[Tensor, Tensor, Tensor]:
    """`listed` and `begins` of all examples with at most so many sentences, and which these are."""
    examples = torch.arange(len(given), device=given.device)
    time = given.longest
    parts, complete = [], []
    for chosen in torch.split(examples, AT_ONCE):
        found = enumerate_sentences(constraint, given.select(chosen), at_most)
        right = judge(chosen[found.rows], found.sentences)
        symbols = pad(found.sentences[right], (0, time - found.sentences.shape[1]), value=PAD)
        parts.append((chosen[found.rows[right]], symbols.to(torch.int16)))
        complete.append(found.complete)
    rows = torch.cat([part[0] for part in parts])
    begins = torch.searchsorted(rows, torch.arange(len(given) + 1, device=rows.device))
    return torch.cat([part[1] for part in parts]), begins, torch.cat(complete)
