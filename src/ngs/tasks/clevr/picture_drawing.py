"""Objects drawn on the picture they were seen in: a box around each, its number and what it is."""

from __future__ import annotations

from collections.abc import Collection

from PIL import Image, ImageDraw, ImageFont

from ngs.reasoning.scenes import COLORS
from ngs.tasks.clevr.picture_file import as_image
from ngs.tasks.clevr.program_text import description
from ngs.tasks.clevr.scene_reading import SeenPicture

SCALE = 2
"""The drawing is so much larger than the picture, for the words to be read."""
LETTERS, MARGIN = 15, 3
"""Pixels of the drawing."""
THIN, THICK = 2, 6
BEHIND_WORDS = "#1f2328"


def annotated(given: SeenPicture, marked: Collection[int] = ()) -> Image.Image:
    """The picture with what was seen in it; boxes of `marked` objects are thick."""
    picture = as_image(given.picture)
    drawing = picture.resize((SCALE * picture.width, SCALE * picture.height), Image.Resampling.LANCZOS)
    pen = ImageDraw.Draw(drawing)
    font = ImageFont.load_default(LETTERS)
    boxes = [[SCALE * side for side in box] for box in given.seen.boxes.tolist()]
    for k, (box, thing) in enumerate(zip(boxes, given.scene.things, strict=True)):
        pen.rectangle(
            _inside(box, drawing), outline=COLORS[thing.color], width=THICK if k in marked else THIN
        )
    for k, (box, thing) in enumerate(zip(boxes, given.scene.things, strict=True)):
        _label(pen, font, f"{k + 1} {description(thing)}", box, drawing)
    return drawing


def _inside(box: list[float], drawing: Image.Image) -> tuple[float, float, float, float]:
    """The box without what is outside of the picture; at least a point."""
    left, top = (min(max(side, 0), most - 1) for side, most in zip(box[:2], drawing.size, strict=True))
    right, bottom = (min(side, most - 1) for side, most in zip(box[2:], drawing.size, strict=True))
    return left, top, max(left, right), max(top, bottom)


def _label(
    pen: ImageDraw.ImageDraw,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
    text: str,
    box: list[float],
    drawing: Image.Image,
) -> None:
    """Words above the box, moved into the picture where they would leave it."""
    left, top, right, bottom = pen.textbbox((0, 0), text, font=font)
    width, height = right - left + 2 * MARGIN, bottom - top + 2 * MARGIN
    x = min(max(box[0], 0), drawing.width - width)
    y = min(max(box[1] - height, 0), drawing.height - height)
    pen.rectangle((x, y, x + width, y + height), fill=BEHIND_WORDS)
    pen.text((x + MARGIN - left, y + MARGIN - top), text, fill="white", font=font)
