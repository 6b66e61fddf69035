"""The images of many pictures: image files that are decoded when they are asked for, or pixels."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngs.learning.packed_file import Ragged
from ngs.tasks.clevr.scene_sampling import HEIGHT, WIDTH
from ngs.tasks.pictures.picture_file import decoded

Numbers = NDArray[np.int64]

BYTES = 3 * HEIGHT * WIDTH
"""Of a decoded image."""


@dataclass(frozen=True, eq=False)
class Images(ABC):
    """Images that can be had by their numbers."""

    rows: Numbers
    """which of those that all selections share"""

    def __len__(self) -> int:
        return len(self.rows)

    @abstractmethod
    def decoded(self, numbers: Numbers) -> Tensor:
        """uint8 [image, 3, 320, 480], on the device where they are kept"""

    def select(self, numbers: Numbers) -> Self:
        return replace(self, rows=self.rows[numbers])


@dataclass(frozen=True, eq=False)
class EncodedImages(Images):
    """Image files as they came; a file may be mapped and not be read yet."""

    files: Ragged
    """uint8"""

    @classmethod
    def of(cls, contents: Iterable[bytes]) -> EncodedImages:
        """Of the bytes of some files, which are taken one by one: they may be half of memory."""
        flat, ends = bytearray(), [0]
        for content in contents:
            flat += content
            ends.append(len(flat))
        files = torch.frombuffer(flat, dtype=torch.uint8) if flat else torch.empty(0, dtype=torch.uint8)
        return cls(np.arange(len(ends) - 1), Ragged(files, torch.tensor(ends)))

    def content(self, number: int) -> bytes:
        return self.files.row(int(self.rows[number])).numpy().tobytes()

    def packed(self) -> Ragged:
        """The files one behind the other, in this order and without others."""
        if np.array_equal(self.rows, np.arange(len(self.files))):
            return self.files
        return EncodedImages.of(self.content(k) for k in range(len(self))).files

    def decoded(self, numbers: Numbers) -> Tensor:
        if not len(numbers):
            return torch.empty((0, 3, HEIGHT, WIDTH), dtype=torch.uint8)
        return torch.stack(list(_threads().map(lambda k: decoded(self.content(k)), numbers.tolist())))


@dataclass(frozen=True, eq=False)
class RawImages(Images):
    """Pixels in memory, on a device."""

    pixels: Tensor
    """uint8 [image, 3, 320, 480], shared by all selections"""

    @classmethod
    def of(cls, pixels: Tensor) -> RawImages:
        return cls(np.arange(len(pixels)), pixels)

    def decoded(self, numbers: Numbers) -> Tensor:
        rows = torch.from_numpy(self.rows[numbers])
        return self.pixels[rows.to(self.pixels.device, non_blocking=True)]


@dataclass(frozen=True, eq=False)
class JoinedImages(Images):
    """Two kinds of images, the second numbered behind the first."""

    first: Images
    second: Images

    @classmethod
    def of(cls, first: Images, second: Images) -> JoinedImages:
        return cls(np.arange(len(first) + len(second)), first, second)

    def decoded(self, numbers: Numbers) -> Tensor:
        rows, size = self.rows[numbers], len(self.first)
        of_first = np.flatnonzero(rows < size)
        of_second = np.flatnonzero(rows >= size)
        parts = [self.first.decoded(rows[of_first]), self.second.decoded(rows[of_second] - size)]
        device = next((part.device for part in parts if part.is_cuda), parts[0].device)
        back = torch.from_numpy(np.argsort(np.concatenate([of_first, of_second])))
        return torch.cat([part.to(device) for part in parts])[back.to(device)]


def loaded(images: Images, device: torch.device, most_bytes: int) -> Images:
    """The images as pixels on the device, where they take no more than this; else as they are."""
    there = isinstance(images, RawImages) and images.pixels.device.type == device.type
    if there or len(images) * BYTES > most_bytes:
        return images
    pixels = torch.empty((len(images), 3, HEIGHT, WIDTH), dtype=torch.uint8, device=device)
    for first in range(0, len(images), AT_ONCE):
        numbers = np.arange(first, min(first + AT_ONCE, len(images)))
        pixels[first : first + AT_ONCE] = images.decoded(numbers).to(device)
    return RawImages.of(pixels)


AT_ONCE = 64
"""Images decoded together."""


@cache
def _threads() -> ThreadPoolExecutor:
    """Decoders let go of Python's lock, so that images are decoded side by side."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="decoding")
