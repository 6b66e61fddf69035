"""Pictures of 480x320 a second: `python benchmarks/rendering.py --device cpu --threads 2`.

Sampled scenes from drawn cameras, in batches as training asks for them. Seconds of the processor are told
as well: on a machine that others use too they say more than the clock.
"""

from __future__ import annotations

import argparse
from statistics import median
from time import perf_counter, process_time

import numpy as np
import torch

from ngs.tasks.clevr.scene_sampling import scenes
from ngs.tasks.pictures.camera import drawn_cameras
from ngs.tasks.pictures.rendering.renderer import render


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=8, help="pictures rendered by one call")
    parser.add_argument("--rounds", type=int, default=5, help="calls that are timed, after one that is not")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    cuda = options.device.startswith("cuda")
    sampled = scenes(options.batch, np.random.default_rng(0))
    cameras = drawn_cameras(options.batch, torch.Generator().manual_seed(0)).to(options.device)
    generator = torch.Generator(options.device).manual_seed(0)
    clock, processor = [], []
    for _ in range(options.rounds + 1):
        started = perf_counter(), process_time()
        render(sampled, cameras, generator)
        if cuda:
            torch.cuda.synchronize()
        clock.append(perf_counter() - started[0])
        processor.append(process_time() - started[1])
    print(f"{options.batch / median(clock[1:]):.1f} pictures a second on {options.device}", end="")
    print(f", {median(processor[1:]) / options.batch:.3f} s of a processor's core for each", end="")
    print(f", {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB of the GPU" if cuda else "")


if __name__ == "__main__":
    main()
