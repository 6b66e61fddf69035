"""Formulas from image files: a strip or a folder of symbol images, or a picture of one handwritten line.

Whatever the colours and the size, what comes out are the images the networks are trained on: dark strokes
on white, SIDE x SIDE pixels, a symbol each. Each message names the file, what was found and what is needed.
"""

import re
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from ngs.errors import DataError
from ngs.tasks.faults import naming
from ngs.tasks.hwf.dataset import SIDE
from ngs.tasks.hwf.formula_reading import MOST_SYMBOLS, Box, Seen
from ngs.tasks.hwf.segmentation import (
    LEAST_CONTRAST,
    Grey,
    Network,
    as_symbol,
    is_light_on_dark,
    log_probs_of,
    pieces_of,
    read_page,
)
from ngs.tasks.image_file import opened


def read_formula(path: Path, network: Network, *, line: bool | None = None) -> Seen:
    """The symbols of the folder or picture at `path`, as many as a formula may have.

    A picture of SIDE x n SIDE pixels is a strip, any other one a line of handwriting, which the network
    cuts; `line` says what it is where that guess is wrong.
    """
    with naming(path):
        seen = _read(path, network, line)
        if seen.no_formula:
            raise DataError(seen.no_formula)
        return seen


def _read(path: Path, network: Network, line: bool | None) -> Seen:
    if path.is_dir():
        images = _in_folder(path)
        return Seen(images, log_probs_of(network, images))
    grey = load_picture(path)
    strip = grey.shape[0] == SIDE and grey.shape[1] % SIDE == 0 if line is None else not line
    if not strip:
        return read_page(pieces_of(grey), network)
    images, boxes = _in_strip(grey)
    return Seen(images, log_probs_of(network, images), boxes)


def _in_strip(grey: Grey) -> tuple[Tensor, tuple[Box, ...]]:
    height, width = grey.shape
    if width % height:
        raise DataError(
            f"it is {width}x{height} pixels, and a strip is a row of squares, such as {3 * SIDE}x{SIDE}; "
            f"--line reads one line of handwriting"
        )
    lefts = range(0, width, height)
    cells = []
    for number, left in enumerate(lefts, 1):
        try:
            cells.append(_symbol(grey[:, left : left + height]))
        except DataError as error:
            raise DataError(
                f"symbol {number} of {len(lefts)}: {error}; --line reads one line of handwriting"
            ) from None
    return torch.stack(cells), tuple(Box(left, 0, left + height, height) for left in lefts)


def _in_folder(path: Path) -> Tensor:
    """Its files in the order of their names, 2 before 10; hidden ones are passed over."""
    files = [file for file in path.iterdir() if not file.name.startswith(".")]
    if not files:
        raise DataError("there are no images in this folder; put one for each symbol into it")
    if len(files) > MOST_SYMBOLS:
        raise DataError(
            f"there are {len(files)} files in this folder, and a formula may have at most {MOST_SYMBOLS} "
            f"symbols; give the folder of one formula"
        )
    images = []
    for file in sorted(files, key=lambda file: natural_order(file.name)):
        with naming(file.name):
            images.append(_symbol(load_picture(file)))
    return torch.stack(images)


def natural_order(name: str) -> tuple[list[Any], str]:
    """A key that sorts numbers in names by what they are.

    >>> sorted(["x10.png", "x2.png", "X1.png"], key=natural_order)
    ['X1.png', 'x2.png', 'x10.png']
    """
    parts = re.split("([0-9]+)", name.casefold())  # text and numbers alternate
    return [int(part) if k % 2 else part for k, part in enumerate(parts)], name


def _symbol(grey: Grey) -> Tensor:
    if grey.shape != (SIDE, SIDE):
        return as_symbol(grey)
    if int(grey.max()) - int(grey.min()) < LEAST_CONTRAST:
        raise DataError("there is no ink in it")
    return torch.from_numpy(grey.copy())


def load_picture(path: Path) -> Grey:
    """The picture in a file in grey, dark on light, whatever it was."""
    with opened(path) as image:
        grey = _grey(ImageOps.exif_transpose(image))
    return 255 - grey if is_light_on_dark(grey) else grey


def _grey(image: Image.Image) -> Grey:
    """As seen on white paper; where nothing can be seen on white, on black."""
    if image.mode[0] in "IF":  # 16 or 32 bits, whose white is nowhere written down
        levels = np.asarray(image, dtype=np.float64)
        white = next(level for level in (1, 255, 65535, inf) if levels.max() <= level)
        return (levels / white * 255).clip(0, 255).astype(np.uint8)
    if not image.has_transparency_data:
        return np.asarray(image.convert("L"))
    picture = image.convert("RGBA")
    for paper in ("white", "black"):
        background = Image.new("RGBA", picture.size, paper)
        grey = np.asarray(Image.alpha_composite(background, picture).convert("L"))
        if int(grey.max()) - int(grey.min()) >= LEAST_CONTRAST:
            break
    return grey
