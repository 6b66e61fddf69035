"""Step times of all methods."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from ngs.experiments.timed_steps import step_times, timed
from ngs.learning.methods import METHODS
from ngs.tasks.clevr import packed
from ngs.tasks.clevr.embedded import synthetic
from ngs.tasks.clevr.preparation import PreparedQuestions
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf.preparation import PreparedFormulas
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.task import PreparedAnswers

CPU = torch.device("cpu")


def formulas(_: Path) -> PreparedFormulas:
    return PreparedFormulas(TrainHWF(batch_size=4), CPU)


def programs(folder: Path) -> PreparedQuestions:
    packed.write(folder / "few.ngs", synthetic(scenes=20, per_scene=5, validation_scenes=2))
    return PreparedQuestions(TrainCLEVR(data=str(folder / "few.ngs"), batch_size=4), CPU)


@pytest.mark.parametrize("course", [formulas, programs])
def test_every_method_is_timed_against_supervision(
    course: Callable[[Path], PreparedAnswers], tmp_path: Path
) -> None:
    times = step_times(course(tmp_path), rounds=1)
    assert times["seconds"].keys() == METHODS.keys() and min(times["seconds"].values()) > 0
    ratio = times["seconds"]["m-bs"] / times["seconds"]["supervised"]
    assert times["times_supervised"]["m-bs"] == ratio
    before, after = times["memory_mb"]["after_warm_up"], times["memory_mb"]["at_the_end"]
    assert before > 0 and after - before < 100  # one more step of each method keeps nothing


def test_actions_are_timed_in_turn() -> None:
    calls: list[str] = []
    actions = {name: lambda name=name: calls.append(name) for name in "ab"}
    seconds = timed(actions, 3, CPU)
    assert calls == ["a", "a", "b", "b", *["a", "b"] * 3]
    assert seconds.keys() == {"a", "b"} and min(seconds.values()) >= 0
