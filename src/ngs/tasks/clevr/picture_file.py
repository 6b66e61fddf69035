"""A picture of a scene from a file: 480x320 pixels in colour, whatever it came as; anything else is refused.

Each message names the file, what was found and what is needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps, UnidentifiedImageError
from torch import Tensor

from ngs.errors import DataError
from ngs.tasks.clevr.scene_sampling import HEIGHT, WIDTH

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff")
"""Of the files in a folder that are taken for pictures."""
FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "TIFF", "GIF", "PPM")

MOST_PIXELS = 20_000_000
"""A photograph has 12 million; decoded, each takes four bytes."""
LEAST_WIDTH = WIDTH // 2
"""A small object is then 15 pixels wide; below that its shape is a guess."""
ASPECT_TOLERANCE = 0.01
"""Of the ratio of width to height: as much as rounding to whole pixels changes."""


def read_picture(path: Path) -> Tensor:
    """uint8 [3, 320, 480]: the picture in a file, resampled where it has another size of the same shape."""
    with _naming(path), _opened(_content(path)) as image:
        _check_shape(*image.size)
        upright = ImageOps.exif_transpose(image)
        _check_shape(*upright.size)
        return as_tensor(_in_colour(upright).resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS))


def read_encoded(path: Path) -> bytes:
    """The bytes of a file for `decoded`; a DataError where it is no picture of this very size."""
    with _naming(path):
        content = _content(path)
        with _opened(content) as image:
            if image.size != (WIDTH, HEIGHT):
                width, height = image.size
                raise DataError(
                    f"it is {width}x{height} pixels, and the pixel coordinates of scenes are those of "
                    f"{WIDTH}x{HEIGHT}; give the pictures as they were rendered"
                )
            _in_colour(image)
        return content


def decoded(content: bytes) -> Tensor:
    """uint8 [3, 320, 480] of what `read_encoded` gave."""
    with Image.open(BytesIO(content), formats=FORMATS) as image:
        return as_tensor(image.convert("RGB"))


def as_tensor(image: Image.Image) -> Tensor:
    """uint8 [3, height, width] of a picture in RGB."""
    return torch.from_numpy(np.asarray(image).transpose(2, 0, 1).copy())


def as_image(picture: Tensor) -> Image.Image:
    """The picture of a tensor uint8 [3, height, width]."""
    return Image.fromarray(picture.permute(1, 2, 0).cpu().numpy())


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors name the file."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise DataError("this is a folder; give one picture" if path.is_dir() else "there is no such file")
    return path.read_bytes()


@contextmanager
def _opened(content: bytes) -> Iterator[Image.Image]:
    """The picture in some bytes, of an acceptable size; whatever a decoder raises becomes a DataError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the decoders: what matters is checked here
            with Image.open(BytesIO(content), formats=FORMATS) as image:
                _check_size(*image.size)
                image.load()
                yield image
    except DataError:
        raise
    except Image.DecompressionBombError:
        raise DataError(f"it is far larger than {MOST_PIXELS:,} pixels; give a smaller picture") from None
    except UnidentifiedImageError:
        raise DataError(f"it is no picture, or none of the kinds {' '.join(FORMATS)}") from None
    except Exception as error:  # decoders of damaged files raise anything
        reason = (str(error).splitlines() or [repr(error)])[0]
        raise DataError(f"the picture is damaged ({reason}); fetch it again, or save it anew") from None


def _check_size(width: int, height: int) -> None:
    if width * height > MOST_PIXELS:
        raise DataError(f"it is {width}x{height} pixels, and at most {MOST_PIXELS:,} are read; scale it down")


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
    red, green, blue = (np.asarray(channel) for channel in picture.split())
    if image.mode in ("1", "L", "LA", "La") or image.mode[0] in "IF" or _equal(red, green, blue):
        raise DataError("it is grey, and colours must be seen; give the picture in colour")
    return picture


def _equal(red: np.ndarray, green: np.ndarray, blue: np.ndarray) -> bool:
    return bool((red == green).all() and (green == blue).all())
