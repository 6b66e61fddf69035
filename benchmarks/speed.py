"""How fast this machine is at what training and asking need: JSON is printed, and --json also writes it.

    python benchmarks/speed.py training formulas [--network paper] [--batch-size 256]
    python benchmarks/speed.py training questions [--data data/CLEVR-25k.ngs]
    python benchmarks/speed.py questions [--data data/CLEVR-25k.ngs]
    python benchmarks/speed.py pictures [--see RUN_OR_WEIGHTS]
    python benchmarks/speed.py kernels [--data data/CLEVR-25k.ngs] [--steps 60]

Every command takes --device, --threads and --rounds: so many are timed, and the median counts.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any
from unittest.mock import patch

import ngs.apps  # noqa: F401  a script runs as `ngs` does; its settings must be made before PyTorch is loaded

# isort: split
import numpy as np
import torch
from torch.utils.benchmark import timer

from ngs.console.options import device_of
from ngs.errors import NGSError
from ngs.experiments.environment import environment, peak_memory_mb
from ngs.gpu import rounded_products
from ngs.kernels import DEVICES, NAMES, devices
from ngs.learning.loop import Trainer
from ngs.learning.methods import METHODS
from ngs.tasks.clevr.batched_execution import SceneTables, execute_batch
from ngs.tasks.clevr.dataset import VisualQuestions
from ngs.tasks.clevr.dictionary import modules_of
from ngs.tasks.clevr.execution import execute
from ngs.tasks.clevr.packed import load
from ngs.tasks.clevr.paper.tables import ours, paper
from ngs.tasks.clevr.preparation import PreparedQuestions
from ngs.tasks.clevr.question_sampling import questions as sampled_questions
from ngs.tasks.clevr.scene_sampling import scenes
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.costs.step_cost import timed
from ngs.tasks.costs.workloads import training_steps
from ngs.tasks.hwf.preparation import PreparedFormulas
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.pictures.camera import drawn_cameras
from ngs.tasks.pictures.preparation import load_scene_reader
from ngs.tasks.pictures.rendered_pictures import rendered_pictures
from ngs.tasks.pictures.rendering.renderer import render
from ngs.tasks.pictures.seen_scene import scene_of
from ngs.tasks.settings import EMBEDDED
from ngs.tasks.task import PreparedAnswers

Given = argparse.Namespace  # what is asked for on the command line, with the device as PyTorch has it
Figures = dict[str, Any]

WARM_UP = 1  # times that work is done before it is timed
STEPS_BEFORE = 10  # training steps before those that are timed


def per_second(number: int, work: Callable[[], object], rounds: int) -> float:
    """How many of `number` things that `work` does are done in a second."""
    return float(number / timed({"work": work}, rounds, WARM_UP)["work"].median)


def memory_mb(device: torch.device) -> float | None:
    """What tensors take of a GPU; of a CPU, which nobody counts, the most the process has had."""
    return torch.cuda.memory_allocated(device) / 2**20 if device.type == "cuda" else peak_memory_mb()


# Training steps of each method, against a supervised one

TASKS = {"formulas": (PreparedFormulas, TrainHWF), "questions": (PreparedQuestions, TrainCLEVR)}


@rounded_products()
def step_times(prepared: PreparedAnswers, rounds: int) -> Figures:
    """Median seconds of a step of each method, and the memory before and after.

    The methods take turns, step by step, and each trains its network throughout, as in a real run.
    """
    config = prepared.settings
    methods = {name: replace(config, method=name).make_method() for name in METHODS}
    steps = training_steps(
        methods, prepared.reasoner, prepared.network, config.settings, STEPS_BEFORE + rounds
    )
    timed(steps, STEPS_BEFORE, warm_up=0)
    before = memory_mb(prepared.device)
    seconds = {name: spent.median for name, spent in timed(steps, rounds, warm_up=0).items()}
    return {
        "seconds": seconds,
        "times_supervised": {name: each / seconds["supervised"] for name, each in seconds.items()},
        "memory_mb": {"after_warm_up": before, "at_the_end": memory_mb(prepared.device)},
    }


def training(given: Given) -> Figures:
    prepared, config = TASKS[given.task]
    settings = {"data": given.data, "network": given.network, "batch_size": given.batch_size}
    return {**settings, **step_times(prepared(config(**settings), given.device), given.rounds)}


# Questions: executing programs, understanding words, and making questions

ONE_BY_ONE, AT_ONCE = 2_000, 100_000
"""Programs executed by the reference and (at least) in a batch, in each round."""
SCENES, PER_SCENE = 100, 10  # made in each round


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
    return list(sampled_questions(scenes(SCENES, random), PER_SCENE, random))


def questions(given: Given) -> Figures:
    data = load(given.data)
    words = [data.validation.text_words(k) for k in range(len(data.validation))]
    understood = per_second(len(words), lambda: list(map(modules_of, words)), given.rounds)
    return {
        "data": data.name,
        "execution": execution(data, given.rounds, given.device),
        "understood_per_second": understood,
        "made_per_second": per_second(SCENES * PER_SCENE, made, given.rounds),
    }


# Pictures of 480x320, rendered or seen


def rendering(batch: int, device: torch.device) -> Callable[[], object]:
    """Sampled scenes from drawn cameras, in batches as training asks for them."""
    sampled = scenes(batch, np.random.default_rng(0))
    cameras = drawn_cameras(batch, torch.Generator().manual_seed(0)).to(device)
    generator = torch.Generator(device).manual_seed(0)
    return lambda: render(sampled, cameras, generator)


def seeing(run: Path, batch: int, device: torch.device) -> Callable[[], object]:
    """From bytes [picture, 3, 320, 480] in memory to scenes: network, decoding, positions and relations."""
    pictures = rendered_pictures(batch, 0, torch.device("cpu")).decoded(np.arange(batch))
    reader = load_scene_reader(run)
    reader.network.to(device).eval()
    return lambda: [scene_of(seen) for seen in reader.see(pictures)]


def pictures(given: Given) -> Figures:
    work = seeing(given.see, given.batch, given.device) if given.see else rendering(given.batch, given.device)
    begin = process_time()
    speed = per_second(given.batch, work, given.rounds)
    # On a machine that others use too, what a core has done says more than the clock.
    core = (process_time() - begin) / (given.batch * (WARM_UP + given.rounds))
    return {"batch": given.batch, "pictures_per_second": speed, "core_seconds_for_each": core}


# Training on a GPU with each kernel of `ngs.kernels`, and without

KERNEL_METHODS = ("supervised", "posterior", "1-bs", "m-bs", "reinforce")


def milliseconds(prepared: PreparedAnswers, method: str, steps: int) -> float:
    """Of one training step, on average over `steps` of them, launched as in a run: none is waited for."""
    prepared.settings = replace(prepared.settings, method=method, steps=STEPS_BEFORE + steps)
    torch.manual_seed(0)
    trainer = iter(Trainer(prepared.network(), prepared.lessons(), prepared.settings.settings))
    for _ in range(STEPS_BEFORE):
        next(trainer)
    begin = timer()
    for _ in range(steps):
        next(trainer)
    return 1000 * (timer() - begin) / steps


def with_and_without(train: Callable[[], float], rounds: int) -> Figures:
    """Median milliseconds of a step with and without each kernel, in turns, and the ratios to all kernels.

    `train` returns the milliseconds of a step. A kernel with a ratio below 1.3 is not worth its lines.
    """
    ways: Mapping[str, tuple[str, ...]] = {
        "with all": NAMES,
        "with none": (),
        **{f"without {name}": tuple(other for other in NAMES if other != name) for name in NAMES},
    }
    spent: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, names in ways.items():
            with patch.dict(DEVICES, devices(",".join(names) or "off")):
                spent[way].append(train())
    found = {way: median(each) for way, each in spent.items()}
    return {
        "milliseconds": found,
        "ratios": {way: found[way] / found["with all"] for way in ways if way != "with all"},
        "all_rounds": spent,
    }


@rounded_products()  # as in a run
def kernels(given: Given) -> Figures:
    """Of every kind of run and method, on the same data and from the same weights."""
    if not torch.cuda.is_available():
        raise NGSError("there is no GPU here, so kernels cannot be measured; run this where there is one")
    runs = {"our settings": ours, "the paper's": paper}
    begun = {kind: PreparedQuestions(config(data=given.data), given.device) for kind, config in runs.items()}
    rows = {}
    for kind, method in product(begun, KERNEL_METHODS):
        row = with_and_without(partial(milliseconds, begun[kind], method, given.steps), given.rounds)
        rows[f"questions, {kind}, {method}"] = row
        print(f"{kind}, {method}: {row['milliseconds']['with all']:.2f} ms; {row['ratios']}", flush=True)
    return {"runs": rows}


# The command line


def asked(words: Sequence[str] | None = None) -> Given:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(required=True)

    def command(work: Callable[[Given], Figures], rounds: int, threads: int = 2) -> argparse.ArgumentParser:
        made = commands.add_parser(work.__name__)
        made.set_defaults(work=work)
        made.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
        made.add_argument("--threads", type=int, default=threads)
        made.add_argument("--rounds", type=int, default=rounds, help="that are timed; the median counts")
        made.add_argument("--json", type=Path, help="also write the figures there")
        made.add_argument("--data", default=EMBEDDED, help="`embedded`, or made by `ngs data import`")
        return made

    steps = command(training, rounds=30)
    steps.add_argument("task", choices=TASKS)
    steps.add_argument("--network", default="small")
    steps.add_argument("--batch-size", type=int, default=64)
    command(questions, rounds=15, threads=1)  # as the reference has; waking a second for little costs more
    looks = command(pictures, rounds=5)
    looks.add_argument("--batch", type=int, default=16, help="pictures at once")
    looks.add_argument("--see", type=Path, help="a run of `ngs train scenes`, or weights made of one")
    command(kernels, rounds=2).add_argument("--steps", type=int, default=60)
    return parser.parse_args(words)


def tell(given: Given, figures: Figures) -> None:
    """Print the figures as JSON, with the machine; write them where they are wanted."""
    on_gpu = given.device.type == "cuda"
    facts = {
        "environment": environment(given.device, sys.argv),
        "rounds": given.rounds,
        **figures,
        "peak_memory_mb": peak_memory_mb(),
        "peak_gpu_mb": torch.cuda.max_memory_allocated(given.device) / 2**20 if on_gpu else None,
    }
    text = json.dumps(facts, indent=2)
    print(text)
    if given.json:
        given.json.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    given = asked()
    torch.set_num_threads(given.threads)
    try:
        given.device = device_of(given.device)
        tell(given, given.work(given))
    except NGSError as error:
        sys.exit(f"speed.py: {error}")


if __name__ == "__main__":
    main()
