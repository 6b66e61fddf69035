"""How fast the parts of CLEVR are: executors, dictionary, generator, and a training step of each method."""

from __future__ import annotations

from collections.abc import Sequence
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
from ngs.tasks.clevr.question_sampling import questions
from ngs.tasks.clevr.scene_sampling import scenes
from ngs.tasks.clevr.source import load

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
    validation = questions_of.validation
    words = [validation.text_words(k) for k in range(len(validation))]
    actions = {"understood": lambda: list(map(modules_of, words)), "made": _making}
    spent = timed(actions, rounds, device, warm_up=0)
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
        "questions_understood_per_second": len(words) / spent["understood"],
        "questions_made_per_second": made,
        "training_step_seconds": step_times(CLEVRCourse(TrainCLEVR(data=data), device), rounds)["seconds"],
        "targets": targets,
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

    actions = {
        "reference": lambda: [execute(program, scene) for program, scene in few],
        "batched": lambda: execute_batch(tables, columns, numbers),
    }
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as the reference has; waking a second for each small operation costs more
    spent = timed(actions, rounds, device)
    torch.set_num_threads(threads)
    one_by_one, at_once = len(few) / spent["reference"], len(columns) / spent["batched"]
    return {
        "reference_per_second": one_by_one,
        "batched_per_second": at_once,
        "times_reference": at_once / one_by_one,
        "programs_at_once": len(columns),
    }


def _making() -> object:
    random = np.random.default_rng(0)
    return list(questions(scenes(SCENES, random), PER_SCENE, random))
