"""Where imported pictures come from: a packed file."""

from __future__ import annotations

from ngs.tasks.pictures import picture_packed
from ngs.tasks.pictures.picture_data import PictureData
from ngs.tasks.pictures.rendered_pictures import RENDERED
from ngs.tasks.source import packed_file


def imported(source: str) -> PictureData:
    """The data set of a packed file."""
    return picture_packed.read(packed_file(source, RENDERED, "FOLDER", options=" --scenes FILE"))
