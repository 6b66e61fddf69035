"""The exact posterior against adding up all sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from ngs import PAD, UNDEFINED, Grammar, GrammarError, Semantics, posterior
from ngs.grammar.ambiguity import unambiguous
from ngs.grammar.normal_form import normal_form
from ngs.grammar.tree import Sentence
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import Meaning
from ngs.search import compiled
from tests.grammars import CATALAN, DANGLING_ELSE
from tests.parsing.batches import entropy_of, marginals_of
from tests.search.semantics import (
    SMALL_ARITHMETIC,
    PlainArithmetic,
    Problem,
    answers,
    log_probs_of,
    meanings,
    padded,
    problems_in,
)


@dataclass(frozen=True)
class Case:
    """Scores [batch, time, symbol] with an answer for each example."""

    grammar: Grammar
    semantics: Meaning
    log_probs: Tensor
    lengths: tuple[int, ...]
    answers: tuple[Value, ...]

    @classmethod
    def of(cls, problems: list[Problem]) -> Case:
        """The sentences that are to be corrected play no role here."""
        lengths, answers = zip(*((len(each.sentence), each.target) for each in problems), strict=True)
        return cls(problems[0].grammar, problems[0].semantics, padded(problems)[0], lengths, answers)

    @cached_property
    def right(self) -> list[dict[Sentence, float]]:
        """For each example log p(z|x) of the possible sentences that give the answer, likeliest first."""
        examples = zip(self.log_probs, self.lengths, self.answers, strict=True)
        return [self._right(*example) for example in examples]

    def _right(self, scores: Tensor, length: int, answer: Value) -> dict[Sentence, float]:
        values = answers(self.grammar, self.semantics, length)
        found = [
            (log_p, z)
            for z, log_p in log_probs_of(self.grammar, scores, length).items()
            if values[z] == answer and log_p > -inf
        ]
        return {z: log_p for log_p, z in sorted(found, reverse=True)}


def unambiguous_meanings() -> st.SearchStrategy[tuple[Grammar, Meaning, list[int]]]:
    """Random languages, with the lengths at which they are unambiguous."""
    found = meanings().map(lambda meaning: (*meaning, normal_form(meaning[0]).lengths(4)))
    found = found.map(lambda each: (*each[:2], [n for n in each[2] if unambiguous(each[0], n)]))
    return found.filter(lambda each: bool(each[2]))


def cases_in(grammar: Grammar, semantics: Meaning, lengths: Sequence[int]) -> st.SearchStrategy[Case]:
    return st.lists(problems_in(grammar, semantics, lengths), min_size=1, max_size=3).map(Case.of)


random_cases = unambiguous_meanings().flatmap(lambda each: cases_in(*each))
arithmetic_cases = cases_in(SMALL_ARITHMETIC, Arithmetic, [1, 3, 5])


def ask(case: Case, **limits: int):  # type: ignore[no-untyped-def]
    return posterior(case.grammar, case.semantics, case.log_probs, case.lengths, case.answers, **limits)


any_case = st.one_of(random_cases, arithmetic_cases, cases_in(SMALL_ARITHMETIC, PlainArithmetic, [1, 3]))


def evidence_of(right: dict[Sentence, float]) -> float:
    return log(sum(map(exp, right.values()))) if right else -inf


def check_posterior(case: Case) -> None:
    have = ask(case)
    assert have.exact.all()
    best, ranked = have.best(), have.topk(3)
    for b, length in enumerate(case.lengths):
        right = case.right[b]
        assert float(have.log_z[b]) == pytest.approx(evidence_of(right), rel=1e-9, abs=1e-9)
        assert have.found[b] == bool(right)
        symbols = torch.tensor([case.grammar.encode(z) for z in right], dtype=torch.long).view(-1, length)
        log_probs = torch.tensor([*right.values()], dtype=torch.float64)
        wanted = marginals_of(case.log_probs[b], symbols, log_probs)
        torch.testing.assert_close(have.marginals[b], wanted, rtol=1e-9, atol=1e-9)
        assert float(have.entropy[b]) == pytest.approx(entropy_of(log_probs), abs=1e-9)
        first = [ranked[b, k] for k in range(3)]
        assert len(set(first[: len(right)])) == min(3, len(right)), "the same sentence twice"
        highest = [*list(right.values())[:3], -inf, -inf, -inf][:3]
        told = [best.log_probs[b].item(), *ranked.log_probs[b].tolist()]
        assert told == pytest.approx([highest[0], *highest])
        for sentence, log_p in zip([best[b], *first], told, strict=True):
            assert sentence == () if log_p == -inf else right[sentence] == pytest.approx(log_p)
        assert all((z[length:] == PAD).all() for z in (best.symbols[b], *ranked.symbols[b]))


def check_samples(case: Case, seed: int) -> None:
    have = ask(case).sample(torch.Generator().manual_seed(seed))
    for b, right in enumerate(case.right):
        assert have[b] in right if right else have[b] == ()
        assert float(have.log_probs[b]) == pytest.approx(right.get(have[b], -inf))


def check_gradient(case: Case) -> None:
    """The gradient of the evidence is the marginal, also beside examples that have none."""
    scores = case.log_probs.clone().requires_grad_()
    have = posterior(case.grammar, case.semantics, scores, case.lengths, case.answers)
    possible = have.log_z[have.found]
    if len(possible):
        (gradient,) = torch.autograd.grad(possible.sum(), scores)
        torch.testing.assert_close(gradient, ask(case).marginals)


def check_all_answers(case: Case) -> None:
    """The evidence of all answers is the probability of all sentences with a defined value."""
    length, scores = case.lengths[0], case.log_probs[:1]
    values = answers(case.grammar, case.semantics, length)
    defined = {z for z, value in values.items() if value is not UNDEFINED}
    every = sorted({values[z] for z in defined})
    copies = scores.expand(len(every), -1, -1)
    many = posterior(case.grammar, case.semantics, copies, [length] * len(every), every)
    log_probs = log_probs_of(case.grammar, scores[0], length)
    total = sum(exp(log_probs[z]) for z in defined)
    assert float(many.log_z.exp().sum()) == pytest.approx(total, abs=1e-12)


def check_padding(case: Case, behind: float) -> None:
    """Nothing behind the end of a sentence is read."""
    scores = case.log_probs.clone()
    for b, length in enumerate(case.lengths):
        scores[b, length:] = behind
    padded = Case(case.grammar, case.semantics, scores, case.lengths, case.answers)
    assert torch.equal(ask(padded).log_z, ask(case).log_z)
    assert torch.equal(ask(padded).marginals, ask(case).marginals)


def check_wide_beam(case: Case) -> None:
    wide, exact = ask(case, budget=1, beam=10_000), ask(case)
    assert wide.exact.all()
    torch.testing.assert_close(wide.log_z, exact.log_z)
    torch.testing.assert_close(wide.marginals, exact.marginals)
    torch.testing.assert_close(wide.best().log_probs, exact.best().log_probs)
    torch.testing.assert_close(wide.topk(3).log_probs, exact.topk(3).log_probs)


def check_narrow_beam(case: Case, beam: int) -> None:
    """A lower bound of the evidence; what it finds is right, if not all there is."""
    narrow, exact = ask(case, budget=1, beam=beam), ask(case)
    for b, length in enumerate(case.lengths):
        have, want = float(narrow.log_z[b]), float(exact.log_z[b])
        assert have <= want + 1e-9
        if narrow.exact[b]:
            assert have == pytest.approx(want)
        if have > -inf:
            assert narrow.best()[b] in case.right[b]
            assert narrow.marginals[b, :length].sum(-1) == pytest.approx(1)
        else:
            assert narrow.best()[b] == ()


seeds = st.integers(0, 2**32 - 1)
paddings = st.sampled_from([float("nan"), inf, 7.0])
beams = st.integers(1, 4)


@settings(max_examples=300)
@given(any_case, seeds, paddings)
def test_the_posterior_is_the_share_of_the_right_sentences(case: Case, seed: int, behind: float) -> None:
    check_posterior(case)
    check_samples(case, seed)
    check_gradient(case)
    check_all_answers(case)
    check_padding(case, behind)


@settings(max_examples=300)
@given(any_case, beams)
def test_beams(case: Case, beam: int) -> None:
    check_wide_beam(case)
    check_narrow_beam(case, beam)


@pytest.mark.parametrize("target, length, seed", [(1, 3, 0), (0, 5, 1), (2, 1, 2)])
def test_samples_have_the_distribution(target: int, length: int, seed: int) -> None:
    """5000 samples: total variation about 0.02, against 0.3 and more between the posterior and the prior."""
    count = 5000
    generator = torch.Generator().manual_seed(seed)
    shape = 1, length, len(SMALL_ARITHMETIC.symbols)
    scores = (1.5 * torch.randn(shape, generator=generator, dtype=torch.float64)).log_softmax(-1)
    right = Case(SMALL_ARITHMETIC, Arithmetic, scores, (length,), (target,)).right[0]
    many = posterior(SMALL_ARITHMETIC, Arithmetic, scores.expand(count, -1, -1), None, [target] * count)
    drawn = many.sample(generator)
    found = Counter(drawn[b] for b in range(count))
    probs = {z: exp(log_p - evidence_of(right)) for z, log_p in right.items()}
    assert set(found) <= set(probs)
    assert 0.5 * sum(abs(found[z] / count - p) for z, p in probs.items()) < 0.06


@given(arithmetic_cases)
def test_float32_is_close(case: Case) -> None:
    single = Case(case.grammar, case.semantics, case.log_probs.float(), case.lengths, case.answers)
    have = ask(single).log_z
    assert have.dtype == torch.float32
    torch.testing.assert_close(have.double(), ask(case).log_z, rtol=1e-4, atol=1e-4)


# A beam where the tables outgrow the budget


def test_short_examples_stay_exact_beside_long_ones() -> None:
    scores = torch.zeros(2, 5, len(SMALL_ARITHMETIC.symbols), dtype=torch.float64).log_softmax(-1)
    mixed = posterior(SMALL_ARITHMETIC, Arithmetic, scores, [3, 5], [1, 1], budget=60, beam=2)
    exact = posterior(SMALL_ARITHMETIC, Arithmetic, scores, [3, 5], [1, 1])
    assert mixed.exact.tolist() == [True, False]
    assert mixed.log_z[0] == pytest.approx(exact.log_z[0])
    assert mixed.log_z[1] < exact.log_z[1] - 0.01  # a narrow beam does lose something


# What is refused, and what is no answer


@pytest.mark.parametrize(
    "grammar, length, sentence, rule",
    [
        (CATALAN, 3, "a a a", r"`s: \"a\"` \(line 3\) and `s: s s -> pair` \(line 2\)"),
        (DANGLING_ELSE, 7, "if c if c s else s", r"`statement: .*\(line 2\)"),
    ],
)
def test_ambiguous_grammars_are_refused(grammar: Grammar, length: int, sentence: str, rule: str) -> None:
    class Anything(Semantics):
        pair = when = choose = staticmethod(lambda *arguments: 0)

    scores = torch.zeros(1, length, len(grammar.symbols)).log_softmax(-1)
    with pytest.raises(GrammarError, match=f"the sentence '{sentence}' has two trees, which part at {rule}"):
        posterior(grammar, Anything, scores, None, [0])
    short = scores[:, :1]
    assert posterior(grammar, Anything, short, None, ["a"]).exact.all()  # one symbol has one tree


def test_the_evidence_does_not_remember_the_grad_mode_of_its_first_reader() -> None:
    scores = torch.zeros(1, 3, len(SMALL_ARITHMETIC.symbols), dtype=torch.float64, requires_grad=True)
    exact = posterior(SMALL_ARITHMETIC, Arithmetic, scores.log_softmax(-1), None, [2])
    with torch.no_grad():
        assert exact.found.all()
    exact.log_z.sum().backward()
    assert scores.grad is not None and scores.grad.abs().sum() > 0
    with torch.inference_mode():
        inner = posterior(SMALL_ARITHMETIC, Arithmetic, scores.detach().log_softmax(-1), None, [2])
        assert torch.allclose(inner.marginals.sum(-1), torch.ones(1, 3, dtype=torch.float64))


def test_the_k_best_have_gradients_too() -> None:
    scores = torch.zeros(1, 3, len(SMALL_ARITHMETIC.symbols), dtype=torch.float64, requires_grad=True)
    log_probs = scores.log_softmax(-1)
    log_probs.retain_grad()
    posterior(SMALL_ARITHMETIC, Arithmetic, log_probs, None, [2]).topk(2).log_probs.sum().backward()
    assert log_probs.grad is not None and log_probs.grad.sum() == 6  # two sentences of three symbols


def test_a_length_beyond_the_budget_is_tried_once(monkeypatch) -> None:
    tried = []
    real = compiled.compile_tables

    def counting(form, algebra, longest, *others):
        tried.append(longest)
        return real(form, algebra, longest, *others)

    monkeypatch.setattr(compiled, "compile_tables", counting)
    assert compiled.exact_length(SMALL_ARITHMETIC, Arithmetic, 9, 601) == 7
    assert compiled.exact_length(SMALL_ARITHMETIC, Arithmetic, 13, 601) == 7
    assert tried.count(9) == 1 and max(tried) == 9, tried
