"""Pictures of scenes in one file: image files as they came, mapped into memory, with a checksum over all."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from ngs.learning.packed_file import Column, Contents, Format, Group, texts
from ngs.tasks.clevr.packed_scenes import SCENES, contents_of, scenes_of
from ngs.tasks.clevr.scenes import MOST_OBJECTS
from ngs.tasks.pictures.pictures import PictureData, Pictures
from ngs.tasks.pictures.settings import RENDERED
from ngs.tasks.source import packed_at

PARTS = ("train", "test")


def _digest(_: object, facts: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(facts.get("digest"), str):
        yield "it has no digest"


PICTURES = Group(
    {
        **SCENES.columns,
        "files": Column(torch.uint8, (None,), rows="scenes", least=1),
        "names": texts("scenes"),
        "cameras": Column(torch.float32, ("scenes", 3)),
        "boxes": Column(torch.float32, ("scenes", MOST_OBJECTS, 4)),
        "visible": Column(torch.int32, ("scenes", MOST_OBJECTS)),
    },
    SCENES.rules,
)

FORMAT = Format(
    "a packed data set of pictures of scenes",
    "pack pictures with `ngs data import FOLDER --scenes FILE`",
    Group(dict.fromkeys(PARTS, PICTURES), [_digest]),
)


def write(path: Path, data: PictureData) -> None:
    """Put `data`, as it was imported, into the file `path`: all of it or nothing."""
    contents = {"train": _contents(data.train), "test": _contents(data.test)}
    FORMAT.save(path, contents, {"name": data.name, "digest": data.digest})


def read(path: Path) -> PictureData:
    """The data set in the file `path`, checked; its images stay in the file until they are used."""
    contents, facts = FORMAT.load(path)
    train, test = (_pictures(contents[part]) for part in PARTS)
    return PictureData(facts["name"], train, test, facts["digest"])


def imported(source: str) -> PictureData:
    """The data set of the packed file `source`; a DataError says how to pack what is none."""
    return read(packed_at(source, RENDERED, "FOLDER", options=" --scenes FILE"))


_COLUMNS = ("names", "cameras", "boxes", "visible")  # fields named as in the file


def _contents(pictures: Pictures) -> Contents:
    own = {name: getattr(pictures, name) for name in _COLUMNS}
    return {**contents_of(pictures.scenes), "files": pictures.files(), **own}


def _pictures(own: Contents) -> Pictures:
    files = own["files"]
    images = files.flat.split(files.lengths.tolist()) if len(files) else ()
    return Pictures(images, tuple(scenes_of(own)), *(own[name] for name in _COLUMNS))
