"""`ngs data` with pictures of scenes: packed, counted, told about, and rendered in the layout of CLEVR."""

import json
import os
import shlex
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.progress import track
from torch import Tensor

from ngs.console.data_reports import count_table, reading_images, tell_packed
from ngs.console.options import device_of
from ngs.console.printing import plain_console, print_json, tell
from ngs.errors import DataError
from ngs.tasks.clevr.official_scene import scene_to_official
from ngs.tasks.clevr.scenes import ATTRIBUTES, Scene
from ngs.tasks.importing import AsJSON, Out, Overwrite, Source, to_be_packed
from ngs.tasks.pictures.camera import drawn_cameras
from ngs.tasks.pictures.picture_file import as_image
from ngs.tasks.pictures.picture_folder import read_folder, seen_scenes
from ngs.tasks.pictures.picture_packed import FORMAT, PARTS, read, write
from ngs.tasks.pictures.pictures import PictureData, Pictures
from ngs.tasks.pictures.rendered_pictures import Purpose, drawn_scenes, photographed

NUMBER = 100  # pictures to render by default
UNFINISHED = ".unfinished"  # the temporary folder inside --out while pictures are rendered


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
    objects = [len(scene.things) for scene in pictures.scenes]
    attributes = Counter(getattr(thing, name) for thing in things for name in ATTRIBUTES)
    rows = zip(pictures.visible.tolist(), objects, strict=True)
    visible = [pixels for row, count in rows for pixels in row[:count]]
    return {
        "pictures": len(pictures),
        "names": list(pictures.names),
        "objects": len(things),
        "by_objects": {str(number): count for number, count in sorted(Counter(objects).items())},
        "by_attribute": {value: attributes[value] for values in ATTRIBUTES.values() for value in values},
        "least_visible": min(filter(None, visible), default=0),
        "hidden": visible.count(0),
    }


# Rendering


def render(
    out: Annotated[Path, typer.Option(help="A new or empty folder for images/ and scenes.json.")],
    number: Annotated[
        int | None, typer.Option(min=1, help=f"Pictures; by default {NUMBER}, or all of --scenes.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Draws scenes, cameras and lamps.")] = 0,
    scenes: Annotated[
        Path | None,
        typer.Option(
            help="Scenes to render, as CLEVR has them (.json or .json.gz); by default they are sampled."
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
) -> None:
    """Render scenes, and write them with their pictures: what `ngs data import` takes."""
    place = device_of(device)
    generator = torch.Generator().manual_seed(seed)
    if scenes is None:
        number = number or NUMBER
        wanted, cameras = drawn_scenes(number, seed, Purpose.FILES), drawn_cameras(number, generator)
    else:
        wanted, cameras = _of(scenes, number)
    with _filling(out) as stage:
        written = _write(stage / "images", wanted, cameras.to(place), generator)
        listing = {"info": {"seed": seed}, "scenes": written}
        (stage / "scenes.json").write_text(json.dumps(listing), encoding="utf-8")
    made = f"{len(written)} picture{'s' if len(written) != 1 else ''}"
    tell(plain_console(), f"{out}: {made} in images/, their scenes in scenes.json")
    folder, file = (shlex.quote(str(out / name)) for name in ("images", "scenes.json"))
    tell(plain_console(), f"bring them in: ngs data import {folder} --scenes {file}")


@contextmanager
def _filling(out: Path) -> Iterator[Path]:
    """A hidden folder in the new or empty folder `out`; its content moves to `out` if all goes well."""
    stage, was_there = out / UNFINISHED, os.path.exists(out)
    try:
        if was_there and (not out.is_dir() or any(path != stage for path in out.iterdir())):
            raise DataError(f"{out} exists and is not an empty folder; give --out another name")
        shutil.rmtree(stage, ignore_errors=True)
        try:
            stage.mkdir(parents=True)
            yield stage
            for path in sorted(stage.iterdir()):  # the list of scenes after the images
                path.rename(out / path.name)
        finally:
            shutil.rmtree(stage, ignore_errors=True)
            if not was_there:
                with suppress(OSError):  # it is not empty if all went well
                    out.rmdir()
    except OSError as error:
        raise DataError(
            f"{out} cannot be written: {error.strerror or error}; give --out a path with room and permission"
        ) from None


def _write(
    folder: Path, scenes: Sequence[Scene], cameras: Tensor, generator: torch.Generator
) -> list[dict[str, Any]]:
    """Write pictures; returns the visible scenes in official form."""
    folder.mkdir(parents=True)
    console, written = plain_console(stderr=True), list[dict[str, Any]]()
    made = zip(photographed(scenes, cameras, generator), cameras.tolist(), strict=True)
    for (scene, image, *_), place in track(
        made, "rendering", len(scenes), console=console, transient=True, disable=not console.is_terminal
    ):
        as_image(image).save(folder / scene.name)
        written.append({**scene_to_official(scene, len(written)), "camera_location": place})
    return written


def _of(path: Path, number: int | None) -> tuple[list[Scene], Tensor]:
    """The first scenes of an official file, with their cameras."""
    found = list(islice(seen_scenes(path), number))
    if not found:
        raise DataError(f"{path} holds no scenes; give a file that has some")
    if number is not None and len(found) < number:
        raise DataError(f"{path} holds {len(found)} scenes, and --number is {number}; ask for no more")
    named = [replace(scene, name=f"{Path(scene.name).stem}.png") for scene, _ in found]
    return named, torch.tensor([camera for _, camera in found])
