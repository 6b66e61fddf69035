"""A decoder kept in a language: probabilities, samples and the most likely sentences, against enumeration."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from ngs.grammar.constraint import AnyOrder, Constraint, Enumerated, Given, enumerate_sentences
from ngs.grammar.grammar import Grammar
from ngs.grammar.multiset_constraint import Multiset
from ngs.grammar.padding import PAD
from ngs.grammar.prefix_constraint import Automaton
from ngs.parsing.autoregressive import Autoregressive, log_softmax_among
from ngs.parsing.candidates import Candidates
from tests.grammars import ARITHMETIC, PALINDROMES, PREFIX

HIDDEN, MANY = 6, 200


@dataclass(frozen=True)
class TinyDecoder:
    """An Elman network. Its scores depend on the row and on all symbols before."""

    state: Tensor
    """[row, hidden]"""
    embedding: Tensor
    """[symbol + 1, hidden]: the last row is for PAD, the beginning"""
    recurrence: Tensor
    output: Tensor

    @classmethod
    def of(cls, rows: int, symbols: int, seed: int) -> TinyDecoder:
        generator = torch.Generator().manual_seed(seed)
        shapes = (rows, HIDDEN), (symbols + 1, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, symbols)
        parts = (torch.randn(shape, generator=generator, dtype=torch.double) for shape in shapes)
        return cls(*(part.requires_grad_() for part in parts))

    def select(self, rows: Tensor) -> TinyDecoder:
        return replace(self, state=self.state[rows])

    def follow(self, before: Tensor) -> tuple[Tensor, TinyDecoder]:
        states = [self.state]
        for symbol in before.unbind(1):
            states.append(torch.tanh(states[-1] @ self.recurrence + self.embedding[symbol]))
        return torch.stack(states[1:], 1) @ self.output, replace(self, state=states[-1])


def languages() -> Mapping[str, tuple[Grammar, Constraint[Any], Given]]:
    """Languages of which each row has few sentences."""
    orders = torch.tensor([[0, 1, 0, 0], [2, 1, 1, 0], [1, 1, 1, 1], [0, 3, 0, 2]])
    calls = ("exist all", "equal count red all count large all", "count union red all large red all")
    ids = (torch.tensor(PREFIX.encode(sentence.split())) for sentence in calls)
    multisets = torch.stack([torch.bincount(each, minlength=len(PREFIX.symbols)) for each in ids])
    return {
        "arithmetic": (ARITHMETIC, Automaton(ARITHMETIC), Given(lengths=torch.tensor([1, 3, 3, 1]))),
        "palindromes": (PALINDROMES, Automaton(PALINDROMES), Given(lengths=torch.tensor([2, 5, 8, 1, 4]))),
        "any order": (ARITHMETIC, AnyOrder(4), Given(multiset=orders)),
        "multisets": (PREFIX, Multiset(PREFIX), Given(multiset=multisets)),
    }


Case = tuple[Autoregressive, Enumerated]


@pytest.fixture(params=["arithmetic", "palindromes", "any order", "multisets"])
def case(request: pytest.FixtureRequest) -> Case:
    """A distribution, and all of its sentences."""
    grammar, constraint, given = languages()[request.param]
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    decoder = TinyDecoder.of(len(given), constraint.symbols, seed)
    every = enumerate_sentences(constraint, given, MANY)
    assert every.complete.all()
    return Autoregressive(grammar, decoder, constraint, given, given.longest), every


def test_probabilities_of_all_sentences_sum_to_one(case: Case) -> None:
    p, every = case
    sums = torch.zeros(len(p)).double().index_add(0, every.rows, p.score(every.rows, every.sentences).exp())
    assert torch.allclose(sums, torch.ones_like(sums)) and torch.equal(p.log_z, torch.zeros_like(sums))


def test_a_beginning_has_the_probability_of_all_that_begins_so(case: Case) -> None:
    p, every = case
    scores = p.score(every.rows, every.sentences)
    for time in range(1, p.time):
        begun = every.sentences.masked_fill(torch.arange(p.time) >= time, PAD)
        same = (begun[:, None] == begun).all(2) & (every.rows[:, None] == every.rows)
        sums = (same * scores.exp()).sum(1)
        assert torch.allclose(p.score(every.rows, begun).exp(), sums)


def test_samples_are_sentences_as_frequent_as_they_are_likely(case: Case) -> None:
    p, every = case
    row = int(torch.bincount(every.rows).argmax())
    these, number = every.sentences[every.rows == row], 20_000
    drawn = p.select(torch.full((number,), row)).sample(torch.Generator().manual_seed(1))
    exact = p.score(torch.full((len(these),), row), these).exp()
    same = (drawn.symbols[:, None] == these).all(2)
    assert same.any(1).all() and len(these) > 3
    assert torch.allclose(drawn.log_probs.exp(), (same * exact).sum(1))
    assert (same.double().mean(0) - exact).abs().sum() / 2 < 0.5 * (len(these) / number) ** 0.5 + 0.01


def test_a_wide_beam_ranks_exactly(case: Case) -> None:
    p, every = case
    k = MANY + 5
    found = p.topk(k)
    assert found.symbols.shape == (len(p), k, p.time)
    for row in range(len(p)):
        mine = every.sentences[every.rows == row]
        exact, order = p.score(torch.full((len(mine),), row), mine).sort(descending=True)
        assert torch.allclose(found.log_probs[row, : len(mine)], exact)
        assert torch.equal(found.symbols[row, : len(mine)], mine[order])
        assert found.log_probs[row, len(mine) :].isneginf().all()
        assert (found.symbols[row, len(mine) :] == PAD).all()


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 40, 60])
def test_a_narrow_beam_finds_each_sentence_once(case: Case, k: int) -> None:
    """While the beam goes on with longer sentences, a finished one is not there twice."""
    p, every = case
    found = p.topk(k)
    for row, (z, scores) in enumerate(zip(found.symbols, found.log_probs, strict=True)):
        real = z[scores.isfinite()]
        known = int((every.rows == row).sum())
        assert len(real.unique(dim=0)) == len(real) > 0 and (known > 1 or scores[0] == 0)
        assert torch.equal(scores.sort(descending=True).values, scores)
        assert (real[:, None] == every.sentences[every.rows == row]).all(2).any(1).all()


def test_the_best_takes_the_likeliest_symbol_at_each_step(case: Case) -> None:
    p, _ = case
    z, state = torch.full((len(p), p.time), PAD), p.constraint.start(p.given)
    for time in range(p.time):
        before = torch.nn.functional.pad(z, (1, 0), value=PAD)[:, : time + 1]
        legal = p.constraint.mask(state)
        scores = p.decoder.follow(before)[0][:, time].masked_fill(~legal, -torch.inf)
        z[:, time] = scores.argmax(1).masked_fill(~legal.any(1), PAD)
        state = p.constraint.advance(state, z[:, time])
    found = p.best()
    assert torch.equal(found.symbols, z)
    assert torch.allclose(found.log_probs, p.score(torch.arange(len(p)), z))
    assert found[1] == p.grammar.decode(symbol for symbol in z[1].tolist() if symbol != PAD)


def test_a_row_is_the_same_alone_and_among_others(case: Case) -> None:
    p, every = case
    chosen = torch.tensor([2, 0, 2, 1])
    some, whole = p.select(chosen).topk(4), p.topk(4)
    assert torch.equal(some.symbols, whole.symbols[chosen])
    assert torch.allclose(some.log_probs, whole.log_probs[chosen])
    for row, size in enumerate(p.given.sizes.tolist()):
        single = replace(p.select(torch.tensor([row])), time=size)
        mine = every.sentences[every.rows == row]
        here, there = mine.new_zeros(len(mine)), mine.new_full((len(mine),), row)
        assert torch.allclose(single.score(here, mine[:, :size]), p.score(there, mine))


def test_what_is_not_in_the_language_is_impossible(case: Case) -> None:
    p, every = case
    other = torch.randint(p.constraint.symbols, every.sentences.shape)
    change = (torch.rand(other.shape) < 0.2) & (every.sentences != PAD)
    changed = torch.where(change, other, every.sentences)
    same_row = every.rows[:, None] == every.rows
    inside = ((changed[:, None] == every.sentences).all(2) & same_row).any(1)
    assert torch.equal(p.score(every.rows, changed).isneginf(), ~inside)
    assert inside.any() and not inside.all()


def test_within_a_list_the_evidence_is_the_sum(case: Case) -> None:
    p, every = case
    kept = torch.rand(len(every.rows), generator=torch.Generator().manual_seed(3)) < 0.5
    kept &= every.rows != 0  # one row has none
    listed = p.within(Candidates(every.rows[kept], every.sentences[kept]))
    scores = p.score(every.rows[kept], every.sentences[kept])
    for row in range(len(p)):
        own = scores[every.rows[kept] == row]
        assert torch.allclose(listed.log_z[row], own.logsumexp(0)), row
        best = listed.topk(3).log_probs[row]
        assert torch.allclose(best[best.isfinite()], own.sort(descending=True).values[:3])


def test_gradients_are_finite_and_reach_everything(case: Case) -> None:
    p, every = case
    (-p.score(every.rows, every.sentences)).mean().backward()
    for name, weight in vars(p.decoder).items():
        assert weight.grad.isfinite().all() and weight.grad.any(), name


def test_a_network_that_has_diverged_still_draws_sentences(case: Case) -> None:
    """So that its loss, which is no number, can be reported."""
    p, every = case
    broken = replace(p, decoder=replace(p.decoder, output=torch.full_like(p.decoder.output, torch.nan)))
    drawn = broken.sample(torch.Generator().manual_seed(0))
    same = (drawn.symbols[:, None] == every.sentences).all(2)
    assert (same & (torch.arange(len(p))[:, None] == every.rows)).any(1).all()
    assert drawn.log_probs[p.given.sizes > 0].isnan().all()


def test_no_sentences_have_no_probabilities(case: Case) -> None:
    """A batch in which nothing was found still has a loss to differentiate."""
    p, every = case
    log_p = p.score(every.rows[:0], every.sentences[:0])
    assert log_p.shape == (0,)
    log_p.sum().backward()


def test_log_softmax_among_the_legal() -> None:
    scores = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], requires_grad=True)
    legal = torch.tensor([[True, False, True], [False, False, False]])
    log_p = log_softmax_among(scores, legal)
    assert torch.allclose(log_p[0, [0, 2]], torch.tensor([1.0, 3.0]).log_softmax(0))
    assert log_p[~legal].isneginf().all()
    (gradient,) = torch.autograd.grad(log_p[legal].sum(), scores)
    assert gradient.isfinite().all() and not gradient[1].any() and gradient[0, 1] == 0
