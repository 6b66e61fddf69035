"""`ngs data render`: pictures of scenes of our own making, in the layout of CLEVR."""

from __future__ import annotations

import json
import shlex
import shutil
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

from ngs.console.options import device_of
from ngs.console.printing import plain_console, tell
from ngs.errors import DataError
from ngs.tasks.clevr.official_scene import scene_to_official
from ngs.tasks.clevr.scenes import Scene
from ngs.tasks.pictures.camera import drawn_cameras
from ngs.tasks.pictures.picture_file import as_image
from ngs.tasks.pictures.picture_folder import seen_scenes
from ngs.tasks.pictures.rendered_pictures import Purpose, drawn_scenes, photographed
from ngs.tasks.pictures.rendering.renderer import render as rendered

NUMBER = 100
"""Pictures of sampled scenes, where no other number is given."""
AT_ONCE = 8
"""Pictures that are made together."""
UNFINISHED = ".unfinished"
"""The folder inside --out that is written to until all is there."""


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
    wanted, cameras = _sampled(number or NUMBER, seed, generator) if scenes is None else _of(scenes, number)
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
    """A hidden folder in the new or empty folder `out`, to write to.

    What it holds moves into `out` when all went well, and goes when not. One that was left behind by a
    process that was killed is begun anew.
    """
    stage = out / UNFINISHED
    try:
        was_there = out.exists()
        if was_there and (not out.is_dir() or any(path != stage for path in out.iterdir())):
            raise DataError(f"{out} exists and is not an empty folder; give --out another name")
        if stage.exists():
            shutil.rmtree(stage)
        stage.mkdir(parents=True)
        try:
            yield stage
            for path in sorted(stage.iterdir()):  # the list of scenes after the images
                path.rename(out / path.name)
            stage.rmdir()
        except BaseException:
            shutil.rmtree(stage, ignore_errors=True)
            if not was_there:
                with suppress(OSError):  # what went wrong first is told
                    out.rmdir()
            raise
    except OSError as error:
        raise DataError(
            f"{out} cannot be written: {error.strerror or error}; give --out a path with room and permission"
        ) from None


def _write(
    folder: Path, scenes: Sequence[Scene], cameras: Tensor, generator: torch.Generator
) -> list[dict[str, Any]]:
    """Fill a folder with pictures; the scenes as they show, in official form."""
    folder.mkdir(parents=True)
    console = plain_console(stderr=True)
    starts = range(0, len(scenes), AT_ONCE)
    written: list[dict[str, Any]] = []
    for first in track(starts, "rendering", console=console, transient=True, disable=not console.is_terminal):
        some, places = scenes[first : first + AT_ONCE], cameras[first : first + AT_ONCE]
        seen = list(photographed(some, places, [f"{Path(scene.name).stem}.png" for scene in some]))
        for scene, image in zip(seen, rendered(seen, places, generator).images, strict=True):
            as_image(image).save(folder / scene.name)
        for scene, place in zip(seen, places.tolist(), strict=True):
            written.append({**scene_to_official(scene, len(written)), "camera_location": place})
    return written


def _sampled(number: int, seed: int, generator: torch.Generator) -> tuple[list[Scene], Tensor]:
    sampled = drawn_scenes(number, seed, Purpose.FILES)
    named = [replace(scene, name=f"rendered_{k:06d}") for k, scene in enumerate(sampled)]
    return named, drawn_cameras(number, generator)


def _of(path: Path, number: int | None) -> tuple[list[Scene], Tensor]:
    """The first scenes of an official file, with the cameras that saw them."""
    found = list(islice(seen_scenes(path), number))
    if not found:
        raise DataError(f"{path} holds no scenes; give a file that has some")
    if number is not None and len(found) < number:
        raise DataError(f"{path} holds {len(found)} scenes, and --number is {number}; ask for no more")
    return [scene for scene, _ in found], torch.tensor([camera for _, camera in found])
