"""Objectives over programs: the losses and gradients of their formulas, and what must teach nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from ngs.learning.program_objectives import (
    MultiStepPrograms,
    OneStepPrograms,
    ReinforcePrograms,
    Start,
    SupervisedPrograms,
    a_sample,
    the_likeliest,
)
from ngs.learning.questions import QuestionBatch
from ngs.networks.decoding import Policy
from ngs.search.arrangement import Corrected, multi_step, one_step
from torch import Tensor

from ngs.errors import NGSError
from ngs.networks.pointer import PointerNetwork
from ngs.search.multi_step import Walk
from ngs.tasks.clevr.noun_phrases import TIDY_EDITS, TIDY_SWITCHES
from tests.learning.program_tasks import Task, beliefs, gradient, task, whole
from tests.networks.asked import network

CPU = torch.device("cpu")


def drawing(seed: int = 7) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module", params=range(2), ids=lambda seed: f"seed {seed}")
def case(request: pytest.FixtureRequest) -> tuple[PointerNetwork, Policy, QuestionBatch]:
    reader, batch = network(request.param), whole(task(12, request.param).examples)
    return reader, beliefs(reader, batch), batch


Case = tuple[PointerNetwork, Policy, QuestionBatch]


def check_same(loss: Tensor, expected: Tensor, reader: PointerNetwork) -> None:
    assert torch.isclose(loss, expected, atol=1e-6)
    exact = gradient(expected, reader)
    assert exact.abs().max() > 1e-3
    assert torch.allclose(gradient(loss, reader), exact, atol=1e-5)


def by_row(policy: Policy, columns: Tensor, weights: Tensor) -> Tensor:
    """The sum of -w log p(z|x), a question at a time."""
    return -torch.stack(
        [weights[k] * policy.log_probs(torch.tensor([k]), columns[k : k + 1])[0] for k in range(len(columns))]
    ).sum()


def test_supervised_is_the_mean_over_modules_and_questions(case: Case) -> None:
    reader, policy, batch = case
    assert batch.labels is not None
    expected = by_row(policy, batch.labels, 1 / batch.lengths) / len(batch)
    check_same(SupervisedPrograms()(policy, batch).value, expected, reader)


def test_supervised_needs_labels(case: Case) -> None:
    _, policy, batch = case
    with pytest.raises(NGSError, match="have no programs"):
        SupervisedPrograms()(policy, replace(batch, labels=None))


@pytest.mark.parametrize("samples", [1, 3])
def test_reinforce_weighs_samples_by_what_they_earn(case: Case, samples: int) -> None:
    reader, policy, batch = case
    objective = ReinforcePrograms(CPU, drawing(), samples, decay=0.9)
    objective.baseline.value = torch.tensor(0.3)
    rows = batch.rows.repeat(samples)
    columns, _ = policy.sample(rows, drawing())
    rewards = batch.right(rows, columns).float()
    expected = -((rewards - 0.3) * policy.log_probs(rows, columns)).mean()
    loss = objective(policy, batch)
    check_same(loss.value, expected, reader)
    assert 0 < rewards.mean() < 1 and loss.measures["reward"] == rewards.mean()
    assert torch.isclose(objective.baseline.value, 0.9 * torch.tensor(0.3) + 0.1 * rewards.mean())


def test_reinforce_goes_on_where_it_was(case: Case) -> None:
    _, policy, batch = case
    first, second = ReinforcePrograms(CPU, drawing(), 2), ReinforcePrograms(CPU, drawing(8), 2)
    first(policy, batch)
    state = {name: tensor.clone() for name, tensor in first.state().items()}
    assert state["baseline"] > 0
    second.restore(state)
    assert [first(policy, batch).value.item() for _ in range(3)] == [
        second(policy, batch).value.item() for _ in range(3)
    ]


def test_reinforce_draws_at_least_one() -> None:
    with pytest.raises(NGSError, match="0 samples"):
        ReinforcePrograms(CPU, drawing(), 0)


def searched_once(first: Tensor, policy: Policy, batch: QuestionBatch, _: torch.Generator) -> Corrected:
    return one_step(first, TIDY_SWITCHES, policy.log_probs, batch.right)


def walked(first: Tensor, policy: Policy, batch: QuestionBatch, generator: torch.Generator) -> Corrected:
    return multi_step(first, TIDY_SWITCHES, policy.log_probs, batch.right, WALK, generator)


WALK = Walk(steps=3, back_search=0.5)
Searched = Callable[[Tensor, Policy, QuestionBatch, torch.Generator], Corrected]


@pytest.mark.parametrize("start", [the_likeliest, a_sample])
@pytest.mark.parametrize("search", [searched_once, walked])
def test_back_search_gives_the_labels(case: Case, search: Searched, start: Start) -> None:
    """-(1/|z*|) log p(z*|x) of what was found; the mean is over all questions."""
    reader, policy, batch = case
    generator = drawing()
    with torch.no_grad():
        found = search(start(policy, generator), policy, batch, generator)
    expected = by_row(policy, found.columns, found.found / batch.lengths) / len(batch)
    if search is searched_once:
        loss = OneStepPrograms(TIDY_SWITCHES, drawing(), start)(policy, batch)
    else:
        loss = MultiStepPrograms(TIDY_SWITCHES, drawing(), start, WALK)(policy, batch)
    check_same(loss.value, expected, reader)
    assert loss.measures["found"] == found.found.float().mean() > 0
    assert batch.right(batch.rows[found.found], found.columns[found.found]).all()


def test_back_search_sets_out_from_the_likeliest_or_from_a_sample(case: Case) -> None:
    _, policy, _ = case
    best = the_likeliest(policy, drawing())
    assert torch.equal(best, policy.likeliest()[0][:, 0])
    samples = [a_sample(policy, generator) for generator in [drawing()] * 20]
    assert torch.equal(samples[0], policy.sample(policy.rows, drawing())[0])
    assert any(not torch.equal(sample, best) for sample in samples)


@pytest.mark.parametrize("method", [OneStepPrograms, MultiStepPrograms])
def test_back_search_goes_on_where_it_was(
    case: Case, method: type[OneStepPrograms] | type[MultiStepPrograms]
) -> None:
    _, policy, batch = case
    first, second = method(TIDY_EDITS, drawing()), method(TIDY_EDITS, drawing(8))
    first(policy, batch)
    second.restore(first.state())
    assert [first(policy, batch).value.item() for _ in range(3)] == [
        second(policy, batch).value.item() for _ in range(3)
    ]


@pytest.fixture(scope="module")
def hopeless() -> Task:
    """No program answers the first three of the questions."""
    return task(8, 3).unreachable(0, 1, 2)


@pytest.mark.parametrize("method", [OneStepPrograms, MultiStepPrograms])
def test_what_cannot_be_found_teaches_nothing(
    hopeless: Task, method: type[OneStepPrograms] | type[MultiStepPrograms]
) -> None:
    reader = network()
    alone = hopeless.examples.batch(np.array([0, 1, 2]))
    loss = method(TIDY_EDITS, drawing())(beliefs(reader, alone), alone)
    assert loss.value == 0 and loss.measures["found"] == 0
    assert not gradient(loss.value, reader).any()
    beside = whole(hopeless.examples)
    loss = method(TIDY_EDITS, drawing())(beliefs(reader, beside), beside)
    assert 0 < loss.measures["found"] <= 5 / 8
    assert loss.value.isfinite() and gradient(loss.value, reader).isfinite().all()
