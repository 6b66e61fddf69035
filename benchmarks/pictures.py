"""Pictures of 480x320 a second, rendered or seen.

    python benchmarks/pictures.py [--batch 16]           # rendered
    python benchmarks/pictures.py --see RUN_OR_WEIGHTS   # seen

Rendered are sampled scenes from drawn cameras, in batches as training asks for them. Seeing is the way from
bytes [picture, 3, 320, 480] in memory to scenes: network, decoding, positions and relations.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import process_time

import measuring
import numpy as np
import torch

from ngs.tasks.clevr.scene_sampling import scenes
from ngs.tasks.pictures.camera import drawn_cameras
from ngs.tasks.pictures.preparation import load_scene_reader
from ngs.tasks.pictures.rendered_pictures import rendered_pictures
from ngs.tasks.pictures.rendering.renderer import render
from ngs.tasks.pictures.seen_scene import scene_of


def rendering(batch: int, device: torch.device) -> Callable[[], object]:
    sampled = scenes(batch, np.random.default_rng(0))
    cameras = drawn_cameras(batch, torch.Generator().manual_seed(0)).to(device)
    generator = torch.Generator(device).manual_seed(0)
    return lambda: render(sampled, cameras, generator)


def seeing(run: Path, batch: int, device: torch.device) -> Callable[[], object]:
    pictures = rendered_pictures(batch, 0, torch.device("cpu")).decoded(np.arange(batch))
    reader = load_scene_reader(run)
    reader.network.to(device).eval()
    return lambda: [scene_of(seen) for seen in reader.see(pictures)]


def main() -> None:
    options = measuring.parser(__doc__, rounds=5)
    options.add_argument("--batch", type=int, default=16, help="pictures at once")
    options.add_argument("--see", type=Path, help="a run of `ngs train scenes`, or weights made of one")
    given = measuring.asked(options)
    work = seeing(given.see, given.batch, given.device) if given.see else rendering(given.batch, given.device)
    begin = process_time()
    speed = measuring.per_second(given.batch, work, given.rounds)
    # On a machine that others use too, what a core has done says more than the clock.
    core = (process_time() - begin) / (given.batch * (measuring.WARM_UP + given.rounds))
    measuring.tell(given, batch=given.batch, pictures_per_second=speed, core_seconds_for_each=core)


if __name__ == "__main__":
    main()
