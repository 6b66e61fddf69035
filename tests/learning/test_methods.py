"""Every method learns to read symbols from answers alone, in seconds."""

from __future__ import annotations

import pytest
import torch
from ngs.learning.objective import Likeliest, Supervised

from ngs.learning.loop import Lesson, Settings, Trainer
from ngs.learning.methods import METHODS, Method, k_likeliest, mapo, reinforce
from ngs.learning.metrics import Score, measure
from tests.learning.tasks import examples_of, network, tiny, tiny_reasoner

TEST = tiny(200, seed=99)

STEPS = {"reinforce": 500, "mapo": 300}
"""What learns from rewarded samples alone needs more of them; for the others 150."""

ENOUGH = 0.97
"""The share of answers that must be right in the end; a guess is right for about one in seven."""


def taught(lessons: list[Lesson], seed: int) -> Score:
    """How good the network is after these lessons on formulas it has not seen."""
    trainer = Trainer(network(seed), lessons, Settings(batch_size=30, learning_rate=0.05, seed=seed))
    for _ in trainer:
        pass
    return measure(trainer.learned, tiny_reasoner(TEST)).total


def lesson(name: str, method: Method, steps: int, seed: int) -> Lesson:
    examples = tiny()
    objective = method(tiny_reasoner(examples), torch.Generator().manual_seed(seed))
    return Lesson(name, examples, objective, steps)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_learns(name: str) -> None:
    untrained = measure(network(0), tiny_reasoner(TEST)).total
    score = taught([lesson(name, METHODS[name], STEPS.get(name, 150), seed=0)], seed=0)
    print(
        f"{name}: answers {untrained.calculation:.3f} -> {score.calculation:.3f}, symbols {score.symbol:.3f}"
    )
    assert untrained.calculation < 0.5
    assert score.calculation >= ENOUGH


@pytest.mark.parametrize("method", [reinforce(), mapo()], ids=["reinforce", "mapo"])
def test_a_few_labels_first_help_what_learns_from_rewards(method: Method) -> None:
    """Pre-training is a first lesson with labels, here of four formulas; the second needs none.

    With this seed, rewards alone end where every operator is read as one and the other is never tried.
    """
    seed, steps = 1, 100
    labelled = examples_of([("0",), ("1",), ("2", "+", "3"), ("3", "*", "1")], seed=7)
    first = Lesson("pretrain", labelled, Supervised(), 6)
    pretrained = taught([first], seed)
    alone = taught([lesson("alone", method, steps, seed)], seed)
    both = taught([first, lesson("then", method, steps, seed)], seed)
    print(
        f"labels {pretrained.calculation:.3f}, rewards {alone.calculation:.3f}, both {both.calculation:.3f}"
    )
    assert max(pretrained.calculation, alone.calculation) < 0.85
    assert both.calculation >= ENOUGH


def test_a_lesson_may_end_when_enough_is_learned() -> None:
    examples = tiny()
    engine = tiny_reasoner(examples)

    def enough(net: torch.nn.Module) -> bool:
        share = measure(net, engine).total.symbol
        return share is not None and share >= 0.8

    lessons = [
        Lesson("labels", examples, Supervised(), 500, enough, ask_every=3),
        Lesson("answers", examples, Likeliest(engine), 4),
    ]
    trainer = Trainer(network(), lessons, Settings(batch_size=30, learning_rate=0.02))
    assert trainer.steps_left == 504
    steps = list(trainer)
    labels = [step for step in steps if step.lesson == "labels"]
    assert 0 < len(labels) < 100 and len(labels) % 3 == 0
    assert [step.lesson for step in steps[len(labels) :]] == 4 * ["answers"]
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert trainer.steps_left == 0


def test_methods_make_objectives_with_their_options() -> None:
    engine = tiny_reasoner(tiny(5))
    objective = k_likeliest(7)(engine, torch.Generator())
    assert isinstance(objective, Likeliest) and objective.k == 7
