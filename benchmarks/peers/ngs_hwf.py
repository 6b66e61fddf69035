"""NGS learns to read handwritten formulas as A of docs/handwriting.md does, in fewer and larger steps.

Run by run.py; the folder of the run itself is left beside OUT.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from ngs.experiments import hwf
from ngs.experiments.environment import peak_memory_mb
from ngs.experiments.run import spared, train
from ngs.gpu import rounded_products
from ngs.networks.lenet import NETWORKS, SIDE
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.run_folder import remove


def settings(data: str, seed: int, steps: int, lengths: tuple[int, ...]) -> TrainHWF:
    """With a test at each validation, every 10 steps, off the clock; nothing is chosen by it."""
    return TrainHWF(
        data=data,
        batch_size=512,
        learning_rate=8e-3,
        steps=steps,
        augment=False,
        validate_every=10,
        test_curve=True,
        lengths=lengths,
        seed=seed,
    )


def first_use(config: TrainHWF) -> None:
    """Let a GPU load what such a network needs, off the clock, as for ABLkit: another sees blank images."""
    device = Accelerator().device
    with torch.random.fork_rng(), rounded_products():
        other = NETWORKS[config.network](len(GRAMMAR.symbols)).to(device)
        other(torch.zeros(12, 1, SIDE, SIDE, device=device)).sum().backward()
    if device.type == "cuda":
        torch.cuda.synchronize()


def seconds_of_compiling(config: TrainHWF) -> float:
    """For the tables of which formulas come to what: on the clock, though the run, which finds them made,
    would have them made with its data. ABLkit reasons while it trains."""
    data = hwf.formulas_of(config)  # read once more than a run needs, off the clock
    examples = data.examples(data.train)
    with spared():  # as in a run
        begin = time.perf_counter()
        hwf.reasoner_of(examples)
        return time.perf_counter() - begin


def right(row: dict[str, Any]) -> dict[str, float]:
    """The shares of formulas and symbols that a test had right."""
    return {"answers": row["test"]["calculation"], "symbols": row["test"]["symbol"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="what `ngs data import` made")
    parser.add_argument("out", type=Path, help="the JSON file to write")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--lengths", type=int, nargs="*", default=[])
    parser.add_argument("--began", type=float, required=True, help="when this was started, by time.time()")
    parser.add_argument("--cold", action="store_true", help="leave the first use of a GPU on the clock")
    options = parser.parse_args()
    config = settings(options.data, options.seed, options.steps, tuple(options.lengths))
    folder = options.out.with_suffix("")
    remove(folder)  # of an earlier comparison
    compiling = seconds_of_compiling(config)
    if not options.cold:
        first_use(config)
    events = train(config, folder)
    first = next(events).row  # before any test
    before = time.time() - options.began - first["seconds"] - compiling
    *measured, result = [first, *(event.row for event in events)]
    facts = {
        "seed": options.seed,
        **right(result),
        "seconds_before_training": before,
        "compiling_seconds": compiling,
        "training_seconds": compiling + result["training_seconds"],
        "curve": [{"seconds": compiling + row["seconds"], **right(row)} for row in measured if "test" in row],
        "peak_memory_mb": peak_memory_mb(),
        "peak_gpu_mb": torch.cuda.max_memory_allocated() / 2**20 if torch.cuda.is_available() else None,
    }
    options.out.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
