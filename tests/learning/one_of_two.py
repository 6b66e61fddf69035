"""One of two processes that train together, started by test_processes.py: trains, and writes what came."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch import Tensor

from ngs.learning.loop import Lesson, Settings, Trainer
from ngs.learning.methods import METHODS, Mapo, Objective
from ngs.processes import broadcast_from_first, own_seed
from tests.learning.tasks import TASKS

SETTINGS = Settings(batch_size=16, learning_rate=0.01, averaging=0.5, seed=3)
STEPS = 6


def training(kind: str, name: str, accelerator: Accelerator, seed: int = 0) -> Trainer:
    task = TASKS[kind]
    examples = task.examples(40)
    generator = torch.Generator().manual_seed(own_seed(seed, "objective"))
    objective = Objective(METHODS[name](examples), task.reasoner(examples), generator)
    return Trainer(
        task.network(),
        [Lesson(name, examples, objective, STEPS)],
        SETTINGS,
        augment=shaken,
        accelerator=accelerator,
    )


def shaken(inputs: Tensor, generator: torch.Generator) -> Tensor:
    """Draws as many numbers as there are, but changes nothing, so that processes can be compared."""
    return inputs + 0 * torch.rand(inputs.shape, generator=generator)


def weights_of(trainer: Trainer) -> list[float]:
    weights: list[float] = torch.cat([each.flatten() for each in trainer.learned.parameters()]).tolist()
    return weights


def run(trainer: Trainer) -> list[list[float]]:
    """The weights after each step."""
    return [weights_of(trainer) for _ in trainer]


def stopped_and_resumed(kind: str, name: str, accelerator: Accelerator) -> list[list[float]]:
    first = training(kind, name, accelerator)
    weights = []
    for step in first:
        weights.append(weights_of(first))
        if step.number == 3:
            break
    tensors, place = first.state()
    of_main = [tensors]  # what the main process would have written is what all of them read
    dist.broadcast_object_list(of_main, src=0)
    second = training(kind, name, accelerator, seed=50)
    second.restore(of_main[0], place)
    return weights + run(second)


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    accelerator = Accelerator()
    facts: dict[str, object] = {"processes": accelerator.num_processes}
    for kind in TASKS:
        for name in ("posterior", "m-bs", "mapo"):
            trainer = training(kind, name, accelerator)
            taken = [(weights_of(trainer), step.measures) for step in trainer]
            facts[f"{kind} {name}"] = [weights for weights, _ in taken]
            facts[f"{kind} {name} resumed"] = stopped_and_resumed(kind, name, accelerator)
        mapo = trainer.lessons[0].objective.method
        assert isinstance(mapo, Mapo)
        facts[f"{kind} rewards"] = [measures["reward"].item() for _, measures in taken]
        facts[f"{kind} memory"] = mapo.memory.stored.tolist()
        facts[f"{kind} baseline"] = mapo.baseline.value.item()
    facts["seed"] = own_seed(7, "a")
    facts["enough"] = broadcast_from_first(accelerator.process_index == 0, accelerator.device)
    (folder / f"{accelerator.process_index}.json").write_text(json.dumps(facts))
    accelerator.end_training()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
