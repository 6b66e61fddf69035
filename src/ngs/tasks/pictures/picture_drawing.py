"""Objects drawn on the picture they were seen in: a box around each, its number and what it is."""

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ngs.errors import NGSError
from ngs.learning.whole_file import replacing
from ngs.tasks.clevr.program_text import description
from ngs.tasks.clevr.scenes import COLORS
from ngs.tasks.pictures.picture_file import as_image
from ngs.tasks.pictures.seen_scene import SeenPicture

SCALE = 2  # of the drawing, so that its words can be read
LETTERS, MARGIN = 15, 3  # in pixels of the drawing
THIN, THICK = 2, 6
BEHIND_WORDS = "#1f2328"


def annotated(given: SeenPicture, marked: Collection[int] = ()) -> Image.Image:
    """The picture with its objects; boxes of `marked` ones are thick."""
    picture = as_image(given.picture)
    drawing = picture.resize((SCALE * picture.width, SCALE * picture.height), Image.Resampling.LANCZOS)
    pen = ImageDraw.Draw(drawing)
    font = ImageFont.load_default(LETTERS)
    boxes = [[SCALE * side for side in box] for box in given.seen.boxes.tolist()]
    for k, (box, thing) in enumerate(zip(boxes, given.scene.things, strict=True)):
        pen.rectangle(
            _inside(box, drawing), outline=COLORS[thing.color], width=THICK if k in marked else THIN
        )
    words = [f"{k + 1} {description(thing)}" for k, thing in enumerate(given.scene.things)]
    extents = [pen.textbbox((MARGIN, MARGIN), text, font=font) for text in words]
    sizes = [(right + MARGIN, bottom + MARGIN) for _, _, right, bottom in extents]
    places = places_of_labels(boxes, sizes, drawing.size)
    for text, (x, y), (width, height) in zip(words, places, sizes, strict=True):
        pen.rectangle((x, y, x + width - 1, y + height - 1), fill=BEHIND_WORDS)
        pen.text((x + MARGIN, y + MARGIN), text, fill="white", font=font)
    return drawing


def check_picture(path: Path | None) -> None:
    if path is not None and path.suffix.lower() != ".png":
        raise NGSError(f"{path} would be a PNG file; give --picture a name that ends in .png")


def write_annotated(path: Path, seen: SeenPicture, marked: Collection[int] = ()) -> None:
    """Write the annotated picture as a PNG file, whole or not at all."""
    with replacing(path) as stage:
        annotated(seen, marked).save(stage, format="PNG")


def places_of_labels(
    boxes: Sequence[Sequence[float]], sizes: Sequence[tuple[float, float]], picture: tuple[int, int]
) -> list[tuple[float, float]]:
    """The upper left corner of each label: above its box, or at the nearest free height in the picture."""
    taken: list[tuple[float, float, float, float]] = []
    for box, (width, height) in zip(boxes, sizes, strict=True):
        most = (picture[0] - width, picture[1] - height)
        x, above = np.clip((box[0], box[1] - height), 0, most).tolist()
        rows = sorted(range(int(most[1]) + 1), key=lambda y: abs(y - above))
        free = (
            y
            for y in rows
            if not any(
                x < right and left < x + width and y < bottom and top < y + height
                for left, top, right, bottom in taken
            )
        )
        y = next(free, above)
        taken.append((x, y, x + width, y + height))
    return [(left, top) for left, top, _, _ in taken]


def _inside(box: list[float], drawing: Image.Image) -> tuple[float, float, float, float]:
    """The part of a box inside the picture; at least a point."""
    left, top, right, bottom = np.clip(box, 0, np.tile(drawing.size, 2) - 1).tolist()
    return left, top, max(left, right), max(top, bottom)
