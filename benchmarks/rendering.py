"""Pictures of 480x320 a second: `python benchmarks/rendering.py --device cpu --batch 16`.

Sampled scenes from drawn cameras, in batches as training asks for them. Seconds of the processor are told
as well: on a machine that others use too they say more than the clock.
"""

from __future__ import annotations

from time import process_time

import measuring
import numpy as np
import torch

from ngs.tasks.clevr.scene_sampling import scenes
from ngs.tasks.pictures.camera import drawn_cameras
from ngs.tasks.pictures.rendering.renderer import render


def main() -> None:
    options = measuring.parser(__doc__, rounds=5)
    options.add_argument("--batch", type=int, default=8, help="pictures rendered by one call")
    given = measuring.asked(options)
    sampled = scenes(given.batch, np.random.default_rng(0))
    cameras = drawn_cameras(given.batch, torch.Generator().manual_seed(0)).to(given.device)
    generator = torch.Generator(given.device).manual_seed(0)
    spent: list[float] = []

    def work() -> None:
        begin = process_time()
        render(sampled, cameras, generator)
        spent.append((process_time() - begin) / given.batch)

    speed = measuring.per_second(given.batch, work, given.rounds)
    measuring.tell(
        given, batch=given.batch, pictures_per_second=speed, core_seconds=float(np.median(spent[1:]))
    )


if __name__ == "__main__":
    main()
