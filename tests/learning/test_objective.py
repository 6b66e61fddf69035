"""The objectives against enumeration: losses, gradients, targets, and what must teach nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from ngs.learning.objective import Likeliest, Marginal, MultiStep, Objective, OneStep, Supervised
from ngs.learning.reasoner import Reasoner
from ngs.search.batched import one_step_batch
from ngs.search.batched_walk import multi_step_batch
from ngs.search.posterior import posterior
from torch import Tensor

from ngs.errors import NGSError
from ngs.grammar.padding import PAD
from ngs.learning.examples import Batch, Examples
from ngs.learning.methods import METHODS
from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.multi_step import Walk
from tests.learning.tasks import (
    GRAMMAR,
    SIZE,
    UNREACHABLE,
    lattice,
    log_p,
    right_sentences,
    tiny,
    tiny_reasoner,
    whole,
)

ALL = 40
"""More than the formulas of three symbols with any one answer."""


@pytest.fixture(params=range(3), ids=lambda seed: f"seed {seed}")
def case(request: pytest.FixtureRequest) -> tuple[Reasoner, Batch, Tensor]:
    """A batch whose answers all can be reached, and random scores for it."""
    examples = tiny(12, seed=request.param)
    batch = whole(examples)
    return tiny_reasoner(examples), batch, lattice(batch, request.param)


def gradient(loss: Tensor, log_probs: Tensor) -> Tensor:
    (found,) = torch.autograd.grad(loss, log_probs, retain_graph=True)
    return found


def enumerated(engine: Reasoner, batch: Batch, log_probs: Tensor) -> list[Tensor]:
    """For each example, log p(z|x) of every z with the right answer."""
    return [
        torch.stack([log_p(log_probs[place], z) for z in right_sentences(length, engine.examples.answers[k])])
        for place, (k, length) in enumerate(zip(batch.numbers.tolist(), batch.lengths.tolist(), strict=True))
    ]


def test_marginal_is_the_sum_over_right_sentences(case: tuple[Reasoner, Batch, Tensor]) -> None:
    engine, batch, log_probs = case
    loss = Marginal(engine)(log_probs, batch)
    expected = -torch.stack([each.logsumexp(0) for each in enumerated(engine, batch, log_probs)]).mean()
    assert torch.isclose(loss.value, expected)
    assert torch.allclose(gradient(loss.value, log_probs), gradient(expected, log_probs))
    assert loss.measures["found"] == 1


def test_the_gradient_of_marginal_is_the_posterior(case: tuple[Reasoner, Batch, Tensor]) -> None:
    engine, batch, log_probs = case
    answers = [engine.examples.answers[k] for k in batch.numbers.tolist()]
    exact = posterior(GRAMMAR, Arithmetic, log_probs.detach(), batch.lengths, answers).marginals
    found = gradient(Marginal(engine)(log_probs, batch).value, log_probs)
    assert torch.allclose(found, -exact / len(batch.numbers))


def test_likeliest_of_one_is_the_argmax(case: tuple[Reasoner, Batch, Tensor]) -> None:
    engine, batch, log_probs = case
    loss = Likeliest(engine, 1)(log_probs, batch)
    expected = -torch.stack([each.max() for each in enumerated(engine, batch, log_probs)]).mean()
    assert torch.isclose(loss.value, expected)
    assert torch.allclose(gradient(loss.value, log_probs), gradient(expected, log_probs))


def test_likeliest_of_k_weighs_by_the_posterior_among_them(case: tuple[Reasoner, Batch, Tensor]) -> None:
    engine, batch, log_probs = case
    for k in (2, 3):
        best = [each.topk(min(k, len(each))).values for each in enumerated(engine, batch, log_probs)]
        expected = -torch.stack([(each.detach().softmax(0) * each).sum() for each in best]).mean()
        loss = Likeliest(engine, k)(log_probs, batch).value
        assert torch.isclose(loss, expected)
        assert torch.allclose(gradient(loss, log_probs), gradient(expected, log_probs))


def test_likeliest_of_all_teaches_what_marginal_teaches(case: tuple[Reasoner, Batch, Tensor]) -> None:
    """The gradients meet; the losses differ by the posterior's entropy, which says how unsure it is."""
    engine, batch, log_probs = case
    marginal = Marginal(engine)(log_probs, batch).value
    exact = gradient(marginal, log_probs)
    gaps = [
        (gradient(Likeliest(engine, k)(log_probs, batch).value, log_probs) - exact).abs().sum().item()
        for k in (1, 3, ALL)
    ]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-9
    entropies = [
        torch.distributions.Categorical(logits=each.detach()).entropy()
        for each in enumerated(engine, batch, log_probs)
    ]
    likeliest = Likeliest(engine, ALL)(log_probs, batch).value
    assert torch.isclose(likeliest - marginal, torch.stack(entropies).mean())


def test_supervised_is_cross_entropy(case: tuple[Reasoner, Batch, Tensor]) -> None:
    _, batch, log_probs = case
    assert batch.labels is not None
    labels = batch.labels
    total = torch.nn.functional.nll_loss(
        log_probs.flatten(0, 1), labels.flatten(), ignore_index=PAD, reduction="sum"
    )
    expected = total / len(labels)
    loss = Supervised()(log_probs, batch).value
    assert torch.isclose(loss, expected)
    assert torch.allclose(gradient(loss, log_probs), gradient(expected, log_probs))


def test_supervised_needs_labels() -> None:
    examples = Examples.of([torch.zeros(1, SIZE)], [2])
    with pytest.raises(NGSError, match="have no labels"):
        Supervised()(lattice(whole(examples), 0), whole(examples))


def towards(log_probs: Tensor, columns: Tensor, found: Tensor) -> Tensor:
    """The mean of -log p(z*|x) / |z*| of what was found, an example at a time; the others count as zero."""
    losses = []
    for place, sentence in enumerate(columns.tolist()):
        scores = [log_probs[place, t, column] for t, column in enumerate(sentence) if column != PAD]
        losses.append(-torch.stack(scores).mean() * found[place])
    return torch.stack(losses).mean()


def test_back_search_gives_the_labels(case: tuple[Reasoner, Batch, Tensor]) -> None:
    engine, batch, log_probs = case
    answers = [engine.examples.answers[k] for k in batch.numbers.tolist()]
    asked = GRAMMAR, Arithmetic, log_probs.detach(), batch.lengths, answers
    walk, seed = Walk(steps=3, back_search=0.5), 4
    one = one_step_batch(*asked)
    many = multi_step_batch(*asked, walk=walk, generator=torch.Generator().manual_seed(seed))
    pairs = (
        (OneStep(engine), one),
        (MultiStep(engine, torch.Generator().manual_seed(seed), walk), many),
    )
    for objective, found in pairs:
        loss = objective(log_probs, batch)
        expected = towards(log_probs, found.sentences.columns, found.found)
        assert torch.isclose(loss.value, expected)
        assert torch.allclose(gradient(loss.value, log_probs), gradient(expected, log_probs))
        assert loss.measures["found"] == found.found.float().mean()


def made(name: str, engine: Reasoner, seed: int = 0) -> Objective:
    return METHODS[name](engine, torch.Generator().manual_seed(seed))


WEAK = sorted(set(METHODS) - {"supervised"})


@pytest.mark.parametrize("budget", [1, 100_000], ids=["without tables", "tables"])
@pytest.mark.parametrize("name", WEAK)
def test_an_answer_out_of_reach_teaches_nothing(name: str, budget: int) -> None:
    """Alone, and beside an example that can be learned from; never NaN."""
    examples = Examples.of([torch.zeros(3, SIZE), torch.zeros(1, SIZE)], [UNREACHABLE, 2])
    engine = tiny_reasoner(examples, budget=budget)
    alone, beside = examples.batch(np.array([0])), whole(examples)
    for batch in (alone, beside):
        log_probs = lattice(batch, 3)
        loss = made(name, engine)(log_probs, batch)
        found = gradient(loss.value, log_probs)
        assert loss.value.isfinite() and found.isfinite().all()
        assert (found[0] == 0).all()
        if batch is alone:
            assert loss.value == 0


@pytest.mark.parametrize("name", sorted(METHODS))
def test_padding_neither_teaches_nor_learns(name: str) -> None:
    """The gradient behind an example's end is zero, and what stands there makes no difference."""
    examples = tiny(12, seed=1)
    engine, batch = tiny_reasoner(examples), whole(examples)
    behind = torch.arange(batch.time) >= batch.lengths[:, None]
    assert behind.any()
    log_probs = lattice(batch, 6)
    loss = made(name, engine)(log_probs, batch).value
    assert (gradient(loss, log_probs)[behind] == 0).all()
    other = log_probs.detach().masked_fill(behind[..., None], -0.5)
    assert torch.isclose(made(name, engine)(other, batch).value, loss)


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"m-bs", "mapo", "reinforce"}))  # these draw numbers
def test_a_loss_is_a_mean_over_examples(name: str) -> None:
    """So that halves of a batch on two processes make the same step as the whole on one."""
    examples = tiny(12, seed=2)
    engine, batch = tiny_reasoner(examples), whole(examples)
    log_probs = lattice(batch, 7)
    loss = made(name, engine)(log_probs, batch).value
    halves = [examples.batch(np.arange(12)[part::2]) for part in (0, 1)]
    parts = [made(name, engine)(log_probs[half.numbers], half).value for half in halves]
    assert torch.isclose(torch.stack(parts).mean(), loss)


def test_an_objective_without_memory_refuses_one() -> None:
    with pytest.raises(NGSError, match="Supervised keeps no state, but was given generator"):
        Supervised().restore({"generator": torch.zeros(1)})


def test_a_drawing_objective_goes_on_where_it_was() -> None:
    examples = tiny(12)
    engine, batch = tiny_reasoner(examples), whole(examples)
    log_probs = lattice(batch, 1)
    walk = Walk(steps=2, back_search=0.2)
    first = MultiStep(engine, torch.Generator().manual_seed(0), walk)
    first(log_probs, batch)
    state = first.state()
    second = MultiStep(engine, torch.Generator().manual_seed(99), walk)
    second.restore(state)
    losses = [[objective(log_probs, batch).value.item() for _ in range(5)] for objective in (first, second)]
    assert losses[0] == losses[1]
    assert len(set(losses[0])) > 1
