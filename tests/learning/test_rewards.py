"""REINFORCE and MAPO: their gradients in expectation, by enumeration, and what MAPO keeps.

A sample is whatever sentence the test says, so that an expectation is an exact sum over the language.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ngs.grammar.padding import PAD
from ngs.grammar.tree import Sentence
from ngs.learning.methods import Mapo, Method, Reinforce, mapo
from ngs.parsing.sentence import Sentences
from ngs.search.memory import Memory
from tests.learning.tasks import ONE_BY_ONE, TASKS, UNREACHABLE, Case, decoded, value_of

CPU = torch.device("cpu")
WRITTEN = {"one by one": ("1", "+", "2"), "in turn": ("*", "1", "-", "2", "3")}


@pytest.fixture(params=[(name, seed) for name in TASKS for seed in range(2)], ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    """One example, of whose sentences some are right."""
    name, seed = request.param
    made = Case(TASKS[name], TASKS[name].of([WRITTEN[name]]), seed, sharpness=1.0)
    assert 3 <= len(made.right(0)) < len(made.language(0)) / 2
    return made


@dataclass(frozen=True)
class Drawing:
    """A distribution that draws the sentences of the test."""

    p: Any
    z: Tensor

    def __getattr__(self, name: str) -> Any:
        return getattr(self.p, name)

    def select(self, rows: Tensor) -> Drawing:
        return Drawing(self.p.select(rows), self.z[rows])

    def sample(self, _: torch.Generator) -> Sentences:
        return Sentences(self.z, self.p.score(torch.arange(len(self.z)), self.z), self.p.grammar)


def loss_of(case: Case, method: Method, drawn: Sentence) -> Any:
    """The loss where this sentence is drawn; the method stays as it was."""
    before = {name: tensor.clone() for name, tensor in method.state_dict().items()}
    p = Drawing(case.p, case.encoded([drawn]))
    loss = method(p, case.reasoner, case.batch, torch.Generator())
    method.load_state_dict(before)
    return loss


def expected(case: Case, method: Method) -> Tensor:
    """E of the loss, whose gradient is that of every sample weighted by its probability."""
    terms = [p.detach().exp() * loss_of(case, method, z).value for z, p in case.log_policy(0).items()]
    return torch.stack(terms).sum()


def check_climbs(case: Case, method: Method) -> None:
    """The gradient is that of sum over z in the language of p(z | x, language) r(z, y) (Eq. 16)."""
    policy = case.log_policy(0)
    exact = case.gradient(torch.stack([policy[z].exp() for z in case.right(0)]).sum())
    assert exact.abs().max() > 1e-3
    assert torch.allclose(-case.gradient(expected(case, method)), exact, atol=1e-9)


@pytest.mark.parametrize("baseline", [0.0, 0.4])
def test_reinforce_climbs_the_expected_reward(case: Case, baseline: float) -> None:
    """With any baseline: r - b instead of r has the same expectation."""
    method = Reinforce(CPU)
    method.baseline.value.fill_(baseline)
    check_climbs(case, method)


@pytest.mark.parametrize("samples", [1, 3])
@pytest.mark.parametrize("name", TASKS)
def test_reinforce_is_minus_the_advantage_times_the_log_of_the_policy(name: str, samples: int) -> None:
    case = Case(TASKS[name], TASKS[name].examples(10, 0, (1, 3) if name == "one by one" else (3, 5)))
    method = Reinforce(CPU, decay=0.9, samples=samples)
    method.baseline.value.fill_(0.25)
    rows = case.batch.rows.repeat(samples)
    z = case.p.select(rows).sample(torch.Generator().manual_seed(3)).symbols
    rewards, losses = [], []
    for row, symbols in zip(rows.tolist(), z, strict=True):
        sentence = decoded(case.grammar, symbols)
        rewards.append(float(sentence in case.right(row)))
        losses.append(-(rewards[-1] - 0.25) * case.log_policy(row)[sentence])
    loss = case.loss(method, seed=3)
    case.check(loss.value, torch.stack(losses).mean())
    assert 0 < np.mean(rewards) < 1 and loss.measures["reward"] == pytest.approx(np.mean(rewards))
    assert method.baseline.value == pytest.approx(0.9 * 0.25 + 0.1 * np.mean(rewards))


# MAPO


def with_memory_of(case: Case, known: Sequence[Sentence], clip: float, baseline: float = 0.0) -> Mapo:
    method = mapo(clip=clip, size=8)(case.examples)
    assert isinstance(method, Mapo)
    for z in known:
        method.memory.add(torch.tensor([0]), case.encoded([z]), torch.tensor([True]))
    method.baseline.value.fill_(baseline)
    return method


@pytest.mark.parametrize("number", [0, 2, None])
def test_without_clipping_and_baseline_mapo_climbs_the_expected_reward(
    case: Case, number: int | None
) -> None:
    """However little is in the memory."""
    check_climbs(case, with_memory_of(case, case.right(0)[:number], clip=0.0))


def test_with_a_full_memory_mapo_has_no_noise(case: Case) -> None:
    """All that is right is in the memory: the sum over it is the expected reward, whatever is drawn."""
    method = with_memory_of(case, case.right(0), clip=0.0)
    gradients = [case.gradient(loss_of(case, method, z).value) for z in case.language(0)]
    assert all(torch.allclose(each, gradients[0], atol=1e-9) for each in gradients)


@pytest.mark.parametrize("clip, baseline", [(0.0, 0.0), (0.3, 0.2), (0.9, 0.5)])
def test_mapo_is_its_equation(case: Case, clip: float, baseline: float) -> None:
    """-w E_B[log p] - (1 - w) / (1 - p(B)) [z not in B] (r - b) log p(z), for each z that may be drawn."""
    known = case.right(0)[:2]
    method = with_memory_of(case, known, clip, baseline)
    policy = case.log_policy(0)
    believed = torch.stack([policy[z].detach().exp() for z in known]).sum()
    weight = believed.clamp(min=clip)
    from_memory = sum(policy[z].detach().exp() / believed * policy[z] for z in known)
    for z, log_p in policy.items():
        advantage = (z in case.right(0)) - baseline
        drawn = (1 - weight) / (1 - believed) * (z not in known) * advantage * log_p
        loss = loss_of(case, method, z)
        case.check(loss.value, -weight * from_memory - drawn)
        assert float(loss.measures["memory_weight"]) == pytest.approx(float(weight))


def test_an_unrewarded_example_has_no_memory_and_still_teaches(case: Case) -> None:
    examples = replace(case.examples, answers=(UNREACHABLE,))
    case = Case(case.task, examples)
    method = with_memory_of(case, [], 0.1, baseline=0.5)
    loss = case.loss(method)
    assert loss.measures["memory_weight"] == loss.measures["in_memory"] == 0
    assert case.gradient(loss.value).abs().max() > 0


def test_mapo_keeps_what_was_rewarded_and_nothing_else() -> None:
    task, examples = ONE_BY_ONE, ONE_BY_ONE.examples(30)
    method = mapo(size=3)(examples)
    assert isinstance(method, Mapo)
    for step in range(40):
        case = Case(task, examples, step, sharpness=0.3)
        case.batch = examples.batch(np.random.default_rng(step).permutation(30)[:10])
        case.loss(method, step)
    counts = []
    for number, answer in enumerate(examples.answers):
        stored = [decoded(task.grammar, torch.tensor(z)) for z in kept(method.memory, number)]
        assert len(set(stored)) == len(stored) <= 3
        assert all(len(z) == examples.lengths[number] and value_of(task.grammar, z) == answer for z in stored)
        counts.append(len(stored))
    assert max(counts) == 3 and sum(counts) > 30


# The memory


def put(memory: Memory, example: int, sentence: list[int], wanted: bool = True) -> None:
    memory.add(torch.tensor([example]), torch.tensor([sentence]), torch.tensor([wanted]))


def kept(memory: Memory, example: int) -> list[list[int]]:
    return [each for each in memory.of(torch.tensor([example]))[0].tolist() if each[0] != PAD]


def test_a_memory_keeps_for_each_example_the_latest_it_was_given() -> None:
    memory = Memory(examples=5, size=2, time=3, device=CPU)
    put(memory, 3, [1, 0, 1])
    put(memory, 1, [2, PAD, PAD])
    put(memory, 3, [2, 0, 2], wanted=False)
    put(memory, 3, [1, 0, 1])  # known already
    assert kept(memory, 3) == [[1, 0, 1]]
    assert kept(memory, 1) == [[2, PAD, PAD]]
    assert kept(memory, 0) == []
    put(memory, 3, [3, 0, 3])
    assert kept(memory, 3) == [[1, 0, 1], [3, 0, 3]]
    put(memory, 3, [4, 0, 4])  # the oldest goes
    assert sorted(kept(memory, 3)) == [[3, 0, 3], [4, 0, 4]]
    put(memory, 3, [1, 0, 1])
    assert sorted(kept(memory, 3)) == [[1, 0, 1], [4, 0, 4]]
    asked = torch.tensor([[4, 0, 4], [3, 0, 3], [2, PAD, PAD], [4, 0, 4]])
    assert memory.contains(torch.tensor([3, 3, 1, 0]), asked).tolist() == [True, False, True, False]


def test_a_memory_goes_by_example_and_not_by_place() -> None:
    memory = Memory(examples=5, size=2, time=1, device=CPU)
    memory.add(torch.tensor([4, 2]), torch.tensor([[7], [8]]), torch.tensor([True, True]))
    memory.add(torch.tensor([2, 4]), torch.tensor([[9], [7]]), torch.tensor([True, True]))
    assert kept(memory, 4) == [[7]]
    assert kept(memory, 2) == [[8], [9]]
