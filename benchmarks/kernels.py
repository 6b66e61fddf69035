"""How much faster training is on a GPU with each kernel of `ngs.kernels` than without.

    python benchmarks/kernels.py --clevr data/CLEVR-25k.ngs [--steps 60] [--rounds 2]

Every run trains with all kernels, with none, and with all but each one. They take turns, on the same data and
from the same weights, so that a slow moment hits all of them. Long runs consist of such steps; loading
Triton's kernels is left out. A ratio below 1.3 says that a kernel is not worth its lines there. The figures
are printed line by line, and as JSON at the end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import product
from statistics import median
from typing import Any

import measuring
import torch
from torch.utils.benchmark import timer

from ngs.gpu import rounded_products
from ngs.kernels import DEVICES, NAMES, devices
from ngs.learning.loop import Trainer
from ngs.tasks.clevr.paper.tables import ours, paper
from ngs.tasks.clevr.preparation import PreparedQuestions
from ngs.tasks.settings import EMBEDDED
from ngs.tasks.task import PreparedAnswers

WARM_UP = 10
METHODS = ("supervised", "posterior", "1-bs", "m-bs", "reinforce")


@contextmanager
def kernels(names: tuple[str, ...]) -> Iterator[None]:
    before = dict(DEVICES)
    DEVICES.update(devices(",".join(names) or "off"))
    try:
        yield
    finally:
        DEVICES.update(before)


def milliseconds(prepared: PreparedAnswers, method: str, steps: int) -> float:
    """Of one training step, on average over `steps` of them, launched as in a run: none is waited for."""
    prepared.settings = replace(prepared.settings, method=method, steps=WARM_UP + steps)
    torch.manual_seed(0)
    trainer = iter(Trainer(prepared.network(), prepared.lessons(), prepared.settings.settings))
    for _ in range(WARM_UP):
        next(trainer)
    begin = timer()
    for _ in range(steps):
        next(trainer)
    return 1000 * (timer() - begin) / steps


def measured(train: Callable[[], float], rounds: int) -> Any:
    """Median milliseconds of a step in each way, and how many times longer it takes without each kernel.

    `train` trains with the kernels that are on, and returns the milliseconds of a step.
    """
    ways: Mapping[str, tuple[str, ...]] = {
        "with all": NAMES,
        "with none": (),
        **{f"without {name}": tuple(other for other in NAMES if other != name) for name in NAMES},
    }
    spent: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, names in ways.items():
            with kernels(names):
                spent[way].append(train())
    found = {way: median(each) for way, each in spent.items()}
    return {
        "milliseconds": found,
        "ratios": {way: found[way] / found["with all"] for way in ways if way != "with all"},
        "all_rounds": spent,
    }


def main() -> None:
    options = measuring.parser(__doc__, rounds=2)
    options.add_argument("--clevr", default=EMBEDDED)
    options.add_argument("--steps", type=int, default=60)
    given = measuring.asked(options)
    if not torch.cuda.is_available():
        sys.exit("There is no GPU here, so kernels cannot be measured.")
    runs = {"our settings": ours, "the paper's": paper}
    begun = {kind: PreparedQuestions(config(data=given.clevr), given.device) for kind, config in runs.items()}
    rows = {}
    with rounded_products():  # as in a run
        for kind, method in product(begun, METHODS):
            row = measured(partial(milliseconds, begun[kind], method, given.steps), given.rounds)
            rows[f"questions, {kind}, {method}"] = row
            print(f"{kind}, {method}: {row['milliseconds']['with all']:.2f} ms; {row['ratios']}", flush=True)
    measuring.tell(given, runs=rows)


if __name__ == "__main__":
    main()
