"""How many pictures a second are seen on this machine.

    python benchmarks/seeing.py RUN_OR_WEIGHTS [--device cuda] [--threads 2] [--json FILE]

Seeing is the way from bytes [picture, 3, 320, 480] in memory to scenes: network, decoding, positions and
relations. Each number is the median of several rounds, after one that does not count.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ngs.experiments.environment import peak_memory_mb
from ngs.tasks.pictures.preparation import load_scene_reader
from ngs.tasks.pictures.rendered_pictures import rendered_pictures
from ngs.tasks.pictures.seen_scene import scene_of


def per_second(number: int, work: Callable[[], object], rounds: int, device: torch.device) -> float:
    """How many of `number` things that `work` does are done in a second."""

    def seconds() -> float:
        begin = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter() - begin

    seconds()
    return number / statistics.median(seconds() for _ in range(rounds))


def measured(run: Path, device: torch.device, batch: int, rounds: int) -> dict[str, Any]:
    pictures = rendered_pictures(batch, 0, torch.device("cpu")).images.decoded(np.arange(batch))
    reader = load_scene_reader(run)
    reader.network.to(device).eval()

    def see() -> object:
        return [scene_of(seen) for seen in reader.see(pictures)]

    facts: dict[str, Any] = {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "seen_per_second": per_second(len(pictures), see, rounds, device),
        "seen_at_once": len(pictures),
        "peak_memory_mb": peak_memory_mb(),
    }
    if device.type == "cuda":
        facts["peak_gpu_mb"] = torch.cuda.max_memory_allocated(device) / 2**20
    return facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("run", type=Path, help="a run of `ngs train scenes`, or weights made of one")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, help="also write the figures there")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    device = torch.device(options.device)
    batch, rounds = (64, 50) if device.type == "cuda" else (16, 9)
    facts = measured(options.run, device, batch, rounds)
    print(json.dumps(facts, indent=2))
    if options.json:
        options.json.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
