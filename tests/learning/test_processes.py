"""Two processes that train one network make the steps that one process makes."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch import Tensor

from ngs.errors import DataError
from ngs.learning.loop import Lesson, Settings, Trainer
from ngs.learning.methods import METHODS, Mapo, Objective
from ngs.processes import (
    all_gather,
    broadcast_from_first,
    mean_over_processes,
    own_seed,
    own_state,
    rank,
    states_of_all,
    world_size,
)
from tests.learning.tasks import TASKS

ROOT = Path(__file__).parents[2]
PATIENCE = 60
"""Seconds until two processes that found no way to each other are given up."""


def test_alone_everything_is_the_identity() -> None:
    values = torch.arange(3.0)
    assert (world_size(), rank()) == (1, 0)
    assert own_seed(7, "a") == own_seed(7, "a") != own_seed(7, "b") != own_seed(8, "b")
    cpu = torch.device("cpu")
    assert broadcast_from_first(True, cpu) and not broadcast_from_first(False, cpu)
    assert mean_over_processes(values) is values and all_gather(values) is values
    state = torch.Generator().manual_seed(1).get_state()
    assert torch.equal(own_state(states_of_all(state, torch.device("cpu"))), state)
    with pytest.raises(DataError, match="the checkpoint is of 3 processes, and these are 1"):
        own_state(torch.zeros(3, 8))


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each of two processes says about its training; they meet on this machine, on the CPU."""
    folder = tmp_path_factory.mktemp("two")
    shared = {
        **os.environ,
        "ACCELERATE_USE_CPU": "true",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "OMP_NUM_THREADS": "1",
    }
    if sys.platform == "linux":
        shared["GLOO_SOCKET_IFNAME"] = "lo"  # whatever the machine is called, and whether that resolves
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.learning.test_processes", str(folder)],
            env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        errors = [process.communicate(timeout=PATIENCE)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], "\n".join(errors)
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize("kind", TASKS)
def test_two_processes_make_the_steps_of_one(two: list[dict[str, Any]], kind: str) -> None:
    alone = run(training(kind, "posterior", Accelerator()))
    assert two[0]["processes"] == 2
    for step, (have, want) in enumerate(zip(two[0][f"{kind} posterior"], alone, strict=True)):
        assert torch.allclose(torch.tensor(have), torch.tensor(want), atol=1e-5), step


@pytest.mark.parametrize("kind", TASKS)
def test_they_agree_on_what_is_kept_and_draw_numbers_of_their_own(
    two: list[dict[str, Any]], kind: str
) -> None:
    for name in ("posterior", "m-bs", "mapo", "memory", "baseline"):
        assert two[0][f"{kind} {name}"] == two[1][f"{kind} {name}"]
    assert any(symbol != -1 for example in two[0][f"{kind} memory"] for each in example for symbol in each)
    baseline = 0.0
    for rewards in zip(two[0][f"{kind} rewards"], two[1][f"{kind} rewards"], strict=True):
        baseline = 0.99 * baseline + 0.01 * sum(rewards) / 2
    assert two[0][f"{kind} baseline"] == pytest.approx(baseline) and baseline > 0
    assert two[0]["seed"] != two[1]["seed"]
    assert [each["enough"] for each in two] == [True, True]  # though only the first thought so


@pytest.mark.parametrize("name", ["posterior", "m-bs", "mapo"])
@pytest.mark.parametrize("kind", TASKS)
def test_a_resumed_training_of_two_is_the_uninterrupted_one(
    two: list[dict[str, Any]], kind: str, name: str
) -> None:
    for each in two:
        assert each[f"{kind} {name} resumed"] == each[f"{kind} {name}"]


# One of the two: trains, and writes what came of it

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
