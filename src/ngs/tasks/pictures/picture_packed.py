"""Pictures of scenes in one file: image files as they came, mapped into memory, with a checksum over all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ngs.errors import DataError
from ngs.learning import packed_file
from ngs.learning.packed_file import Column, as_bytes, as_texts, texts
from ngs.tasks.clevr import packed_scenes
from ngs.tasks.clevr.dataset import Ragged
from ngs.tasks.clevr.scenes import MOST_OBJECTS
from ngs.tasks.pictures.picture_data import PictureData
from ngs.tasks.pictures.picture_images import EncodedImages
from ngs.tasks.pictures.pictures import Pictures

PARTS = ("train", "test")


def _pictures_layout(part: str) -> packed_file.Layout:
    pictures = f"{part}.scenes"
    return {
        **packed_scenes.layout(f"{part}."),
        f"{part}.files": Column(torch.uint8, (None,), rows=pictures, least=1),
        f"{part}.names": texts(pictures),
        f"{part}.cameras": Column(torch.float32, (pictures, 3)),
        f"{part}.boxes": Column(torch.float32, (pictures, MOST_OBJECTS, 4)),
        f"{part}.visible": Column(torch.int32, (pictures, MOST_OBJECTS)),
    }


def _faults(tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(facts.get("digest"), str):
        yield "it has no digest"
    for part in PARTS:
        yield from (f"{part}: {fault}" for fault in packed_scenes.faults(packed_file.under(tensors, part)))


FORMAT = packed_file.Format(
    "a packed data set of pictures of scenes",
    "pack pictures with `ngs data import FOLDER --scenes FILE`",
    {**_pictures_layout("train"), **_pictures_layout("test")},
    _faults,
)


def write(path: Path, data: PictureData) -> None:
    """Put `data`, as it was imported, into the file `path`: all of it or nothing."""
    tensors: dict[str, Tensor] = {}
    for part, pictures in zip(PARTS, (data.train, data.test), strict=True):
        tensors |= {f"{part}.{name}": tensor for name, tensor in _tensors_of(pictures).items()}
    facts = {"name": data.name, "digest": data.digest}
    FORMAT.save(path, tensors, facts)


def read(path: Path) -> PictureData:
    """The data set in the file `path`, checked; its images stay in the file until they are used."""
    tensors, facts = FORMAT.load(path)
    train, test = (_pictures(packed_file.under(tensors, part)) for part in PARTS)
    return PictureData(facts["name"], train, test, facts["digest"])


def _tensors_of(pictures: Pictures) -> dict[str, Tensor]:
    images = pictures.images
    if not isinstance(images, EncodedImages):
        raise DataError("only imported pictures can be packed; rendered ones are made again from their seed")
    files = images.packed()
    return {
        **packed_scenes.tensors_of(pictures.scenes),
        "files": files.flat,
        "files.offsets": files.offsets,
        "names": as_bytes(pictures.names),
        "cameras": pictures.cameras,
        "boxes": pictures.boxes,
        "visible": pictures.visible,
    }


def _pictures(own: Mapping[str, Tensor]) -> Pictures:
    files = Ragged(own["files"], own["files.offsets"])
    return Pictures(
        EncodedImages(np.arange(len(files)), files),
        tuple(packed_scenes.scenes_of(own)),
        as_texts(own["names"]),
        own["cameras"],
        own["boxes"],
        own["visible"],
    )
