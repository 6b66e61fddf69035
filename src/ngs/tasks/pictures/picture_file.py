"""A picture of a scene from a file: 480x320 pixels in colour. Anything else is resampled or refused."""

from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from PIL import ExifTags, Image, ImageOps
from torch import Tensor

from ngs.errors import DataError
from ngs.tasks.clevr.scene_sampling import HEIGHT, WIDTH
from ngs.tasks.faults import naming
from ngs.tasks.image_file import FORMATS, opened

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff")
LEAST_WIDTH = WIDTH // 2  # a small object is then 15 pixels wide; below that, its shape is a guess
ASPECT_TOLERANCE = 0.01  # of width / height: the effect of rounding to whole pixels
TILES = (30, 20)  # of 16x16 pixels: smaller than a small object, large enough to average noise out
LEAST_SPREAD = 2.4
"""The least `tint_spread` of a picture in colour. Coloured lamps alone give an empty floor 2.5 or more, gray
rubber on it 3 or more, and released images have 7 or more. Grey and sepia prints have at most 1, and 2.2
where they are JPEG files of quality 75."""


def read_picture(path: Path) -> Tensor:
    """uint8 [3, 320, 480]: the picture in a file, resampled where it has another size of the same shape."""
    with naming(path), opened(path) as image:
        upright = ImageOps.exif_transpose(image)
        _check_shape(*upright.size)
        return as_tensor(_in_colour(upright).resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS))


def read_encoded(path: Path) -> bytes:
    """The bytes of a file ; a DataError where it is no picture of this very size."""
    with naming(path):
        with opened(path) as image:
            if image.size != (WIDTH, HEIGHT):
                width, height = image.size
                raise DataError(
                    f"it is {width}x{height} pixels, and the pixel coordinates of scenes are those of "
                    f"{WIDTH}x{HEIGHT}; give the pictures as they were rendered"
                )
            if image.getexif().get(ExifTags.Base.Orientation, 1) != 1:
                raise DataError("it is stored turned or mirrored (Exif); save it upright, without that note")
            _in_colour(image)
        return path.read_bytes()


def pixels_of(image: Tensor) -> Tensor:
    """uint8 [3, 320, 480]: what the bytes that `read_encoded` gave show; pixels stay as they are."""
    if image.dim() == 3:
        return image
    with Image.open(BytesIO(image.numpy().data), formats=FORMATS) as file:
        return as_tensor(file.convert("RGB"))


def as_tensor(image: Image.Image) -> Tensor:
    """uint8 [3, height, width] of a picture in RGB."""
    return torch.from_numpy(np.asarray(image).transpose(2, 0, 1).copy())


def as_image(picture: Tensor) -> Image.Image:
    """The picture of a tensor uint8 [3, height, width]."""
    return Image.fromarray(picture.permute(1, 2, 0).cpu().numpy())


def _check_shape(width: int, height: int) -> None:
    if abs(width * HEIGHT / (height * WIDTH) - 1) > ASPECT_TOLERANCE:
        raise DataError(
            f"it is {width}x{height} pixels, and pictures of {WIDTH}x{HEIGHT} or of the same shape, 3 to 2, "
            f"are understood; cut it to that shape"
        )
    if width < LEAST_WIDTH:
        raise DataError(
            f"it is {width}x{height} pixels, too few to tell objects apart; give {WIDTH}x{HEIGHT}"
        )


def _in_colour(image: Image.Image) -> Image.Image:
    """In RGB. Colours are half of what a scene says, so a grey picture would be misread, not read."""
    if image.has_transparency_data:
        picture = image.convert("RGBA")
        if picture.getchannel("A").getextrema()[0] != 255:
            raise DataError("parts of it are transparent; put it on its background and save it without alpha")
        image = picture
    picture = image.convert("RGB")
    if image.mode in ("1", "L", "LA", "La") or image.mode[0] in "IF" or tint_spread(picture) < LEAST_SPREAD:
        raise DataError(
            "it is grey, or of one tint throughout, and colours must be seen; give the picture in colour"
        )
    return picture


def tint_spread(picture: Image.Image) -> float:
    """The distance of a picture's colours from shades of one colour, in levels of 255.

    The tint is the unit vector u that explains the mean colours c of TILES best: the first singular vector.
    The result is the 99% quantile over tiles of max |c - (c . u) u|, which ignores odd pixels and noise.
    """
    tiles = np.asarray(picture.resize(TILES, Image.Resampling.BOX), dtype=np.float64).reshape(-1, 3)
    tint = np.linalg.svd(tiles, full_matrices=False)[2][0]
    return float(np.quantile(np.abs(tiles - np.outer(tiles @ tint, tint)).max(1), 0.99))
