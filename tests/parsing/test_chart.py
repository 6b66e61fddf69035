"""Charts over derivations against adding them up one by one: ambiguous grammars, ragged batches."""

import math
from collections import Counter
from dataclasses import dataclass

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import normal_form
from ngs.grammar.tree import sentence_of
from ngs.parsing.chart import LOG, MAX, inside, outside
from ngs.parsing.circuit import Circuit, Edges, unroll
from ngs.parsing.derivations import log_total
from ngs.parsing.tables import Blank, compile_tables
from tests.enumeration import derivations
from tests.grammars import CATALAN, MOST, NAMED, NULLABLE_LIST
from tests.parsing.batches import batches, marginals_of


@dataclass(frozen=True)
class Case:
    """A batch over one circuit that has one derivation for each tree."""

    grammar: Grammar
    circuit: Circuit
    scores: Tensor
    """[batch, time, symbol]"""
    lengths: list[int]

    @property
    def roots(self) -> Edges:
        return self.circuit.select([self.circuit.root(length) for length in self.lengths])

    def derivations(self, example: int) -> tuple[Tensor, Tensor]:
        """The symbols [word, time] of the example's words and their log-weights [word].

        The weight is p(word) times the number of its trees.
        """
        length = self.lengths[example]
        trees = Counter(map(sentence_of, derivations(self.grammar, length)))
        symbols = torch.tensor([self.grammar.encode(word) for word in trees])
        counts = torch.tensor(list(trees.values()), dtype=torch.float64)
        scores = self.scores[example].double()
        return symbols, scores[torch.arange(length), symbols].sum(-1) + counts.log()


def case_of(grammar: Grammar, scores: Tensor, lengths: list[int]) -> Case:
    tables = compile_tables(normal_form(grammar), Blank(), scores.shape[1], budget=10**6)
    return Case(grammar, unroll(tables), scores, lengths)


@st.composite
def cases(draw: st.DrawFn, *, impossible: float = 0.0) -> Case:
    batch = draw(batches(impossible=impossible, behind=0.0))
    assume(all(normal_form(batch.grammar).count(length) <= MOST for length in batch.lengths))
    return case_of(batch.grammar, batch.scores, batch.lengths)


def named_case(grammar: Grammar, time: int, *, seed: int = 0) -> Case:
    """One example of each length."""
    generator = torch.Generator().manual_seed(seed)
    lengths = list(normal_form(grammar).lengths(time))
    shape = len(lengths), time, len(grammar.symbols)
    return case_of(grammar, torch.randn(shape, generator=generator, dtype=torch.float64), lengths)


def check_sums(case: Case) -> None:
    """LOG totals, what each score carries, and the gradient are those of the derivations one by one."""
    chart = inside(case.circuit, case.scores, case.roots, LOG)
    carried = outside(chart)
    assert carried.shape == case.scores.shape
    scores = case.scores.clone().requires_grad_()
    have = log_total(case.circuit, scores, case.roots)
    weights = torch.arange(1.0, len(have) + 1)
    (gradient,) = torch.autograd.grad(have, scores, weights.double())
    torch.testing.assert_close(gradient, weights[:, None, None] * carried)
    for example in range(len(case.lengths)):
        symbols, weights = case.derivations(example)
        total = weights.logsumexp(0)
        assert have[example].item() == pytest.approx(total.item(), abs=1e-9)
        assert bool(chart.possible[example]) == (total > -math.inf)
        wanted = marginals_of(case.scores[example], symbols, weights)
        torch.testing.assert_close(carried[example], wanted, rtol=1e-9, atol=1e-9)


def check_choice(case: Case, carried: Tensor, example: int) -> float:
    """`carried` spells a derivable word of positive probability; its score."""
    length = case.lengths[example]
    symbols, _ = case.derivations(example)
    assert set(carried[example].unique().tolist()) <= {0.0, 1.0}
    assert carried[example].sum(-1).tolist() == [1.0] * length + [0.0] * (len(carried[example]) - length)
    word = carried[example, :length].argmax(-1)
    assert (symbols == word).all(-1).any()
    score = float(case.scores[example, torch.arange(length), word].sum())
    assert score > -math.inf
    return score


@given(cases(impossible=0.1))
def test_sums_are_over_all_derivations(case: Case) -> None:
    check_sums(case)


@pytest.mark.parametrize("grammar", NAMED.values(), ids=NAMED)
def test_sums_of_named_grammars_are_over_all_derivations(grammar: Grammar) -> None:
    check_sums(named_case(grammar, 6))


@given(cases(impossible=0.1))
def test_the_best_derivation_is_found_and_spelled_out(case: Case) -> None:
    chart = inside(case.circuit, case.scores, case.roots, MAX)
    carried = outside(chart)
    for example in range(len(case.lengths)):
        symbols, _ = case.derivations(example)
        best = case.scores[example, torch.arange(symbols.shape[1]), symbols].sum(-1).max().item()
        if best == -math.inf:
            assert not chart.possible[example]
            assert not carried[example].any()
        else:
            assert chart.totals[example].item() == pytest.approx(best)
            assert check_choice(case, carried, example) == pytest.approx(best)


def test_an_impossible_example_does_not_touch_the_others() -> None:
    case = named_case(NULLABLE_LIST, 5)
    alone = log_total(case.circuit, case.scores, case.roots)
    dead = case.scores.clone()
    dead[1] = -math.inf
    dead.requires_grad_()
    totals = log_total(case.circuit, dead, case.roots)
    assert totals[1] == -math.inf
    assert totals[[0, 2, 3]].equal(alone[[0, 2, 3]])
    totals.sum().backward()
    assert not dead.grad.isnan().any()
    assert not dead.grad[1].any()
    wanted = outside(inside(case.circuit, case.scores, case.roots, LOG))
    assert dead.grad[[0, 2, 3]].equal(wanted[[0, 2, 3]])


def test_a_gradient_of_nan_is_not_hidden_where_there_is_a_derivative() -> None:
    case = named_case(CATALAN, 3)
    scores = case.scores.clone()
    scores[1] = -math.inf
    totals = log_total(case.circuit, scores.requires_grad_(), case.roots)
    (gradient,) = torch.autograd.grad(totals, scores, torch.tensor([math.nan, math.nan, 1.0]).double())
    assert gradient.isnan().flatten(1).any(1).tolist() == [True, False, False]


def test_no_root_is_no_derivation() -> None:
    case = named_case(CATALAN, 3)
    roots = case.circuit.select([None, case.circuit.root(2), None])
    assert log_total(case.circuit, case.scores, roots).isneginf().tolist() == [True, False, True]
    for ring in (LOG, MAX):
        chart = inside(case.circuit, case.scores, roots, ring)
        assert chart.possible.tolist() == [False, True, False]
        assert outside(chart).flatten(1).any(1).tolist() == [False, True, False]
