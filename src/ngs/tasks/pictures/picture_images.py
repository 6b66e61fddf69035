"""The images of many pictures: image files that are decoded when they are asked for, or pixels."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngs.errors import DataError
from ngs.learning.packed_file import Ragged
from ngs.tasks.clevr.scene_sampling import HEIGHT, WIDTH
from ngs.tasks.pictures.picture_file import decoded

Numbers = NDArray[np.int64]

BYTES = 3 * HEIGHT * WIDTH
"""Of a decoded image."""

Store = Ragged | Tensor
"""The bytes of image files as they came, which may be mapped and not be read yet, or pixels uint8 [image, 3,
320, 480] on a device."""


@dataclass(frozen=True, eq=False)
class Images:
    """Images that can be had by their numbers."""

    stores: tuple[Store, ...]
    """shared by all selections"""
    rows: Numbers
    """which of those in the stores, which are numbered one behind the other"""

    @classmethod
    def of(cls, store: Store) -> Images:
        return cls((store,), np.arange(len(store)))

    def __len__(self) -> int:
        return len(self.rows)

    def __add__(self, other: Images) -> Images:
        """These, and the others numbered behind them."""
        rows = np.concatenate([self.rows, other.rows + sum(map(len, self.stores))])
        return Images(self.stores + other.stores, rows)

    def select(self, numbers: Numbers) -> Images:
        return replace(self, rows=self.rows[numbers])

    def decoded(self, numbers: Numbers) -> Tensor:
        """uint8 [image, 3, 320, 480], on a device where images are kept."""
        rows = self.rows[numbers]
        if len(self.stores) == 1:
            return _decoded(self.stores[0], rows)
        ends = np.cumsum([len(store) for store in self.stores])
        which = np.searchsorted(ends, rows, side="right")
        parts = [
            _decoded(store, rows[which == k] - ends[k] + len(store)) for k, store in enumerate(self.stores)
        ]
        device = next((part.device for part in parts if part.is_cuda), parts[0].device)
        back = torch.from_numpy(which.argsort(kind="stable").argsort())
        return torch.cat([part.to(device) for part in parts])[back.to(device)]

    def contents(self) -> Ragged:
        """The bytes of the files one behind the other, in this order and without others."""
        files = self.stores[0]
        if len(self.stores) > 1 or isinstance(files, Tensor):
            raise DataError(
                "only pictures of one import can be packed; rendered ones are made again from their seed"
            )
        if np.array_equal(self.rows, np.arange(len(files))):
            return files
        return files_of(files.row(k).numpy().tobytes() for k in self.rows.tolist())


def files_of(contents: Iterable[bytes]) -> Ragged:
    """The bytes of some files, which are taken one by one: they may be half of memory."""
    flat, ends = bytearray(), [0]
    for content in contents:
        flat += content
        ends.append(len(flat))
    files = torch.frombuffer(flat, dtype=torch.uint8) if flat else torch.empty(0, dtype=torch.uint8)
    return Ragged(files, torch.tensor(ends))


def _decoded(store: Store, rows: Numbers) -> Tensor:
    if isinstance(store, Tensor):
        return store[torch.from_numpy(rows).to(store.device, non_blocking=True)]
    if not len(rows):
        return torch.empty((0, 3, HEIGHT, WIDTH), dtype=torch.uint8)
    return torch.stack(list(_threads().map(lambda k: decoded(store.row(k).numpy().tobytes()), rows.tolist())))


def loaded(images: Images, device: torch.device, most_bytes: int) -> Images:
    """The images as pixels on the device, where they take no more than this; else as they are."""
    there = all(isinstance(each, Tensor) and each.device.type == device.type for each in images.stores)
    if there or len(images) * BYTES > most_bytes:
        return images
    pixels = torch.empty((len(images), 3, HEIGHT, WIDTH), dtype=torch.uint8, device=device)
    for first in range(0, len(images), AT_ONCE):
        numbers = np.arange(first, min(first + AT_ONCE, len(images)))
        pixels[first : first + AT_ONCE] = images.decoded(numbers).to(device)
    return Images.of(pixels)


AT_ONCE = 64
"""Images decoded together."""


@cache
def _threads() -> ThreadPoolExecutor:
    """Decoders let go of Python's lock, so that images are decoded side by side."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="decoding")
