"""How fast the parts of CLEVR are: executors, dictionary, generator, and a training step of each method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from ngs.errors import NGSError
from ngs.experiments.benchmark import at_least
from ngs.experiments.clevr import CLEVRCourse
from ngs.experiments.config import TrainCLEVR
from ngs.experiments.environment import environment
from ngs.experiments.timed_steps import step_times, timed
from ngs.tasks.clevr.batched_execution import SceneTables, execute_batch
from ngs.tasks.clevr.dataset import VisualQuestions
from ngs.tasks.clevr.dictionary import modules_of
from ngs.tasks.clevr.execution import execute
from ngs.tasks.clevr.packed import load
from ngs.tasks.clevr.question_sampling import questions
from ngs.tasks.clevr.scene_sampling import scenes

REFERENCE_PROGRAMS, BATCHED_PROGRAMS = 2_000, 100_000
"""Executed one by one and (at least) at once in each round."""
SCENES, PER_SCENE = 100, 10
"""Made in each round."""


def clevr_speed(
    rounds: int, data: str, device: torch.device, command: Sequence[str] | None = None
) -> dict[str, Any]:
    """All of it, with the promises that were made for two CPU cores."""
    questions_of = load(data)
    executed = execution(questions_of, rounds, device)
    spent = timed({"understood": _understanding(questions_of), "made": _making}, rounds, device, warm_up=0)
    made = SCENES * PER_SCENE / spent["made"]
    targets = [
        at_least("programs a second, one by one", executed["reference_per_second"], 5_000),
        at_least("batched execution, times the reference", executed["times_reference"], 100),
        at_least("questions made a second, scenes included, one process", made, 2_000),
    ]
    return {
        "environment": environment(device, command),
        "data": questions_of.name,
        "rounds": rounds,
        "execution": executed,
        "questions_understood_per_second": len(questions_of.validation) / spent["understood"],
        "questions_made_per_second": made,
        "training_step_seconds": step_times(CLEVRCourse(TrainCLEVR(data=data), device), rounds)["seconds"],
        "targets": [asdict(target) for target in targets],
    }


def execution(data: VisualQuestions, rounds: int, device: torch.device) -> dict[str, float]:
    """Programs a second by one thread, one by one and many at once, in turn."""
    tables = SceneTables.of(data.scenes).to(device)
    copies = -(-BATCHED_PROGRAMS // len(data.train))
    columns = data.train.programs.padded().repeat(copies, 1).to(device)
    numbers = data.train.scenes.long().repeat(copies).to(device)
    if not (data.train.programs.lengths > 0).all():
        raise NGSError(f"some questions of {data.name} have no program to execute; give other data")
    number = min(REFERENCE_PROGRAMS, len(data.train))
    few = [(data.train.program(k) or (), data.scenes[int(numbers[k])]) for k in range(number)]

    def one_by_one() -> None:
        for program, scene in few:
            execute(program, scene)

    def all_at_once() -> None:
        execute_batch(tables, columns, numbers)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as the reference has; waking a second for each small operation costs more
    spent = timed({"reference": one_by_one, "batched": all_at_once}, rounds, device)
    torch.set_num_threads(threads)
    speeds = len(few) / spent["reference"], len(columns) / spent["batched"]
    return {
        "reference_per_second": speeds[0],
        "batched_per_second": speeds[1],
        "times_reference": speeds[1] / speeds[0],
        "programs_at_once": len(columns),
    }


def _understanding(data: VisualQuestions) -> Callable[[], None]:
    words = [data.validation.text_words(k) for k in range(len(data.validation))]

    def understand() -> None:
        for each in words:
            modules_of(each)

    return understand


def _making() -> None:
    random = np.random.default_rng(0)
    for _ in questions(scenes(SCENES, random), PER_SCENE, random):
        pass
