"""Where pictures come from: rendered on the spot, or a packed file."""

from __future__ import annotations

from pathlib import Path

from ngs.errors import DataError
from ngs.tasks.pictures import picture_packed
from ngs.tasks.pictures.picture_data import PictureData
from ngs.tasks.pictures.rendered_pictures import RENDERED


def imported(source: str) -> PictureData:
    """The data set of a packed file."""
    path = Path(source)
    if not path.exists():
        raise DataError(
            f"{source}: there is no such file; give {RENDERED!r}, or what "
            f"`ngs data import FOLDER --scenes FILE` made"
        )
    if path.is_dir():
        raise DataError(f"{source} is not packed yet; first `ngs data import {source} --scenes FILE`")
    return picture_packed.read(path)
