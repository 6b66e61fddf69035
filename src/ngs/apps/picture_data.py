"""Pictures of scenes for `ngs data`: packed, counted, and told about."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import Any

from ngs.apps.data_reports import count_table, reading_images, tell_packed
from ngs.apps.printing import plain_console, print_json, tell
from ngs.errors import DataError
from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.hwf.archive import LISTS
from ngs.tasks.pictures.picture_folder import holds_images, read_folder
from ngs.tasks.pictures.picture_packed import FORMAT, read, write
from ngs.tasks.pictures.pictures import PictureData, Pictures

PARTS = ("train", "test")


def check_not_ours(source: Path) -> None:
    """Refuse what is of pictures where something else is to be packed, or counted from a folder.

    Folders of handwritten formulas hold images as well; those are told by their lists.
    """
    if FORMAT.is_at(source):
        raise DataError(
            f"{source} holds pictures and is packed already; train with it: "
            f"ngs train scenes --data {shlex.quote(str(source))}"
        )
    if source.is_dir() and holds_images(source) and not any(source.rglob(LISTS[0])):
        raise DataError(
            f"{source} holds images without scenes or formulas; bring pictures of scenes in with: "
            f"ngs data import {shlex.quote(str(source))} --scenes FILE"
        )


def bring_in(source: Path, path: Path, name: str, *, scenes: Path, held_out: Path | None) -> None:
    """Pack the pictures in the folder `source` into the file `path`."""
    if not source.is_dir():
        raise DataError(f"{source} is no folder; --scenes is for a folder of images")
    with reading_images() as progress:
        data = read_folder(source, scenes, name=name, held_out=held_out, progress=progress)
    write(path, data)
    tell_packed(path, _summary(data), "scenes", lambda console: None)


def show(source: Path, *, as_json: bool) -> None:
    """What a packed file holds: pictures by number of objects, objects by attribute, what shows of them."""
    data = read(source)
    found = {part: _counts(pictures) for part, pictures in zip(PARTS, (data.train, data.test), strict=True)}
    if as_json:
        print_json({"name": data.name, "digest": data.digest, **found})
        return
    console = plain_console()
    tell(console, f"{data.name}: {_summary(data)}")
    for title, group in (("pictures by objects", "by_objects"), ("objects by attribute", "by_attribute")):
        of_parts = [found[part][group] for part in PARTS]
        names = dict.fromkeys(name for counts in of_parts for name in counts)
        rows = [(name, [counts.get(name, 0) for counts in of_parts]) for name in names]
        console.print(count_table(title, PARTS, rows))
    for part in PARTS:
        tell(
            console,
            f"{part}: of the least visible object {found[part]['least_visible']:,} pixels show; "
            f"{found[part]['hidden']:,} objects are hidden",
        )


def _summary(data: PictureData) -> str:
    return f"{len(data.train):,} pictures to learn from, {len(data.test):,} to be tested on"


def _counts(pictures: Pictures) -> dict[str, Any]:
    things = [thing for scene in pictures.scenes for thing in scene.things]
    objects = Counter(len(scene.things) for scene in pictures.scenes)
    attributes = Counter(getattr(thing, name) for thing in things for name in ATTRIBUTES)
    visible = [
        pixels
        for scene, row in zip(pictures.scenes, pictures.visible.tolist(), strict=True)
        for pixels in row[: len(scene.things)]
    ]
    return {
        "pictures": len(pictures),
        "names": list(pictures.names),
        "objects": len(things),
        "by_objects": {str(number): objects[number] for number in sorted(objects)},
        "by_attribute": {value: attributes[value] for values in ATTRIBUTES.values() for value in values},
        "least_visible": min((pixels for pixels in visible if pixels), default=0),
        "hidden": visible.count(0),
    }
