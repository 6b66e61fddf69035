"""How much faster whole training runs are on a GPU with the kernels of `ngs.kernels` than without.

    python benchmarks/kernels.py [--rounds 3] [OPTIONS OF ngs train, such as --steps 100]

Each run is a process of its own, with NGS_KERNELS unset or off. Both ways run once before, uncounted, so that
Triton's cache is filled; then they take turns, and who begins changes from round to round. A ratio below 1.3
says that kernels are not worth their lines there. A table is printed, and the same as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch

from ngs.experiments.environment import environment

RUNS = (
    *(("hwf", method) for method in ("posterior", "m-bs", "supervised")),
    *(("clevr", method) for method in ("posterior", "m-bs", "reinforce")),
)
Train = Callable[[str, str, bool], tuple[float, float]]
"""(task, method, with kernels) -> seconds of the whole process and of its training steps"""


def train(task: str, method: str, with_kernels: bool, options: Sequence[str] = ()) -> tuple[float, float]:
    settings = {name: value for name, value in os.environ.items() if name != "NGS_KERNELS"}
    if not with_kernels:
        settings["NGS_KERNELS"] = "off"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "run")
        command = [
            sys.executable,
            "-m",
            "ngs.apps.cli",
            "train",
            task,
            "--method",
            method,
            "--out",
            str(out),
            *options,
        ]
        begin = time.perf_counter()
        subprocess.run(command, env=settings, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - begin
        result = json.loads((out / "result.json").read_text(encoding="utf-8"))
    return seconds, result["training_seconds"]


def compared(train: Train, task: str, method: str, rounds: int) -> dict[str, Any]:
    """Median seconds with and without kernels, and their ratio."""
    spent: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for number in range(1 + rounds):
        for with_kernels in (True, False) if number % 2 else (False, True):
            seconds = train(task, method, with_kernels)
            if number:
                spent[with_kernels].append(seconds)
    whole, steps = ({way: median(each[k] for each in spent[way]) for way in spent} for k in (0, 1))
    return {
        "run": f"{task} {method}",
        "with": whole[True],
        "without": whole[False],
        "ratio": whole[False] / whole[True],
        "training_ratio": steps[False] / steps[True],
        "seconds": {"with": spent[True], "without": spent[False]},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    given, options = parser.parse_known_args()
    if not torch.cuda.is_available():
        sys.exit("There is no GPU here, so kernels cannot be measured.")
    print(f"{'run':20}", *(f"{name:>12}" for name in ("with, s", "without, s", "ratio", "of training")))
    rows = []
    for task, method in RUNS:
        row = compared(partial(train, options=options), task, method, given.rounds)
        numbers = (row[name] for name in ("with", "without", "ratio", "training_ratio"))
        print(f"{row['run']:20}", *(f"{number:12.2f}" for number in numbers), flush=True)
        rows.append(row)
    print(json.dumps({"environment": environment(torch.device("cuda"), sys.argv), "runs": rows}, indent=1))


if __name__ == "__main__":
    main()
