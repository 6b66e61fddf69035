"""How many pictures a second are seen on this machine: `python benchmarks/seeing.py RUN_OR_WEIGHTS`.

Seeing is the way from bytes [picture, 3, 320, 480] in memory to scenes: network, decoding, positions and
relations.
"""

from __future__ import annotations

from pathlib import Path

import measuring
import numpy as np
import torch

from ngs.experiments.scenes import load_scene_reader
from ngs.tasks.pictures.rendered_pictures import rendered_pictures
from ngs.tasks.pictures.seen_scene import scene_of


def main() -> None:
    options = measuring.parser(__doc__, rounds=9)
    options.add_argument("run", type=Path, help="a run of `ngs train scenes`, or weights made of one")
    options.add_argument("--batch", type=int, default=16, help="pictures seen at once")
    given = measuring.asked(options)
    pictures = rendered_pictures(given.batch, 0, torch.device("cpu")).images.decoded(np.arange(given.batch))
    reader = load_scene_reader(given.run)
    reader.network.to(given.device).eval()
    speed = measuring.per_second(
        given.batch, lambda: [scene_of(seen) for seen in reader.see(pictures)], given.rounds
    )
    measuring.tell(given, seen_at_once=given.batch, seen_per_second=speed)


if __name__ == "__main__":
    main()
