"""Pictures of scenes in one file: image files as they came, mapped into memory, with a checksum over all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ngs.errors import DataError
from ngs.learning import tensor_file
from ngs.tasks.clevr import packed_scenes
from ngs.tasks.clevr.dataset import Ragged
from ngs.tasks.clevr.packed import stated_kind
from ngs.tasks.clevr.packed_scenes import as_bytes, as_texts, count
from ngs.tasks.clevr.scenes import MOST_OBJECTS
from ngs.tasks.pictures.picture_data import PictureData
from ngs.tasks.pictures.picture_images import EncodedImages
from ngs.tasks.pictures.pictures import Pictures

KIND = "a packed data set of pictures of scenes"
REMEDY = "pack pictures with `ngs data import FOLDER --scenes FILE`"
PARTS = ("train", "test")

_OF_PART: tensor_file.Layout = {
    **packed_scenes.LAYOUT,
    "files": (torch.uint8, 1),
    "files.offsets": (torch.int64, 1),
    "names": (torch.uint8, 1),
    "cameras": (torch.float32, 2),
    "boxes": (torch.float32, 3),
    "visible": (torch.int32, 2),
}
LAYOUT: tensor_file.Layout = {f"{part}.{name}": layout for part in PARTS for name, layout in _OF_PART.items()}
"""The tensors of a file, each with its type and number of dimensions; names are JSON in UTF-8."""


def is_packed(path: Path) -> bool:
    """Whether a file says that it is of this kind; only its header is read."""
    return stated_kind(path) == KIND


def write(path: Path, data: PictureData) -> None:
    """Put `data`, as it was imported, into the file `path`: all of it or nothing."""
    tensors: dict[str, Tensor] = {}
    for part, pictures in zip(PARTS, (data.train, data.test), strict=True):
        tensors |= {f"{part}.{name}": tensor for name, tensor in _tensors_of(pictures).items()}
    facts = {"name": data.name, "digest": data.digest}
    tensor_file.save_sound(path, KIND, tensors, facts, _faults)


def read(path: Path) -> PictureData:
    """The data set in the file `path`, checked; its images stay in the file until they are used."""
    tensors, facts = tensor_file.load_sound(path, KIND, REMEDY, _faults)
    train, test = (_pictures(_own(tensors, part)) for part in PARTS)
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


def _own(tensors: Mapping[str, Tensor], part: str) -> dict[str, Tensor]:
    return {name: tensors[f"{part}.{name}"] for name in _OF_PART}


def _pictures(own: Mapping[str, Tensor]) -> Pictures:
    files = Ragged(own["files"], own["files.offsets"])
    return Pictures(
        EncodedImages(files, np.arange(len(files))),
        tuple(packed_scenes.scenes_of(own)),
        as_texts(own["names"]),
        own["cameras"],
        own["boxes"],
        own["visible"],
    )


def _faults(tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> Iterator[str]:
    """What keeps the tensors from being a data set; what comes later relies on what came before."""
    name = facts.get("name")
    if not isinstance(name, str) or not name.isprintable():
        yield f"the name {name!r} cannot be printed"
    if not isinstance(facts.get("digest"), str):
        yield "it has no digest"
    yield from tensor_file.layout_faults(tensors, LAYOUT)
    for part in PARTS:
        yield from (f"{part}: {fault}" for fault in _faults_of_part(_own(tensors, part)))


def _faults_of_part(own: Mapping[str, Tensor]) -> Iterator[str]:
    yield from packed_scenes.faults(own)
    pictures, offsets = len(own["scenes.counts"]), own["files.offsets"]
    ends = (0, len(own["files"]))
    if (
        len(offsets) != pictures + 1
        or (int(offsets[0]), int(offsets[-1])) != ends
        or (offsets.diff() <= 0).any()
    ):
        yield f"the files of {pictures} pictures do not add up"
    if count(own["names"]) != pictures:
        yield f"there are {pictures} pictures and {count(own['names'])} names"
    shapes = {"cameras": (3,), "boxes": (MOST_OBJECTS, 4), "visible": (MOST_OBJECTS,)}
    for name, shape in shapes.items():
        if own[name].shape != (pictures, *shape):
            yield f"{name} is {list(own[name].shape)}, and {[pictures, *shape]} is needed"
        if not own[name].isfinite().all():
            yield f"{name} has what is no number"
