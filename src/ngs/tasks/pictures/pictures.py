"""Pictures of scenes as data: images, and the truth about each."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, pairwise

import numpy as np
import torch
from torch import Tensor

from ngs.errors import DataError
from ngs.learning.packed_file import Ragged
from ngs.tasks.clevr.dataset import scene_content
from ngs.tasks.clevr.scene_sampling import HEIGHT, WIDTH
from ngs.tasks.clevr.scenes import Scene
from ngs.tasks.pictures.picture_file import pixels_of
from ngs.tasks.source import Numbers, dealt

BYTES = 3 * HEIGHT * WIDTH  # in a decoded image


@dataclass(frozen=True, eq=False)
class Pictures:
    """Images of scenes with their scenes and cameras, and where each object shows."""

    images: tuple[Tensor, ...]  # uint8: bytes of an image file, or pixels [3, 320, 480]
    scenes: tuple[Scene, ...]
    names: tuple[str, ...]  # file names of the images
    cameras: Tensor  # float32 [picture, 3]
    boxes: Tensor  # float32 [picture, object, 4]: x0, y0, x1, y1 in pixels, or zero
    visible: Tensor  # int32 [picture, object]: pixels that show

    def __len__(self) -> int:
        return len(self.scenes)

    def decoded(self, numbers: Numbers) -> Tensor:
        """uint8 [picture, 3, 320, 480], on a device where images are kept."""
        if not len(numbers):
            return torch.empty((0, 3, HEIGHT, WIDTH), dtype=torch.uint8)
        images = list(_threads().map(pixels_of, [self.images[k] for k in numbers]))
        device = next((image.device for image in images if image.is_cuda), images[0].device)
        return torch.stack([image.to(device) for image in images])

    def select(self, numbers: Iterable[int]) -> Pictures:
        """Some of the pictures, in the order in which they are named."""
        rows = np.fromiter(numbers, dtype=np.int64)
        chosen = torch.from_numpy(rows)
        return Pictures(
            tuple(self.images[k] for k in rows),
            tuple(self.scenes[k] for k in rows),
            tuple(self.names[k] for k in rows),
            self.cameras[chosen],
            self.boxes[chosen],
            self.visible[chosen],
        )

    def on(self, device: torch.device, most_bytes: int) -> Pictures:
        """With the images decoded once and kept on the device, where they take no more than `most_bytes`."""
        if len(self) * BYTES > most_bytes:
            return self
        images = _threads().map(lambda image: pixels_of(image).to(device), self.images)
        return replace(self, images=tuple(images))

    def files(self) -> Ragged:
        """The bytes of the image files one behind the other; not copied where they already are."""
        if any(image.dim() != 1 for image in self.images):
            raise DataError(
                "only imported pictures can be packed; rendered ones are made again from their seed"
            )
        offsets = torch.tensor([0, *accumulate(map(len, self.images))])
        if self.images and all(a.data_ptr() + len(a) == b.data_ptr() for a, b in pairwise(self.images)):
            return Ragged(self.images[0].as_strided((int(offsets[-1]),), (1,)), offsets)
        return Ragged(torch.cat([torch.empty(0, dtype=torch.uint8), *self.images]), offsets)


def files_of(contents: Iterable[bytes]) -> tuple[Tensor, ...]:
    """The bytes of files, one behind the other in memory; taken one by one, as they may be half of memory."""
    flat, sizes = bytearray(), []
    for content in contents:
        flat += content
        sizes.append(len(content))
    return torch.split(torch.frombuffer(flat, dtype=torch.uint8), sizes) if sizes else ()


@cache
def _threads() -> ThreadPoolExecutor:
    """Decoders let go of Python's lock, so that images are decoded side by side."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="decoding")


@dataclass(frozen=True, eq=False)
class PictureData:
    """A data set: pictures to learn from and to be tested on, which share no scene."""

    name: str
    train: Pictures
    test: Pictures
    digest: str  # of the contents


def digest_of(parts: Iterable[Pictures]) -> str:
    """SHA-256 of the names, scenes, cameras, boxes, visible pixels and images of some pictures."""
    hasher = hashlib.sha256()
    for pictures in parts:
        hasher.update(f"{len(pictures)} pictures\n".encode())
        tensors = (pictures.cameras, pictures.boxes, pictures.visible)
        hasher.update(repr((pictures.names, *(tensor.tolist() for tensor in tensors))).encode())
        for image, scene in zip(pictures.images, pictures.scenes, strict=True):
            hasher.update(repr(scene_content(scene)).encode())
            hasher.update(hashlib.sha256(image.numpy().data).digest())
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
