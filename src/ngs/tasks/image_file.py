"""An image file that someone gives, decoded safely: whatever is wrong with it becomes a DataError."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from ngs.errors import DataError

FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "TIFF", "GIF", "PPM")
MOST_PIXELS, LONGEST_SIDE = 20_000_000, 20_000
"""A photograph has 12 million pixels; decoded, each takes four bytes."""


@contextmanager
def opened(path: Path) -> Iterator[Image.Image]:
    """The picture in a file, after a check of its size; all errors of decoders become a DataError."""
    if not path.is_file():
        raise DataError("this is a folder; give one picture" if path.is_dir() else "there is no such file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the decoders
            with path.open("rb") as file, Image.open(file, formats=FORMATS) as image:
                width, height = image.size
                if width * height > MOST_PIXELS or max(width, height) > LONGEST_SIDE:
                    raise DataError(
                        f"it is {width}x{height} pixels, and at most {MOST_PIXELS:,} in all are read, and "
                        f"{LONGEST_SIDE:,} on a side; make it smaller, or cut out what matters"
                    )
                image.load()
                yield image
    except DataError:
        raise
    except Image.DecompressionBombError:
        raise DataError(f"it is far larger than {MOST_PIXELS:,} pixels; give a smaller picture") from None
    except UnidentifiedImageError:
        raise DataError(f"it is no picture, or none of the kinds {' '.join(FORMATS)}") from None
    except Exception as error:  # decoders of damaged files raise anything
        if isinstance(error, OSError) and error.errno is not None:  # the disk's fault, not the picture's
            raise DataError(f"it cannot be read: {error.strerror}") from None
        reason = (str(error).splitlines() or [repr(error)])[0]
        raise DataError(f"the picture is damaged ({reason}); fetch it again, or save it anew") from None
