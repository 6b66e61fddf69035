"""`ngs data` with pictures of scenes: packed, counted, and told about."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from ngs.console.data_reports import count_table, reading_images, tell_packed
from ngs.console.printing import plain_console, print_json, tell
from ngs.errors import DataError
from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.importing import AsJSON, Out, Overwrite, Source, to_be_packed
from ngs.tasks.pictures.picture_folder import read_folder
from ngs.tasks.pictures.picture_packed import FORMAT, read, write
from ngs.tasks.pictures.pictures import PictureData, Pictures

PARTS = ("train", "test")


def bring_in(
    source: Annotated[Path, typer.Argument(help="The folder with the images.")],
    scenes: Annotated[
        Path | None,
        typer.Option(help="The file with their scenes, as CLEVR has it (.json or .json.gz)."),
    ] = None,
    held_out: Annotated[
        Path | None,
        typer.Option(
            help="A text file with the names of the images to be tested on; by default those of the list "
            "that comes with NGS, or a tenth where none of them is there."
        ),
    ] = None,
    out: Out = None,
    name: Annotated[
        str | None, typer.Option(help="What results call the data set; by default as --out is called.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Check pictures of scenes, and pack them into one file that loads at once."""
    if FORMAT.is_at(source):
        raise DataError(
            f"{source} holds pictures and is packed already; train with it: "
            f"ngs train scenes --data {shlex.quote(str(source))}"
        )
    if not source.is_dir():
        raise DataError(f"{source} is no folder; --scenes is for a folder of images")
    if scenes is None:
        raise _without_scenes(source)
    name = name or (None if out is None else out.stem)  # folders of images are called `images`
    path, name = to_be_packed(source, out, name, overwrite)
    with reading_images() as progress:
        data = read_folder(source, scenes, name=name, held_out=held_out, progress=progress)
    write(path, data)
    tell_packed(path, _summary(data), "scenes", lambda console: None)


def show(source: Source, as_json: AsJSON = False) -> None:
    """Count pictures by number of objects, objects by attribute, and what shows of them."""
    if not FORMAT.is_at(source):
        raise _without_scenes(source)
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


def _without_scenes(source: Path) -> DataError:
    return DataError(
        f"{source} holds images without scenes or formulas; bring pictures of scenes in with: "
        f"ngs data import {shlex.quote(str(source))} --scenes FILE"
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
