"""REINFORCE and MAPO on a space small enough to enumerate: samples, gradients, baseline, memory.

The supplement ("REINFORCE as Rejection Sampling") reads REINFORCE so: propose z from p(z|x), keep it where
f(z) = y; what is kept follows p(z|x,y). Every random test says its seed, and its bound is at least twice
what chance makes of the distance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
import pytest
import torch
from ngs.learning.policy_gradient import Baseline, Mapo, Memory, Reinforce
from torch import Tensor

from ngs.errors import NGSError
from ngs.grammar.padding import PAD
from ngs.grammar.tree import Sentence
from ngs.learning.examples import Batch, Examples
from tests.enumeration import sentences
from tests.learning.tasks import (
    GRAMMAR,
    SIZE,
    UNREACHABLE,
    decoded,
    lattice,
    log_policy,
    right_sentences,
    tiny,
    tiny_reasoner,
    value_of,
    whole,
)

ANSWER = 3
"""Of 0+3, 3+0, 1+2, 2+1, 1*3 and 3*1, among 32 formulas."""
CPU = torch.device("cpu")


def copies(count: int, answer: int = ANSWER) -> tuple[Examples, Batch]:
    """One example of three symbols, many times: a batch of it is many samples."""
    examples = Examples.of([torch.zeros(3, SIZE)] * count, [answer] * count)
    return examples, whole(examples)


def one_lattice(seed: int, sharpness: float = 0.7) -> Tensor:
    """Random scores [1, 3, symbol] for that example, to differentiate by."""
    examples, _ = copies(1)
    return lattice(whole(examples), seed, sharpness)


def total_variation(drawn: Iterable[Sentence], expected: Mapping[Sentence, float]) -> float:
    counts = Counter(drawn)
    number = counts.total()
    assert counts.keys() <= expected.keys()
    return sum(abs(counts[z] / number - p) for z, p in expected.items()) / 2


def gradient_of(value: Tensor, log_probs: Tensor) -> Tensor:
    (found,) = torch.autograd.grad(value, log_probs)
    return found


def expected_reward(log_probs: Tensor) -> Tensor:
    """R = sum over z in L(G) of p(z | x, z in L(G)) r(z, y) (Eq. 16), by enumeration."""
    policy = log_policy(log_probs[0], 3)
    return torch.stack([policy[z].exp() for z in right_sentences(3, ANSWER)]).sum()


@pytest.mark.parametrize("seed", [0, 1])
def test_samples_follow_the_policy_and_the_rewarded_ones_the_posterior(seed: int) -> None:
    print(f"seed {seed}")
    count = 20_000
    examples, batch = copies(count)
    log_probs = one_lattice(seed).detach()
    objective = Reinforce(tiny_reasoner(examples), torch.Generator().manual_seed(seed))
    (columns,), (rewards,) = objective.draw(log_probs.expand(count, -1, -1), batch)
    drawn = [decoded(each) for each in columns]
    policy = {z: log.exp().item() for z, log in log_policy(log_probs[0], 3).items()}
    assert total_variation(drawn, policy) < 0.035  # by chance about sqrt(32 / (2 pi 20000)) = 0.016

    assert rewards.tolist() == [float(value_of(z) == ANSWER) for z in drawn]
    right = {z: p for z, p in policy.items() if value_of(z) == ANSWER}
    evidence = sum(right.values())
    kept = [z for z, reward in zip(drawn, rewards, strict=True) if reward]
    assert abs(len(kept) / count - evidence) < 0.02  # the share that is kept is p(y|x)
    posterior = {z: p / evidence for z, p in right.items()}
    chance = (len(right) / (2 * torch.pi * len(kept))) ** 0.5
    print(f"kept {len(kept)}, distance {total_variation(kept, posterior)}, by chance {chance}")
    assert total_variation(kept, posterior) < 3 * chance < 0.12


@pytest.mark.parametrize("baseline", [0.0, 0.4])
def test_the_expected_gradient_of_reinforce_is_that_of_the_expected_reward(baseline: float) -> None:
    """Over many samples, with any baseline: r - b instead of r has the same expectation."""
    seed, count = 5, 60_000
    print(f"seed {seed}")
    examples, batch = copies(count)
    log_probs = one_lattice(seed)
    objective = Reinforce(tiny_reasoner(examples), torch.Generator().manual_seed(seed))
    objective.baseline.value = torch.tensor(baseline)
    loss = objective(log_probs.expand(count, -1, -1), batch).value
    found, exact = gradient_of(-loss, log_probs), gradient_of(expected_reward(log_probs), log_probs)
    assert exact.abs().max() > 0.05
    assert (found - exact).abs().max() < 0.01  # a mean of numbers up to 1: sqrt(1 / 60000) = 0.004 at most


def test_reinforce_is_minus_the_advantage_times_the_log_of_the_policy() -> None:
    examples = tiny(10)
    engine, batch = tiny_reasoner(examples), whole(examples)
    log_probs = lattice(batch, 0)
    objective = Reinforce(engine, torch.Generator().manual_seed(0), samples=3)
    objective.baseline.value = torch.tensor(0.25)
    columns, rewards = Reinforce(engine, torch.Generator().manual_seed(0), samples=3).draw(log_probs, batch)
    assert columns.shape == (3, 10, 3) and rewards.shape == (3, 10)
    losses = [
        -(rewards[k, b] - 0.25) * log_policy(log_probs[b], length)[decoded(columns[k, b])]
        for k in range(3)
        for b, length in enumerate(batch.lengths.tolist())
    ]
    loss = objective(log_probs, batch)
    assert torch.isclose(loss.value, torch.stack(losses).mean())
    assert loss.measures["reward"] == rewards.mean()


def test_the_baseline_moves_by_a_hundredth() -> None:
    baseline = Baseline(0.99, CPU)
    expected = 0.0
    for rewards in (torch.ones(4), torch.zeros(4), torch.tensor([1.0, 0.0])):
        assert torch.allclose(baseline.advantage(rewards), rewards - expected)  # of the steps before
        expected = 0.99 * expected + 0.01 * rewards.mean().item()
        assert abs(baseline.value.item() - expected) < 1e-7


def test_reinforce_goes_on_where_it_was() -> None:
    examples = tiny(10)
    engine, batch = tiny_reasoner(examples), whole(examples)
    log_probs = lattice(batch, 0)
    first = Reinforce(engine, torch.Generator().manual_seed(0), decay=0.5)
    first(log_probs, batch)
    state = {name: tensor.clone() for name, tensor in first.state().items()}
    second = Reinforce(engine, torch.Generator().manual_seed(8), decay=0.5)
    second.restore(state)
    losses = [[each(log_probs, batch).value.item() for _ in range(4)] for each in (first, second)]
    assert losses[0] == losses[1] and len(set(losses[0])) == 4


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda engine, random: Reinforce(engine, random, samples=0), "0 samples"),
        (lambda engine, random: Reinforce(engine, random, decay=1.0), "decay is 1.0"),
        (lambda engine, random: Mapo(engine, random, clip=1.5), "clipped to 1.5"),
        (lambda engine, random: Mapo(engine, random, size=0), "a memory of 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NGSError, match=message):
        make(tiny_reasoner(tiny(2)), torch.Generator())


# The memory of MAPO.


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
    asked = torch.tensor([3, 3, 1, 0])
    sentences_asked = torch.tensor([[4, 0, 4], [3, 0, 3], [2, PAD, PAD], [4, 0, 4]])
    assert memory.contains(asked, sentences_asked).tolist() == [True, False, True, False]


def test_a_batch_is_remembered_by_example_and_not_by_place() -> None:
    memory = Memory(examples=5, size=2, time=1, device=CPU)
    memory.add(torch.tensor([4, 2]), torch.tensor([[7], [8]]), torch.tensor([True, True]))
    memory.add(torch.tensor([2, 4]), torch.tensor([[9], [7]]), torch.tensor([True, True]))
    assert kept(memory, 4) == [[7]]
    assert kept(memory, 2) == [[8], [9]]


def test_mapo_remembers_what_was_rewarded_and_nothing_else() -> None:
    examples = tiny(30)
    objective = Mapo(tiny_reasoner(examples), torch.Generator().manual_seed(0), size=3)
    for step in range(40):
        numbers = np.random.default_rng(step).permutation(30)[:10]
        batch = examples.batch(numbers)
        objective(lattice(batch, step, 0.5), batch)
    counts = []
    for number, answer in enumerate(examples.answers):
        remembered = [GRAMMAR.decode(c for c in each if c != PAD) for each in kept(objective.memory, number)]
        right = right_sentences(int(examples.lengths[number]), answer)
        assert set(remembered) <= set(right) and len(set(remembered)) == len(remembered) <= 3
        counts.append(len(remembered))
    assert max(counts) == 3 and sum(counts) > 30


def remembering(known: list[Sentence], *, clip: float, count: int) -> Mapo:
    """MAPO for copies of one example that all remember the same formulas."""
    examples, _ = copies(count)
    objective = Mapo(tiny_reasoner(examples), torch.Generator().manual_seed(0), clip=clip)
    everyone = torch.arange(count)
    for z in known:
        columns = torch.tensor([GRAMMAR.encode(z)]).expand(count, -1)
        objective.memory.add(everyone, columns, torch.ones(count, dtype=torch.bool))
    return objective


def test_the_weight_of_the_memory_is_clipped() -> None:
    log_probs = one_lattice(0)
    _, batch = copies(1)
    policy = log_policy(log_probs[0], 3)
    known = right_sentences(3, ANSWER)[:2]
    believed = sum(policy[z].exp().item() for z in known)
    assert 0 < believed < 0.5

    def weight(known: list[Sentence], clip: float) -> float:
        objective = remembering(known, clip=clip, count=1)
        return objective(log_probs, batch).measures["memory_weight"].item()

    assert weight(known, 0.5) == 0.5
    assert abs(weight(known, believed / 2) - believed) < 1e-9
    assert weight([], 0.5) == 0  # nothing to believe in


def mapo_gradient(
    log_probs: Tensor, known: list[Sentence], clip: float, count: int, baseline: float
) -> Tensor:
    objective = remembering(known, clip=clip, count=count)
    objective.baseline.value = torch.tensor(baseline)
    _, batch = copies(count)
    loss = objective(log_probs.expand(count, -1, -1), batch).value
    return gradient_of(-loss, log_probs)


@pytest.mark.parametrize("seed", range(3))
def test_with_a_full_memory_mapo_is_the_exact_gradient(seed: int) -> None:
    """All that is right is remembered: the sum over the memory is the expected reward, without noise."""
    log_probs = one_lattice(seed)
    found = mapo_gradient(log_probs, right_sentences(3, ANSWER), clip=0.0, count=1, baseline=0.0)
    assert torch.allclose(found, gradient_of(expected_reward(log_probs), log_probs))


@pytest.mark.parametrize("clip, baseline", [(0.0, 0.0), (0.3, 0.2)])
def test_the_expected_gradient_of_mapo_by_enumeration(clip: float, baseline: float) -> None:
    """w E_B[grad log p] + (1 - w) E_notB[(r - b) grad log p], for a memory that lacks some."""
    log_probs = one_lattice(5)
    known = right_sentences(3, ANSWER)[:2]
    policy = log_policy(log_probs[0], 3)
    believed = torch.stack([policy[z].exp() for z in known]).sum().detach()
    weight = believed.clamp(min=clip)
    objective = log_probs.new_zeros(())
    for z in sentences(GRAMMAR, 3):
        p = policy[z].exp().detach()
        if z in known:
            objective = objective + weight * (p / believed) * policy[z]
        else:
            reward = float(value_of(z) == ANSWER)
            outside = (1 - weight) * p / (1 - believed)
            objective = objective + outside * (reward - baseline) * policy[z]
    exact = gradient_of(objective, log_probs)
    found = mapo_gradient(log_probs, known, clip, 60_000, baseline)
    assert exact.abs().max() > 0.05
    assert (found - exact).abs().max() < 0.012


def test_without_clipping_and_baseline_mapo_climbs_the_expected_reward() -> None:
    """However little is remembered."""
    log_probs = one_lattice(5)
    known = right_sentences(3, ANSWER)[:2]
    found = mapo_gradient(log_probs, known, clip=0.0, count=60_000, baseline=0.0)
    exact = gradient_of(expected_reward(log_probs), log_probs)
    assert exact.abs().max() > 0.05
    assert (found - exact).abs().max() < 0.012


def test_a_remembered_sample_is_rejected() -> None:
    """The loss of the very samples that were drawn, an example at a time."""
    count, clip, baseline = 60, 0.3, 0.2
    log_probs = one_lattice(5)
    known = right_sentences(3, ANSWER)[:4]
    policy = log_policy(log_probs[0], 3)
    objective = remembering(known, clip=clip, count=count)
    objective.baseline.value = torch.tensor(baseline)
    _, batch = copies(count)
    many = log_probs.expand(count, -1, -1)
    drawn = objective.reasoner.sample(many, batch, torch.Generator().manual_seed(0))

    believed = sum(policy[z].exp().item() for z in known)
    weight = max(believed, clip)
    from_memory = sum(policy[z].exp().item() / believed * policy[z].item() for z in known)
    losses, rejected = [], 0
    for z in map(decoded, drawn):
        fresh = z not in known
        rejected += not fresh
        advantage = (value_of(z) == ANSWER) - baseline
        outside = (1 - weight) / (1 - believed) * fresh
        losses.append(-weight * from_memory - outside * advantage * policy[z].item())
    assert 0 < rejected < count
    assert abs(objective(many, batch).value.item() - sum(losses) / count) < 1e-6


def test_an_unrewarded_example_has_no_memory_and_still_teaches() -> None:
    examples, batch = copies(8, UNREACHABLE)
    objective = Mapo(tiny_reasoner(examples), torch.Generator().manual_seed(0))
    objective.baseline.value = torch.tensor(0.5)
    log_probs = lattice(batch, 0)
    loss = objective(log_probs, batch)
    assert loss.measures["memory_weight"] == 0 and loss.measures["remembered"] == 0
    assert gradient_of(loss.value, log_probs).abs().max() > 0


def test_mapo_goes_on_where_it_was() -> None:
    examples = tiny(10)
    engine, batch = tiny_reasoner(examples), whole(examples)
    log_probs = lattice(batch, 0)
    first = Mapo(engine, torch.Generator().manual_seed(0), decay=0.5)
    for _ in range(3):
        first(log_probs, batch)
    state = {name: tensor.clone() for name, tensor in first.state().items()}
    assert state["found"].sum() > 0
    second = Mapo(engine, torch.Generator().manual_seed(8), decay=0.5)
    second.restore(state)
    losses = [[each(log_probs, batch).value.item() for _ in range(4)] for each in (first, second)]
    assert losses[0] == losses[1]
    assert torch.equal(first.memory.columns, second.memory.columns)
