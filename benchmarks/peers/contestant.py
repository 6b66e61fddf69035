"""What both contestants share: how run.py starts them, and what they tell it. Needs PyTorch alone."""

import argparse
import json
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

SIDE = 45  # pixels of an image's side


def parser(doc: str | None, data: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=doc)
    made.add_argument("data", help=data)
    made.add_argument("out", type=Path, help="the JSON file to write")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--began", type=float, required=True, help="when this was started, by time.time()")
    made.add_argument("--cold", action="store_true", help="leave the first use of a GPU on the clock")
    return made


def first_use(network: Callable[[], nn.Module], images: int, device: torch.device) -> None:
    """Let a GPU load what such a network needs, off the clock: another one sees blank images."""
    with torch.random.fork_rng():
        other = network().to(device)
    other(torch.zeros(images, 1, SIDE, SIDE, device=device)).sum().backward()
    if device.type == "cuda":
        torch.cuda.synchronize()


def tell(asked: argparse.Namespace, before: float, curve: Sequence[Mapping[str, float]], **more: Any) -> None:
    """Write what run.py reads: seconds before training, accuracy by seconds, and what else was measured."""
    facts = {
        "seed": asked.seed,
        "seconds_before_training": before,
        **more,
        "curve": list(curve),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        / (2**20 if sys.platform == "darwin" else 2**10),
        "peak_gpu_mb": torch.cuda.max_memory_allocated() / 2**20 if torch.cuda.is_available() else None,
    }
    asked.out.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
