"""The picture of a scene: rendered when it is first asked for, and kept, for there are only a dozen."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO

import torch
from PIL import Image

from ngs.apps.serve.asked_scenes import SCENES, asked_scenes
from ngs.tasks.clevr.scene_sampling import HEIGHT, WIDTH
from ngs.tasks.pictures.camera import fitted_camera
from ngs.tasks.pictures.rendering.renderer import boxes, render

LEAST_SEEN = 20
"""Pixels of an object that show; of one with fewer, nobody sees what it is."""

_RENDERING = threading.Lock()
"""A page asks for the picture and for its boxes at once; the second waits for what the first renders."""


@dataclass(frozen=True)
class Box:
    """Around an object, as shares of the picture's width and height."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class ScenePicture:
    """As a camera would take it."""

    png: bytes
    boxes: tuple[Box | None, ...]
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


def _box(edges: list[float], seen: int) -> Box | None:
    if seen < LEAST_SEEN:
        return None
    left, top, right, bottom = edges
    return Box(left / WIDTH, top / HEIGHT, (right - left) / WIDTH, (bottom - top) / HEIGHT)
