"""One of two processes that train together, started by test_processes.py: trains, and writes what came."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from accelerate import Accelerator
from ngs.learning.policy_gradient import Mapo
from torch import Tensor

from ngs.learning.loop import Lesson, Settings, Trainer
from ngs.learning.methods import METHODS
from ngs.processes import as_the_first_says, own_seed
from tests.learning.tasks import network, tiny, tiny_reasoner

SETTINGS = Settings(batch_size=16, learning_rate=0.01, averaging=0.5, seed=3)
STEPS = 6


def training(name: str, accelerator: Accelerator, seed: int = 0) -> Trainer:
    examples = tiny(40)
    objective = METHODS[name](
        tiny_reasoner(examples), torch.Generator().manual_seed(own_seed(seed, "objective"))
    )
    lesson = Lesson(name, examples, objective, STEPS)
    return Trainer(network(), [lesson], SETTINGS, augment=shaken, accelerator=accelerator)


def shaken(inputs: Tensor, generator: torch.Generator) -> Tensor:
    """Draws as many numbers as there are, but changes nothing, so that processes can be compared."""
    return inputs + 0 * torch.rand(inputs.shape, generator=generator)


def weights_of(trainer: Trainer) -> list[float]:
    weights: list[float] = trainer.learned.state_dict()["weight"].flatten().tolist()
    return weights


def run(trainer: Trainer) -> list[list[float]]:
    """The weights after each step."""
    return [weights_of(trainer) for _ in trainer]


def stopped_and_resumed(name: str, accelerator: Accelerator) -> list[list[float]]:
    first = training(name, accelerator)
    weights = []
    for step in first:
        weights.append(weights_of(first))
        if step.number == 3:
            break
    tensors, place = first.state()
    of_main = [tensors]  # what the main process would have written is what all of them read
    dist.broadcast_object_list(of_main, src=0)
    second = training(name, accelerator, seed=50)
    second.restore(of_main[0], place)
    return weights + run(second)


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    accelerator = Accelerator()
    facts: dict[str, object] = {"processes": accelerator.num_processes}
    facts["posterior"] = run(training("posterior", accelerator))
    facts["m-bs"] = run(training("m-bs", accelerator))
    trainer = training("mapo", accelerator)
    taken = [(weights_of(trainer), step.measures["reward"].item()) for step in trainer]
    facts["mapo"], facts["rewards"] = zip(*taken, strict=True)
    for name in ("m-bs", "mapo"):
        facts[f"{name} resumed"] = stopped_and_resumed(name, accelerator)
    objective = trainer.lessons[0].objective
    assert isinstance(objective, Mapo)
    facts["memory"] = objective.memory.columns.tolist()
    facts["baseline"] = objective.baseline.value.item()
    facts["seed"] = own_seed(7, "a")
    facts["enough"] = as_the_first_says(accelerator.process_index == 0, accelerator.device)
    (folder / f"{accelerator.process_index}.json").write_text(json.dumps(facts))
    accelerator.end_training()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
