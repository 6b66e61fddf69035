"""Steps on formulas that are recorded on a GPU and repeated: they do what plain steps do."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

import pytest
import torch
from torch import nn

from ngs.experiments.config import TrainHWF
from ngs.experiments.hwf import HWFCourse
from ngs.gpu import HAS_TRITON, rounded_products
from ngs.learning.loop import Lesson, Trainer
from ngs.learning.methods import is_recordable
from ngs.learning.objective import Loss
from ngs.learning.reasoner import Tabled
from ngs.learning.recorded_step import PLAIN_STEPS
from ngs.networks.lenet import NETWORKS
from ngs.parsing import root_table

RECORDED = ["supervised", "posterior", "posterior-hard", "reinforce", "mapo", "1-bs", "m-bs"]
CONFIG = TrainHWF(network="paper", steps=12, batch_size=16, augment=False)
needs_gpu = pytest.mark.skipif(
    not (torch.cuda.is_available() and HAS_TRITON), reason="needs a GPU and Triton"
)


def training(method: str, *, recorded: bool = True, dropout: bool = False) -> Trainer:
    """Without dropout by default: a recorded step shows the network a few inputs more, so that chance drops
    out others."""
    course = HWFCourse(replace(CONFIG, method=method), torch.device("cuda"))
    (lesson,) = course.lessons()
    if not recorded:
        lesson = Lesson(lesson.name, lesson.examples, lesson.objective, lesson.steps)
    torch.manual_seed(0)
    network = course.network()
    for layer in network.modules():
        if isinstance(layer, nn.Dropout) and not dropout:
            layer.p = 0.0
    return Trainer(network, [lesson], course.config.settings)


def losses_of(trainer: Trainer) -> tuple[list[float], list[dict[str, float]]]:
    with rounded_products():
        steps = list(trainer)
    measures = [{name: float(value) for name, value in step.measures.items()} for step in steps]
    return [float(step.loss) for step in steps], measures


@needs_gpu
@pytest.mark.parametrize("method", RECORDED)
def test_a_recorded_step_is_a_step(method: str) -> None:
    trainer = training(method)
    losses, measures = losses_of(trainer)
    assert trainer._recorded is None and trainer.steps_done == 12 > PLAIN_STEPS
    expected, expected_measures = losses_of(training(method, recorded=False))
    assert losses == pytest.approx(expected, rel=2e-2, abs=1e-3)  # rounding grows from step to step
    assert losses[: PLAIN_STEPS + 2] == pytest.approx(expected[: PLAIN_STEPS + 2], rel=1e-3, abs=1e-5)
    assert measures[: PLAIN_STEPS + 2] == expected_measures[: PLAIN_STEPS + 2]
    assert all(map(isfinite, losses)) and len(set(losses)) > 6


@needs_gpu
@pytest.mark.parametrize("method", RECORDED)
def test_it_is_recorded_with_dropout_too(method: str) -> None:
    trainer = training(method, dropout=True)
    with rounded_products():
        for step in trainer:
            assert trainer._recorded is not None
            assert trainer._recorded.is_repeated == (step.number > PLAIN_STEPS)
            assert isfinite(float(step.loss))


@needs_gpu
@pytest.mark.parametrize("dropout", [False, True])
@pytest.mark.parametrize("method", RECORDED)
def test_a_recorded_training_goes_on_where_it_was(method: str, dropout: bool) -> None:
    with rounded_products():
        expected = [float(step.loss) for step in training(method, dropout=dropout)]
        first, second = training(method, dropout=dropout), training(method, dropout=dropout)
        steps = iter(first)
        losses = [float(next(steps).loss) for _ in range(7)]
        second.restore(*first.state())
        losses += [float(step.loss) for step in second]
    assert losses == pytest.approx(expected, rel=1e-2, abs=1e-3)


@needs_gpu
def test_what_needs_the_cpu_is_not_recorded() -> None:
    """It chooses the roots of the k best."""
    trainer = training("posterior-k-best")
    with rounded_products():
        for _ in trainer:
            assert trainer._recorded is None


@pytest.mark.parametrize("method", [*RECORDED, "posterior-k-best"])
def test_what_is_recorded(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What asks a reasoner that does not wait, or nobody; and networks that see every image by itself."""
    course = HWFCourse(replace(CONFIG, method=method), torch.device("cpu"))
    (lesson,) = course.lessons()
    paper = NETWORKS["paper"](14)
    assert course.parts.train.waits  # there is no kernel on a CPU
    assert not course.parts.train.posterior_waits  # that needs none
    without_kernels = method in ("supervised", "posterior", "posterior-hard")
    assert is_recordable(lesson.objective, paper) == lesson.recordable(paper) == without_kernels
    monkeypatch.setattr(Tabled, "waits", False)
    assert is_recordable(lesson.objective, paper) == (method in RECORDED)
    for name in ("small", "wide"):
        assert not is_recordable(lesson.objective, NETWORKS[name](14))


def test_a_posterior_without_a_table_of_roots_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(root_table, "MOST_ENTRIES", 0)
    course = HWFCourse(replace(CONFIG, method="posterior"), torch.device("cpu"))
    (lesson,) = course.lessons()
    assert not is_recordable(lesson.objective, NETWORKS["paper"](14))


def test_an_objective_that_does_not_say_may_wait() -> None:
    class Own:
        def __call__(self, log_probs: object, batch: object) -> Loss:
            raise AssertionError("nobody asks")

    assert not is_recordable(Own(), NETWORKS["paper"](14))  # type: ignore[arg-type]
