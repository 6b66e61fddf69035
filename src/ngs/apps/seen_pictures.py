"""A picture that someone gives, seen, and what was seen drawn on it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from ngs.errors import NGSError
from ngs.experiments.scenes import load_scene_reader
from ngs.learning.whole_file import replacing
from ngs.tasks.pictures.picture_drawing import annotated
from ngs.tasks.pictures.picture_file import read_picture
from ngs.tasks.pictures.scene_reading import SeenPicture


def seen_with(image: Path | None, eyes: Path | None) -> SeenPicture:
    """What the network of a run sees in a picture; both must be given."""
    if image is None:
        raise NGSError("--eyes and --picture are for a picture; give --image as well")
    if eyes is None:
        raise NGSError(
            f"--image is {image}, and nobody looks at it; give --eyes as well: a run of "
            f"`ngs train scenes`, or a file of `ngs weights`"
        )
    return load_scene_reader(eyes).read(read_picture(image), image.name)


def write_annotated(path: Path, seen: SeenPicture, marked: Collection[int] = ()) -> None:
    """The picture with what was seen in it, as a PNG file, whole or not at all."""
    with replacing(path) as stage:
        annotated(seen, marked).save(stage, format="PNG")
