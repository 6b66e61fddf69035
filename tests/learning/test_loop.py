"""The loop: which examples a step sees, what a step does, and that a training can stop and go on anywhere."""

import gc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ngs.errors import DataError, NGSError
from ngs.learning.examples import Examples
from ngs.learning.loop import Lesson, Loss, Order, Settings, Trainer
from ngs.learning.methods import METHODS, Method, Supervised
from ngs.learning.schedule import constant, one_cycle
from tests.learning.tasks import IN_TURN, ONE_BY_ONE, SIZE, TASKS, Task, Writer, objective

LENGTHS = np.array([1] * 7 + [3] * 30 + [5] * 64 + [7] * 2)


@pytest.mark.parametrize("batch_size", [1, 8, 25, 103, 500])
def test_an_epoch_is_a_permutation_without_its_remainder(batch_size: int) -> None:
    order = Order(LENGTHS, batch_size, seed=0)
    per_epoch = len(LENGTHS) // min(batch_size, len(LENGTHS))
    for epoch in range(3):
        steps = range(epoch * per_epoch, (epoch + 1) * per_epoch)
        batches = [order(step) for step in steps]
        assert {len(batch) for batch in batches} == {min(batch_size, len(LENGTHS))}
        seen = np.concatenate(batches)
        assert len(set(seen.tolist())) == len(seen)
        assert set(seen.tolist()) <= set(range(len(LENGTHS)))


def test_what_is_left_out_is_not_always_the_same() -> None:
    order = Order(LENGTHS, 25, seed=0)
    left_out = [
        set(range(len(LENGTHS))) - {k for step in range(4 * epoch, 4 * epoch + 4) for k in order(step)}
        for epoch in range(40)
    ]
    assert set.intersection(*left_out) == set()
    assert len(set.union(*left_out)) > 50


@pytest.mark.parametrize("seed", range(5))
def test_every_batch_has_its_share_of_each_length(seed: int) -> None:
    order = Order(LENGTHS, 20, seed)
    for step in range(20):
        counts = np.bincount(LENGTHS[order(step)], minlength=8)
        for length in (1, 3, 5, 7):
            quota = 20 * (length == LENGTHS).mean()
            assert abs(counts[length] - quota) <= 2


def test_the_order_is_told_by_seed_and_epoch_alone() -> None:
    whole = [Order(LENGTHS, 20, seed=3)(step).tolist() for step in range(15)]
    once = Order(LENGTHS, 20, seed=3)
    assert [once(step).tolist() for step in reversed(range(15))] == whole[::-1]
    assert whole[:5] != whole[5:10]
    assert Order(LENGTHS, 20, seed=4)(0).tolist() != whole[0]


@pytest.mark.parametrize("seed", range(3))
def test_the_longest_may_come_first_and_then_batches_are_the_same_otherwise(seed: int) -> None:
    as_drawn, sorted_ = Order(LENGTHS, 20, seed), Order(LENGTHS, 20, seed, longest_first=True)
    for step in range(7):
        batch = sorted_(step)
        assert sorted(batch) == sorted(as_drawn(step))
        assert LENGTHS[batch].tolist() == sorted(LENGTHS[batch], reverse=True)
    assert any(as_drawn(step).tolist() != sorted_(step).tolist() for step in range(7))


def test_a_batch_is_shared_by_processes_evenly() -> None:
    assert len(Order(LENGTHS, 21, 0, processes=4)(0)) == 20
    assert len(Order(LENGTHS, 500, 0, processes=4)(0)) == 100
    with pytest.raises(NGSError, match="batches of 3 from 103 examples for 4 processes"):
        Order(LENGTHS, 3, 0, processes=4)


# A training that is stopped and resumed.


def noisy(task: Task, seed: int = 0) -> nn.Module:
    """A network with everything that could be forgotten: dropout, and the running numbers of a batch norm."""
    torch.manual_seed(seed)
    if task is IN_TURN:
        return nn.Sequential(nn.Dropout(0.3), Writer(len(task.grammar.symbols)))
    noise = (nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3))
    return nn.Sequential(nn.Linear(SIZE, 16), *noise, nn.Linear(16, len(task.grammar.symbols)))


def shaken(inputs: Tensor, generator: torch.Generator) -> Tensor:
    return inputs + 0.1 * torch.randn(inputs.shape, generator=generator)


SETTINGS = Settings(batch_size=16, learning_rate=0.01, weight_decay=0.01, averaging=0.8, seed=3)
EFFORT = {"one by one": {}, "in turn": {"few": 1, "samples": 1, "fresh": 1, "memory": 2}}
"""So little in turn that the posterior has something to draw and to keep."""


def examples_of(kind: str) -> Examples:
    return TASKS[kind].examples(40, 0, (1, 3, 5))


def lesson(kind: str, name: str, examples: Examples, steps: int, seed: int = 0) -> Lesson:
    reasoner = TASKS[kind].reasoner(examples, **EFFORT[kind])
    return Lesson(name, examples, objective(METHODS[name](examples), reasoner, seed), steps)


def training(kind: str, name: str, seed: int = 0) -> Trainer:
    """A short pre-training and a lesson of this method; `seed` of all that a checkpoint must bring back."""
    examples = examples_of(kind)
    lessons = [lesson(kind, "supervised", examples, 4), lesson(kind, name, examples, 12, seed)]
    return Trainer(noisy(TASKS[kind], seed), lessons, SETTINGS, augment=shaken)


def losses_of(trainer: Trainer, until: int = 16) -> list[float]:
    losses = []
    if trainer.steps_done < until:
        for step in trainer:
            losses.append(step.loss.item())
            if step.number == until:
                break
    return losses


STOPS = [*((name, stop) for name in METHODS for stop in (4, 9)), ("m-bs", 1), ("m-bs", 16)]
"""Between the lessons and within one; and in the first and at the end."""


@pytest.mark.parametrize("name, stop", STOPS)
@pytest.mark.parametrize("kind", TASKS)
def test_a_resumed_training_is_the_uninterrupted_one(kind: str, name: str, stop: int) -> None:
    straight = training(kind, name)
    expected = losses_of(straight)
    end = straight.state()

    interrupted = training(kind, name)
    losses = losses_of(interrupted, stop)
    tensors, place = interrupted.state()
    losses_of(interrupted)  # what happens after the checkpoint is not in it
    resumed = training(kind, name, seed=77)
    torch.manual_seed(123)
    resumed.restore(tensors, place)
    again = {key: tensor.clone() for key, tensor in tensors.items()}
    losses += losses_of(resumed)
    assert losses == expected
    assert all(torch.equal(tensor, again[key]) for key, tensor in tensors.items())  # and it stays as it was
    assert resumed.state()[1] == end[1]
    for key, tensor in resumed.state()[0].items():
        assert torch.equal(tensor, end[0][key]), key
    for key, tensor in resumed.learned.state_dict().items():
        assert torch.equal(tensor, straight.learned.state_dict()[key]), key


@pytest.mark.parametrize("kind", TASKS)
def test_the_seed_decides_everything(kind: str) -> None:
    assert losses_of(training(kind, "m-bs")) == losses_of(training(kind, "m-bs"))
    assert losses_of(training(kind, "m-bs")) != losses_of(training(kind, "m-bs", seed=1))


def test_a_state_that_does_not_fit_is_refused() -> None:
    kind = "one by one"
    tensors, place = training(kind, "posterior").state()
    other = Trainer(ONE_BY_ONE.network(), [lesson(kind, "posterior", examples_of(kind), 3)], SETTINGS)
    with pytest.raises(DataError, match=r"the checkpoint is of another (network|training)"):
        other.restore(tensors, place)
    with pytest.raises(DataError, match="is of a training on cuda, this is on cpu; resume on the same kind"):
        training(kind, "posterior").restore(tensors, {**place, "device": "cuda"})
    for made, wanted in (("posterior", "mapo"), ("mapo", "reinforce"), ("mapo", "posterior")):
        tensors_of_another, place = training(kind, made).state()
        with pytest.raises(DataError, match=r"of another training: it lacks .* and has .* besides"):
            training(kind, wanted).restore(tensors_of_another, place)
    tensors["generator"] = tensors["generator"].repeat(2, 1)
    with pytest.raises(DataError, match="of 2 processes, and these are 1"):
        training(kind, "posterior").restore(tensors, place)


# What a step does.


def labels_only(name: str, examples: Examples, steps: int, method: Method | None = None) -> Lesson:
    reasoner = ONE_BY_ONE.reasoner(examples)
    return Lesson(name, examples, objective(Supervised() if method is None else method, reasoner), steps)


def test_the_first_step_is_that_of_adam_by_hand() -> None:
    examples = ONE_BY_ONE.examples(10)
    net = ONE_BY_ONE.network()
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    settings = Settings(batch_size=10, learning_rate=0.5, schedule=constant)
    (step,) = Trainer(net, [labels_only("all", examples, 1)], settings)
    by_hand = ONE_BY_ONE.network()
    by_hand.load_state_dict(before)
    labels = examples.labels
    assert labels is not None
    flat = torch.cat([labels[k, :n] for k, n in enumerate(examples.lengths.tolist())])
    each = torch.repeat_interleave(1 / torch.from_numpy(examples.lengths), torch.from_numpy(examples.lengths))
    shown = examples.batch(np.arange(10)).inputs
    loss = (nn.functional.cross_entropy(by_hand(shown), flat, reduction="none") * each).sum() / 10
    adam = torch.optim.Adam(by_hand.parameters(), 0.5)
    loss.backward()
    adam.step()
    assert step.loss.item() == pytest.approx(loss.item())
    for name, tensor in net.state_dict().items():
        assert torch.allclose(tensor, by_hand.state_dict()[name], atol=1e-5)


def test_the_rate_follows_the_schedule_of_each_lesson() -> None:
    examples = ONE_BY_ONE.examples(20)
    lessons = [labels_only("a", examples, 4), labels_only("b", examples, 8)]
    settings = Settings(batch_size=10, learning_rate=0.01, schedule=one_cycle)
    steps = list(Trainer(ONE_BY_ONE.network(), lessons, settings))
    expected = [0.01 * one_cycle(k / 4) for k in range(4)] + [0.01 * one_cycle(k / 8) for k in range(8)]
    assert [step.learning_rate for step in steps] == pytest.approx(expected)


def test_the_average_moves_as_it_should() -> None:
    examples = ONE_BY_ONE.examples(20)
    settings = Settings(batch_size=10, learning_rate=0.05, averaging=0.7, schedule=constant)
    net = ONE_BY_ONE.network()
    trainer = Trainer(net, [labels_only("a", examples, 5)], settings)
    average: Tensor | None = None
    for _ in trainer:
        weight = net.state_dict()["weight"].clone()
        average = weight if average is None else 0.7 * average + 0.3 * weight
    assert average is not None
    assert torch.allclose(trainer.learned.state_dict()["weight"], average, atol=1e-6)


def test_augmentation_is_for_training_only() -> None:
    examples = ONE_BY_ONE.examples(20)
    seen: list[Tensor] = []

    def spy(inputs: Tensor, generator: torch.Generator) -> Tensor:
        seen.append(inputs)
        return torch.zeros_like(inputs)

    net = ONE_BY_ONE.network()
    trainer = Trainer(net, [labels_only("a", examples, 2)], replace(SETTINGS, averaging=0.0), augment=spy)
    weight = net.state_dict()["weight"].clone()
    assert len(list(trainer)) == len(seen) == 2
    assert torch.allclose(net.state_dict()["weight"], weight * (1 - 1e-4) ** 2, atol=1e-4)  # saw only zeros
    assert not torch.equal(seen[0], torch.zeros_like(seen[0]))


def test_bfloat16_is_for_the_network_alone() -> None:
    kinds: list[torch.dtype] = []

    class Spy(Supervised):
        def forward(self, p: Any, *others: Any) -> Loss:
            kinds.append(p.log_probs.dtype)
            return super().forward(p, *others)

    net = ONE_BY_ONE.network()
    net.register_forward_hook(lambda module, inputs, output: kinds.append(output.dtype))
    settings = Settings(batch_size=10, precision=torch.bfloat16)
    list(Trainer(net, [labels_only("a", ONE_BY_ONE.examples(20), 1, Spy())], settings))
    assert kinds == [torch.bfloat16, torch.float32]
    assert {parameter.dtype for parameter in net.parameters()} == {torch.float32}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", TASKS)
def test_scores_that_are_no_numbers_make_the_loss_none(kind: str, name: str) -> None:
    """Whatever the objective makes of them: charts and back-search take NaN for `impossible`."""
    net = TASKS[kind].network()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.fill_(torch.nan)
    (step,) = Trainer(net, [lesson(kind, name, examples_of(kind), 1)], SETTINGS)
    assert step.loss.isnan()


def test_lessons_that_make_no_sense_are_refused() -> None:
    with pytest.raises(NGSError, match="a: there are no examples to learn from"):
        labels_only("a", ONE_BY_ONE.examples(5).select([]), 1)
    nothing = labels_only("a", ONE_BY_ONE.examples(5).select([]), 0)
    assert list(Trainer(ONE_BY_ONE.network(), [nothing], SETTINGS)) == []


def tensors_alive() -> int:
    gc.collect()
    # Not isinstance, which asks objects for their class, and some answer with a warning.
    return sum(issubclass(type(each), Tensor) for each in gc.get_objects())


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", TASKS)
def test_nothing_grows_while_training(kind: str, name: str) -> None:
    trainer = Trainer(
        noisy(TASKS[kind]), [lesson(kind, name, examples_of(kind), 16)], SETTINGS, augment=shaken
    )
    counts = [tensors_alive() for step in trainer if step.number in (6, 16)]
    assert counts[0] == counts[1]
