"""How fast the parts of CLEVR are: executors, dictionary, generator, and a training step of each method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch

from ngs.errors import NGSError
from ngs.experiments.benchmark import alternate, at_least
from ngs.experiments.clevr import parts_of
from ngs.experiments.config import TrainCLEVR
from ngs.experiments.environment import environment
from ngs.experiments.timed_steps import program_steps
from ngs.gpu import rounded_products
from ngs.learning.loop import Step
from ngs.learning.methods import METHODS
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
WARM_UP = 5


def clevr_speed(
    rounds: int, data: str, device: torch.device, command: Sequence[str] | None = None
) -> dict[str, Any]:
    """All of it, with the promises that were made for two CPU cores."""
    questions_of = load(data)
    executed = execution(questions_of, rounds, device)
    understood = per_second(len(questions_of.validation), _understanding(questions_of), rounds)
    made = per_second(SCENES * PER_SCENE, _making, rounds)
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
        "questions_understood_per_second": understood,
        "questions_made_per_second": made,
        "training_step_seconds": step_seconds(data, rounds, device),
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
    reference, batched = alternate(rounds, one_by_one, all_at_once)
    torch.set_num_threads(threads)
    speeds = len(few) / reference, len(columns) / batched
    return {
        "reference_per_second": speeds[0],
        "batched_per_second": speeds[1],
        "times_reference": speeds[1] / speeds[0],
        "programs_at_once": len(columns),
    }


def per_second(number: int, action: Callable[[], None], rounds: int) -> float:
    """How many a second, by the median of some rounds in each of which `number` are dealt with."""
    spent = []
    for _ in range(rounds):
        begin = perf_counter()
        action()
        spent.append(perf_counter() - begin)
    return number / median(spent)


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


@rounded_products()
def step_seconds(data: str, rounds: int, device: torch.device) -> dict[str, float]:
    """Median seconds of a training step of each method from the start, the methods in turn."""
    config = TrainCLEVR(data=data)
    part = parts_of(config, device).train

    def steps(method: str) -> Callable[[], Step]:
        taken = program_steps(config, method, part, 10 * (rounds + WARM_UP))
        for _ in range(WARM_UP):
            next(taken)
        return lambda: next(taken)

    methods = sorted(METHODS)
    seconds = alternate(rounds, *(steps(method) for method in methods))
    return dict(zip(methods, seconds, strict=True))
