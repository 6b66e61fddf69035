"""The picture of a scene: rendered when it is first asked for, and kept, for there are only a dozen."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO

import torch
from PIL import Image

from ngs.apps.serve.asked_scenes import SCENES, asked_scenes
from ngs.apps.serve.messages import Message, Share, part
from ngs.tasks.clevr.scene_sampling import HEIGHT, WIDTH
from ngs.tasks.pictures.camera import fitted_camera
from ngs.tasks.pictures.rendering.renderer import boxes, render

LEAST_SEEN = 20
"""Pixels of an object that show; of one with fewer, nobody sees what it is."""

_RENDERING = threading.Lock()
"""A page asks for the picture and for its boxes at once; the second waits for what the first renders."""


class PictureBox(Message):
    """Around what shows of an object in the picture of its scene."""

    left: Share = part("As a share of the picture's width.", 0.4)
    top: Share = part("As a share of the picture's height, down.", 0.5)
    width: Share = part("As a share of the picture's width.", 0.1)
    height: Share = part("As a share of the picture's height.", 0.2)


@dataclass(frozen=True)
class ScenePicture:
    """As a camera would take it."""

    png: bytes
    boxes: tuple[PictureBox | None, ...]
    """of each object, as far as it shows; None where others hide it"""


def scene_picture(number: int) -> ScenePicture:
    """Of one of the scenes that may be asked about."""
    with _RENDERING:
        return _rendered(number)


@lru_cache(maxsize=SCENES)
def _rendered(number: int) -> ScenePicture:
    """From where the scene was looked at."""
    scene = asked_scenes()[number].scene
    camera = torch.tensor([fitted_camera(scene)])
    rendering = render([scene], camera, torch.Generator().manual_seed(number))
    edges, seen = boxes(rendering.instances, len(scene.things))
    file = BytesIO()
    Image.fromarray(rendering.images[0].permute(1, 2, 0).contiguous().numpy()).save(file, "PNG")
    shown = zip(edges[0].tolist(), seen[0].tolist(), strict=True)
    return ScenePicture(file.getvalue(), tuple(_box(edges, seen) for edges, seen in shown))


def _box(edges: list[float], seen: int) -> PictureBox | None:
    if seen < LEAST_SEEN:
        return None
    left, top, right, bottom = edges
    width, height = (right - left) / WIDTH, (bottom - top) / HEIGHT
    return PictureBox(left=left / WIDTH, top=top / HEIGHT, width=width, height=height)
