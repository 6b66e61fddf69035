"""A folder of CLEVR images with the file of their scenes, read as a data set of pictures.

An image belongs to the scene whose `image_filename` has the same stem, in whatever subfolder it is. Boxes and
visible pixels are computed from the shapes of the scene.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from importlib.resources import files
from math import hypot
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ngs.errors import DataError
from ngs.tasks.clevr.official_scene import as_scene, vector
from ngs.tasks.clevr.scenes import Scene
from ngs.tasks.faults import Field, listed, naming, shown
from ngs.tasks.json_list import elements
from ngs.tasks.pictures.camera import TOLERANCE, fitted_camera, misses
from ngs.tasks.pictures.picture_file import SUFFIXES, read_encoded
from ngs.tasks.pictures.pictures import PictureData, Pictures, deal, digest_of, files_of
from ngs.tasks.pictures.rendering.renderer import boxes, instances

TEST_SHARE = 0.1  # of the scenes, unless a list names the test pictures

AT_ONCE = 16  # scenes rendered together

Camera = tuple[float, float, float]  # its position


def read_folder(
    folder: Path,
    scenes: Path,
    *,
    name: str,
    held_out: Path | None = None,
    progress: Callable[[int, int], None] = lambda done, images: None,
) -> PictureData:
    """The pictures of a folder; all pictures of a scene are in the same part.

    `progress` gets the number of finished images and of all.
    """
    paths = sorted(images_in(folder))
    if not paths:
        raise DataError(f"{folder} holds no images ({' '.join(SUFFIXES)}); give the folder that has them")
    photographed = {
        Path(scene.name).stem: (scene, camera)
        for scene, camera in seen_scenes(scenes, {path.stem for path in paths})
    }
    missing = [str(path.relative_to(folder)) for path in paths if path.stem not in photographed]
    if missing:
        raise DataError(
            f"{scenes} has no scene for {len(missing)} of {len(paths)} images; give the scenes of all, "
            f"or take these out:\n{listed(missing)}"
        )
    kept_aside = _kept_aside(sorted(photographed), held_out)
    paths.sort(key=lambda path: path.stem in kept_aside)
    number = sum(path.stem not in kept_aside for path in paths)
    if not number:
        raise DataError(f"all {len(paths)} images of {folder} are kept aside; some are needed to learn from")
    pictures = _pictures(folder, paths, [photographed[path.stem] for path in paths], progress)
    train, test = pictures.select(range(number)), pictures.select(range(number, len(paths)))
    return PictureData(name, train, test, digest_of([train, test]))


def images_in(folder: Path) -> Iterator[Path]:
    """The image files in a folder and all folders inside; hidden ones are passed over."""
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix.lower() in SUFFIXES and path.is_file() and not hidden:
            yield path


# Scenes


def seen_scenes(path: Path, wanted: Collection[str] | None = None) -> Iterator[tuple[Scene, Camera]]:
    """The scenes of a file, each with its camera; those of images with the `wanted` stems, or all."""
    seen: set[str] = set()
    for index, value in elements(path, "scenes"):
        name = value.get("image_filename") if isinstance(value, dict) else None
        stem = Path(name).stem if isinstance(name, str) else ""
        if wanted is not None and stem not in wanted:
            continue
        with naming(f"{path}: scene {index}"):
            scene = as_scene(value)
            if not stem or stem in seen:
                raise DataError(f"image_filename is {scene.name!r}; each scene needs one of its own")
            camera = camera_of(value, scene)
        seen.add(stem)
        yield scene, camera


FARTHEST, LEAST_ASIDE = 1e3, 1.0
"""The largest coordinate of a camera, and its least distance from the vertical axis, which has no right."""


def camera_of(value: dict[str, Any], scene: Scene) -> Camera:
    """The camera of a scene, given or fitted to pixel coordinates."""
    if "camera_location" not in value:
        return fitted_camera(scene)
    given = vector(Field(value["camera_location"], "camera_location"))
    stated = f"camera_location is {shown(value['camera_location'])}"
    if max(map(abs, given)) > FARTHEST or given[2] <= 0:
        raise DataError(f"{stated}; numbers up to {FARTHEST:.0f} are needed, the last above 0")
    if hypot(*given[:2]) < LEAST_ASIDE:
        raise DataError(
            f"{stated}, above the origin that it looks at; it must stand {LEAST_ASIDE:.0f} or more aside"
        )
    told = [thing for thing in scene.things if any(thing.pixel)]  # missing pixels are zero
    with np.errstate(all="ignore"):
        missed = np.abs(misses(np.array(given), told)[:, :2]).max() if told else 0.0
    if not missed <= TOLERANCE:
        raise DataError(
            f"{stated}, and from there the objects of {scene.name!r} show {missed:.1f} pixels from where "
            f"their pixel_coords say, more than the {TOLERANCE:.0f} of rounding; leave one of them out"
        )
    return given


# Parts


def _kept_aside(stems: Sequence[str], listing: Path | None) -> set[str]:
    """The stems of the test part: from a list, from NGS's own list, or a seeded tenth."""
    if listing is None:
        ours = {Path(line).stem for line in held_out_names()} & set(stems)
        return ours or {stems[k] for k in deal(len(stems), TEST_SHARE, seed=0)[0]}
    try:
        wanted = {Path(line).stem for line in _lines(listing.read_text(encoding="utf-8"))}
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{listing} cannot be read: {error}; give a text file with a name on each line"
        ) from None
    if not wanted:
        raise DataError(f"{listing} names no image; put the name of an image on each line")
    missing = sorted(wanted - set(stems))
    if missing:
        raise DataError(f"{listing} names images that are not there:\n{listed(missing)}")
    return wanted


def held_out_names() -> list[str]:
    """The released CLEVR images that are kept aside: every fifth of 200."""
    data = files("ngs.tasks.clevr").joinpath("data")
    return _lines(data.joinpath("held_out_pictures.txt").read_text(encoding="utf-8"))


def _lines(text: str) -> list[str]:
    lines = map(str.strip, text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


# What shows


def _pictures(
    folder: Path,
    paths: Sequence[Path],
    photographed: Sequence[tuple[Scene, Camera]],
    progress: Callable[[int, int], None],
) -> Pictures:
    images = files_of(read_encoded(path) for path in paths)
    scenes, places = zip(*photographed, strict=True)
    cameras = torch.tensor(places, dtype=torch.float32)
    names = tuple(path.relative_to(folder).as_posix() for path in paths)
    found = []
    for first in range(0, len(paths), AT_ONCE):
        chosen = slice(first, first + AT_ONCE)
        found.append(boxes(instances(scenes[chosen], cameras[chosen])))
        progress(min(chosen.stop, len(paths)), len(paths))
    around, visible = (torch.cat(parts) for parts in zip(*found, strict=True))
    blank = [name for k, name in enumerate(names) if scenes[k].things and not visible[k].any()]
    if blank:
        raise DataError(
            f"{folder}: the scenes of {len(blank)} images have objects, and none of them shows from where "
            f"the camera stands; correct camera_location or 3d_coords, or take these out:\n{listed(blank)}"
        )
    return Pictures(images, scenes, names, cameras, around, visible)
