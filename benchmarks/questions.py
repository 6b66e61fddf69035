"""What questions about scenes need: `python benchmarks/questions.py --data data/CLEVR-25k.ngs`.

Executing programs, understanding words, and making questions. `training.py` times training steps.
"""

from __future__ import annotations

import measuring
import numpy as np
import torch

from ngs.errors import NGSError
from ngs.tasks.clevr.batched_execution import SceneTables, execute_batch
from ngs.tasks.clevr.dataset import VisualQuestions
from ngs.tasks.clevr.dictionary import modules_of
from ngs.tasks.clevr.execution import execute
from ngs.tasks.clevr.packed import load
from ngs.tasks.clevr.question_sampling import questions
from ngs.tasks.clevr.scene_sampling import scenes
from ngs.tasks.costs.timed_steps import timed

ONE_BY_ONE, AT_ONCE = 2_000, 100_000
"""Programs executed by the reference and (at least) in a batch, in each round."""
SCENES, PER_SCENE = 100, 10
"""Made in each round."""


def execution(data: VisualQuestions, rounds: int, device: torch.device) -> dict[str, float]:
    """Programs a second by one thread, one by one and many at once, in turn."""
    tables = SceneTables.of(data.scenes).to(device)
    copies = -(-AT_ONCE // len(data.train))
    programs = data.train.programs.padded().repeat(copies, 1).to(device)
    numbers = data.train.scenes.long().repeat(copies).to(device)
    number = min(ONE_BY_ONE, len(data.train))
    if not (data.train.programs.lengths > 0).all():
        raise NGSError(f"some questions of {data.name} have no program to execute; give other data")
    few = [(data.train.program(k), data.scenes[int(numbers[k])]) for k in range(number)]
    spent = timed(
        {
            "reference": lambda: [execute(program, scene) for program, scene in few],
            "batched": lambda: execute_batch(tables, programs, numbers),
        },
        rounds,
    )
    one_by_one, at_once = number / spent["reference"].median, len(programs) / spent["batched"].median
    return {
        "reference_per_second": one_by_one,
        "batched_per_second": at_once,
        "times_reference": at_once / one_by_one,
        "programs_at_once": len(programs),
    }


def made() -> object:
    random = np.random.default_rng(0)
    return list(questions(scenes(SCENES, random), PER_SCENE, random))


def main() -> None:
    options = measuring.parser(__doc__, rounds=15)
    options.add_argument("--data", default="embedded", help="`embedded`, or made by `ngs data import`")
    options.set_defaults(threads=1)  # as the reference has; waking a second for small operations costs more
    given = measuring.asked(options)
    data = load(given.data)
    words = [data.validation.text_words(k) for k in range(len(data.validation))]
    measuring.tell(
        given,
        data=data.name,
        execution=execution(data, given.rounds, given.device),
        understood_per_second=measuring.per_second(
            len(words), lambda: list(map(modules_of, words)), given.rounds
        ),
        made_per_second=measuring.per_second(SCENES * PER_SCENE, made, given.rounds),
    )


if __name__ == "__main__":
    main()
