"""Pictures of scenes as data: images, and what is true of each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from ngs.errors import NGSError
from ngs.tasks.clevr.dataset import scene_content
from ngs.tasks.clevr.scenes import MOST_OBJECTS, Scene
from ngs.tasks.pictures.picture_images import Images, Numbers, loaded
from ngs.tasks.source import dealt


@dataclass(frozen=True, eq=False)
class Pictures:
    """Images of scenes with their scenes and cameras, and where each object shows."""

    images: Images
    scenes: tuple[Scene, ...]
    names: tuple[str, ...]
    """of the images"""
    cameras: Tensor
    """float32 [picture, 3]: where the camera stands"""
    boxes: Tensor
    """float32 [picture, object, 4]: x0, y0, x1, y1 in pixels; zero where nothing shows"""
    visible: Tensor
    """int32 [picture, object]: pixels of each object that show"""

    def __post_init__(self) -> None:
        number = len(self)
        shapes = {"cameras": (3,), "boxes": (MOST_OBJECTS, 4), "visible": (MOST_OBJECTS,)}
        for name in ("images", "names", *shapes):
            given, needed = getattr(self, name), (number, *shapes.get(name, ()))
            shape = tuple(given.shape) if isinstance(given, Tensor) else (len(given),)
            if shape != needed:
                raise NGSError(f"{number} pictures have {name} {shape}; {needed} is needed")

    def __len__(self) -> int:
        return len(self.scenes)

    def decoded(self, numbers: Numbers) -> Tensor:
        """uint8 [picture, 3, 320, 480], on the device where the images are kept."""
        return self.images.decoded(numbers)

    def select(self, numbers: Iterable[int] | Numbers) -> Pictures:
        """Some of the pictures, in the order in which they are named."""
        rows = np.fromiter(numbers, dtype=np.int64)
        chosen = torch.from_numpy(rows)
        return Pictures(
            self.images.select(rows),
            tuple(self.scenes[k] for k in rows),
            tuple(self.names[k] for k in rows),
            self.cameras[chosen],
            self.boxes[chosen],
            self.visible[chosen],
        )

    def on(self, device: torch.device, most_bytes: int) -> Pictures:
        """With the images decoded once and kept on the device, where there is room for that."""
        return replace(self, images=loaded(self.images, device, most_bytes))


@dataclass(frozen=True, eq=False)
class PictureData:
    """A data set: pictures to learn from and to be tested on, which share no scene."""

    name: str
    train: Pictures
    test: Pictures
    digest: str
    """of all that it holds: tells data sets apart that stand in the same place"""


def digest_of(parts: Iterable[Pictures]) -> str:
    """SHA-256 of the names, scenes, cameras, boxes, visible pixels and files of some pictures."""
    hasher = hashlib.sha256()
    for pictures in parts:
        hasher.update(f"{len(pictures)} pictures\n".encode())
        tensors = (pictures.cameras, pictures.boxes, pictures.visible)
        hasher.update(repr((pictures.names, *(tensor.tolist() for tensor in tensors))).encode())
        files = pictures.images.contents()
        for k, scene in enumerate(pictures.scenes):
            hasher.update(repr(scene_content(scene)).encode())
            hasher.update(hashlib.sha256(files.row(k).numpy().data).digest())
    return hasher.hexdigest()


def joined(first: Pictures, second: Pictures) -> Pictures:
    """The pictures of both, the second numbered behind the first."""
    return Pictures(
        first.images + second.images,
        first.scenes + second.scenes,
        first.names + second.names,
        *(
            torch.cat([getattr(part, name) for part in (first, second)])
            for name in ("cameras", "boxes", "visible")
        ),
    )


def divided(pictures: Pictures, share: float, seed: int) -> tuple[Pictures, Pictures]:
    """A random share of the pictures, at least one where it is more than none, and the rest."""
    taken, rest = deal(len(pictures), share, seed)
    return pictures.select(taken), pictures.select(rest)


def deal(number: int, share: float, seed: int) -> tuple[Numbers, Numbers]:
    """Numbers below `number`, dealt out at random: a share of them, and the rest, each in order."""
    return dealt(np.full(number, number), share, seed, at_least=1)
