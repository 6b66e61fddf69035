"""A data set of pictures: some to learn from and some to be tested on, which share no scene."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from ngs.tasks.clevr.dataset import scene_content
from ngs.tasks.pictures.picture_images import EncodedImages
from ngs.tasks.pictures.pictures import Pictures


@dataclass(frozen=True, eq=False)
class PictureData:
    """Pictures of scenes in two parts."""

    name: str
    train: Pictures
    test: Pictures
    digest: str
    """of all that it holds: tells data sets apart that stand in the same place"""


def digest_of(parts: Sequence[tuple[Pictures, EncodedImages]]) -> str:
    """SHA-256 of the names, scenes, cameras, boxes, visible pixels and files of some pictures."""
    hasher = hashlib.sha256()
    for pictures, images in parts:
        hasher.update(f"{len(pictures)} pictures\n".encode())
        tensors = (pictures.cameras, pictures.boxes, pictures.visible)
        hasher.update(repr((pictures.names, *(tensor.tolist() for tensor in tensors))).encode())
        for k, scene in enumerate(pictures.scenes):
            hasher.update(repr(scene_content(scene)).encode())
            hasher.update(hashlib.sha256(images.content(k)).digest())
    return hasher.hexdigest()
