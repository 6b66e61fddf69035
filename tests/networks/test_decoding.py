"""Probabilities, samples and the likeliest arrangements, against enumeration in each language."""

from __future__ import annotations

from random import Random

import pytest
import torch
from torch import Tensor

from ngs.grammar.constraint import Enumerated, Given, enumerate_sentences
from ngs.networks.decoding import Policy, log_softmax_among
from ngs.parsing.decode import PAD
from tests.networks.asked import alone, network, policy, questions, total
from tests.tasks.clevr.programs import (
    LANGUAGES,
    counts_of,
    decoded,
    encoded,
    random_programs,
    recognised,
)
from tests.tasks.clevr.test_execution import random_source

MANY = 200


def few_orders(rng: Random, name: str, number: int, longest: int = 12) -> tuple[Policy, Enumerated]:
    """Questions with few programs, at least one with several, and all their programs."""
    longest = 6 if name == "any order" else longest
    programs = random_programs(rng, 40 * number, longest)
    counts = enumerate_sentences(LANGUAGES[name], Given(multiset=counts_of(programs)), MANY)
    sizes = torch.bincount(counts.rows, minlength=len(programs))
    chosen = (counts.complete & (sizes > 3)).nonzero().flatten()[: number - 1].tolist()
    programs = [("exist", "scene"), *(programs[k] for k in chosen)]
    assert len(programs) == number
    asked = questions(rng, programs)
    return policy(network(rng.randrange(2**32)), asked, name), enumerate_sentences(
        LANGUAGES[name], Given(multiset=asked.modules), MANY
    )


@pytest.fixture(params=LANGUAGES)
def case(request: pytest.FixtureRequest) -> tuple[Policy, Enumerated]:
    return few_orders(random_source(), request.param, 6)


def test_probabilities_of_all_arrangements_sum_to_one(case: tuple[Policy, Enumerated]) -> None:
    p, every = case
    sums = total(p.log_probs(every.rows, every.sentences), every.rows, len(p.rows))
    assert torch.allclose(sums, torch.ones(len(p.rows)), atol=1e-5)


def test_samples_have_the_probability_that_is_reported(case: tuple[Policy, Enumerated]) -> None:
    p, every = case
    rows = p.rows.repeat(20)
    columns, log_p = p.sample(rows, torch.Generator().manual_seed(0))
    assert torch.allclose(log_p, p.log_probs(rows, columns), atol=1e-5)
    known = set(zip(every.rows.tolist(), decoded(every.sentences), strict=True))
    assert set(zip(rows.tolist(), decoded(columns), strict=True)) <= known


def test_samples_are_as_frequent_as_they_are_likely(case: tuple[Policy, Enumerated]) -> None:
    p, every = case
    row = int(torch.bincount(every.rows).argmax())
    these = every.sentences[every.rows == row]
    number = 20_000
    columns, _ = p.sample(torch.full((number,), row), torch.Generator().manual_seed(1))
    frequency = (columns[:, None] == these).all(2).float().mean(0)
    exact = p.log_probs(torch.full((len(these),), row), these).exp()
    assert len(these) > 3
    assert (frequency - exact).abs().sum() / 2 < 0.5 * (len(these) / number) ** 0.5 + 0.01


def test_a_wide_beam_ranks_exactly(case: tuple[Policy, Enumerated]) -> None:
    p, every = case
    k = MANY + 5
    columns, log_p = p.likeliest(k)
    assert columns.shape == (len(p.rows), k, p.time)
    for row in p.rows.tolist():
        mine = every.sentences[every.rows == row]
        exact, order = p.log_probs(torch.full((len(mine),), row), mine).sort(descending=True)
        assert torch.allclose(log_p[row, : len(mine)], exact, atol=1e-5)
        assert sorted(decoded(columns[row, : len(mine)])) == sorted(decoded(mine))
        assert torch.equal(columns[row, 0], mine[order[0]]) or exact[0] - exact[1] < 1e-5
        assert log_p[row, len(mine) :].isneginf().all()
        assert (columns[row, len(mine) :] == PAD).all()


@pytest.mark.parametrize("k", [2, 3, 5, 8, 40, 41, 60])
def test_a_program_is_found_once_though_others_go_on(k: int) -> None:
    """While the beam goes on with longer programs, a finished one is not there twice."""
    rng = random_source()
    p = policy(network(), questions(rng, [("exist", "scene"), *random_programs(rng, 20, 12)]))
    columns, log_p = p.likeliest(k)
    assert log_p[0].tolist() == [0.0, *[-torch.inf] * (k - 1)]
    for each, scores in zip(columns, log_p, strict=True):
        found = decoded(each[scores.isfinite()])
        assert len(set(found)) == len(found)


def greedy(p: Policy) -> Tensor:
    """The likeliest module at each step, of all the programs a step longer."""
    columns = torch.full((len(p.rows), p.time), PAD)
    state = p.language.start(p.given)
    for time in range(p.time):
        legal = p.language.mask(state)
        scores = p.scores(p.rows, columns)[:, time].masked_fill(~legal, -torch.inf)
        columns[:, time] = scores.argmax(1).masked_fill(~legal.any(1), PAD)
        state = p.language.advance(state, columns[:, time])
    return columns


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_beam_of_one_takes_the_likeliest_module_at_each_step(name: str) -> None:
    rng = random_source()
    programs = random_programs(rng, 30, 16)
    p = policy(network(rng.randrange(2**32)), questions(rng, programs), name)
    columns, log_p = p.likeliest()
    assert torch.equal(columns[:, 0], greedy(p))
    assert torch.allclose(log_p[:, 0], p.log_probs(p.rows, columns[:, 0]), atol=1e-5)
    if name != "any order":
        assert all(recognised(name, program) for program in decoded(columns[:, 0]))


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_question_has_the_same_programs_alone(name: str) -> None:
    rng = random_source()
    programs = random_programs(rng, 8, 14)
    asked, reader = questions(rng, programs), network()
    together = policy(reader, asked, name)
    columns, log_p = together.likeliest(4)
    for row, program in enumerate(programs):
        single = policy(reader, alone(asked, row), name)
        one, other = (
            single.log_probs(single.rows, encoded([program])),
            together.log_probs(torch.tensor([row]), encoded([program], extra=together.time - len(program))),
        )
        assert torch.allclose(one, other, atol=1e-5)
        best, best_log_p = single.likeliest(4)
        assert torch.allclose(best_log_p[0], log_p[row], atol=1e-5)
        assert decoded(best[0])[:1] == decoded(columns[row])[:1] or log_p[row, 0] - log_p[row, 1] < 1e-4


def test_what_is_not_in_the_language_is_impossible() -> None:
    rng = random_source()
    programs = [p for p in random_programs(rng, 60, 10) if len(p) > 3]
    columns = encoded([tuple(rng.sample(p, len(p))) for p in programs])
    asked, reader = questions(rng, programs), network()
    for name in ("grammar", "tidy"):
        known = torch.tensor([recognised(name, program) for program in decoded(columns)])
        p = policy(reader, asked, name)
        assert torch.equal(p.log_probs(p.rows, columns).isneginf(), ~known)
        assert not known.all()
    anything = policy(reader, asked, "any order")
    assert anything.log_probs(anything.rows, columns).isfinite().all()


def test_other_modules_than_the_question_has_are_impossible() -> None:
    rng = random_source()
    asked = questions(rng, [("count", "filter_color[red]", "scene")])
    others = [("exist", "filter_color[red]", "scene"), ("count", "filter_color[blue]", "scene")]
    for name in LANGUAGES:
        p = policy(network(), asked, name)
        assert p.log_probs(torch.zeros(2, dtype=torch.long), encoded(others)).isneginf().all()


def test_gradients_are_finite_and_reach_everything(case: tuple[Policy, Enumerated]) -> None:
    p, every = case
    (-p.log_probs(every.rows, every.sentences)).mean().backward()
    for name, parameter in p.encoded.reader.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all() and parameter.grad.any(), name


def test_a_network_that_has_diverged_still_draws_programs() -> None:
    """So that its loss, which is no number, can be told."""
    rng = random_source()
    programs = random_programs(rng, 10, 10)
    p = policy(network(), questions(rng, programs))
    torch.nn.init.constant_(p.encoded.reader.score.weight, torch.nan)
    columns, log_p = p.sample(p.rows, torch.Generator().manual_seed(0))
    assert all(recognised("tidy", program) for program in decoded(columns))
    assert log_p.isnan().all()


def test_no_programs_have_no_probabilities() -> None:
    """A batch in which nothing was found still has a loss to differentiate."""
    p = policy(network(), questions(Random(0), [("count", "scene")]))
    log_p = p.log_probs(torch.empty(0, dtype=torch.long), torch.empty((0, 2), dtype=torch.long))
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
