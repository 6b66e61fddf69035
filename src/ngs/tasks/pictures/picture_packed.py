"""Pictures of scenes in one file: image files as they came, mapped into memory, with a checksum over all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from ngs.learning import packed_file
from ngs.learning.packed_file import Column, Content, texts, under, within
from ngs.tasks.clevr import packed_scenes
from ngs.tasks.clevr.scenes import MOST_OBJECTS
from ngs.tasks.pictures.picture_images import Images
from ngs.tasks.pictures.pictures import PictureData, Pictures
from ngs.tasks.pictures.rendered_pictures import RENDERED
from ngs.tasks.source import packed_at

PARTS = ("train", "test")


def _pictures_layout(part: str) -> packed_file.Layout:
    pictures = f"{part}.scenes"
    columns = {
        "files": Column(torch.uint8, (None,), rows=pictures, least=1),
        "names": texts(pictures),
        "cameras": Column(torch.float32, (pictures, 3)),
        "boxes": Column(torch.float32, (pictures, MOST_OBJECTS, 4)),
        "visible": Column(torch.int32, (pictures, MOST_OBJECTS)),
    }
    return {**packed_scenes.layout(f"{part}."), **within(part, columns)}


def _faults(contents: Mapping[str, Any], facts: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(facts.get("digest"), str):
        yield "it has no digest"
    for part in PARTS:
        yield from (f"{part}: {fault}" for fault in packed_scenes.faults(under(contents, part)))


FORMAT = packed_file.Format(
    "a packed data set of pictures of scenes",
    "pack pictures with `ngs data import FOLDER --scenes FILE`",
    {**_pictures_layout("train"), **_pictures_layout("test")},
    _faults,
)


def write(path: Path, data: PictureData) -> None:
    """Put `data`, as it was imported, into the file `path`: all of it or nothing."""
    contents: dict[str, Content] = {}
    for part, pictures in zip(PARTS, (data.train, data.test), strict=True):
        contents |= within(part, _contents(pictures))
    FORMAT.save(path, contents, {"name": data.name, "digest": data.digest})


def read(path: Path) -> PictureData:
    """The data set in the file `path`, checked; its images stay in the file until they are used."""
    contents, facts = FORMAT.load(path)
    train, test = (_pictures(under(contents, part)) for part in PARTS)
    return PictureData(facts["name"], train, test, facts["digest"])


def imported(source: str) -> PictureData:
    """The data set of the packed file `source`; a DataError says how to pack what is none."""
    return read(packed_at(source, RENDERED, "FOLDER", options=" --scenes FILE"))


_COLUMNS = ("names", "cameras", "boxes", "visible")
"""What pictures call as the file does."""


def _contents(pictures: Pictures) -> dict[str, Content]:
    own = {name: getattr(pictures, name) for name in _COLUMNS}
    return {**packed_scenes.contents_of(pictures.scenes), "files": pictures.images.contents(), **own}


def _pictures(own: Mapping[str, Any]) -> Pictures:
    return Pictures(
        Images.of(own["files"]), tuple(packed_scenes.scenes_of(own)), *(own[name] for name in _COLUMNS)
    )
