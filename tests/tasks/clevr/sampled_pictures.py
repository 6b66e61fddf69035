"""Pictures of sampled scenes without anything painted: enough where a network is not asked."""

from collections.abc import Sequence

import numpy as np
import torch

from ngs.tasks.clevr.scene_sampling import HEIGHT, WIDTH, scenes
from ngs.tasks.clevr.scenes import MOST_OBJECTS, Scene
from ngs.tasks.pictures.camera import drawn_cameras, project
from ngs.tasks.pictures.pictures import Pictures
from ngs.tasks.pictures.rendered_pictures import as_released


def sampled_scenes(number: int, seed: int) -> tuple[Scene, ...]:
    """With the directions that official scenes have."""
    return tuple(map(as_released, scenes(number, np.random.default_rng(seed))))


def pictures_of(shown: Sequence[Scene], seed: int = 0, half: float = 12.0) -> Pictures:
    """Seen by drawn cameras; boxes are squares around the centres, and all of each object shows.

    The first pixel of a picture is its number.
    """
    cameras = drawn_cameras(len(shown), torch.Generator().manual_seed(seed))
    boxes = torch.zeros(len(shown), MOST_OBJECTS, 4)
    visible = torch.zeros(len(shown), MOST_OBJECTS, dtype=torch.int32)
    images = torch.zeros(len(shown), 3, HEIGHT, WIDTH, dtype=torch.uint8)
    images[:, 0, 0, 0] = torch.arange(len(shown))
    for k, scene in enumerate(shown):
        count = len(scene.things)
        places = torch.tensor([thing.position for thing in scene.things]).view(1, -1, 3)
        centers = project(cameras[k : k + 1], places)[0, :, :2]
        boxes[k, :count] = torch.cat([centers - half, centers + half], 1)
        visible[k, :count] = 500
    names = tuple(f"{k}.png" for k in range(len(shown)))
    return Pictures(tuple(images), tuple(shown), names, cameras, boxes, visible)
