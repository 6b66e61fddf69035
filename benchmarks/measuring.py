"""What the scripts of this folder share: their options, and how they say what they measured, as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ngs.apps  # noqa: F401  a script runs as `ngs` does; its settings must be made before PyTorch is loaded

# isort: split
import torch

from ngs.console.options import device_of
from ngs.experiments.environment import environment, peak_memory_mb
from ngs.tasks.costs.timed_steps import timed

WARM_UP = 1
"""Times that work is done before it is timed."""


def parser(doc: str | None, rounds: int) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    made.add_argument("--threads", type=int, default=2)
    made.add_argument("--rounds", type=int, default=rounds, help="that are timed; the median counts")
    made.add_argument("--json", type=Path, help="also write the figures there")
    return made


def asked(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """What is asked for on the command line, with the threads set and the device as PyTorch has it."""
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    given.device = device_of(given.device)
    return given


def per_second(number: int, work: Callable[[], object], rounds: int) -> float:
    """How many of `number` things that `work` does are done in a second."""
    return float(number / timed({"work": work}, rounds, WARM_UP)["work"].median)


def tell(given: argparse.Namespace, **figures: Any) -> None:
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
