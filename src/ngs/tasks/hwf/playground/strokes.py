"""A drawing by its strokes: those of a formula that the page writes, and the ink that strokes leave.

Strokes are drawn by a thin pen, in one size whatever the canvas, and cropped to the ink. So a large canvas
costs nothing, and a drawing is read while somebody writes.
"""

from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image, ImageDraw

from ngs.errors import DataError
from ngs.tasks.hwf.formula_reading import Seen
from ngs.tasks.hwf.handwriting import neat
from ngs.tasks.hwf.segmentation import LEAST_SIZE, Mask, Network, Points, page_of, read_page

Stroke = Sequence[Sequence[float]]
"""Where the pen went between touching the canvas and leaving it: x and y in its pixels, y downwards."""

UNIT = 64  # pixels of a symbol in the drawing that is read; the network's images have 45
PEN = 3  # pixels of the pen there: thin, so that strokes which only come near each other do not touch
DOT = 7  # pixels of a dot there: what is much smaller is taken for a speck
MOST_PIXELS = 250_000  # of the drawing that is read: thirty symbols side by side
LINE, TALL, GAP = 0.76, 0.44, 0.38
"""Of a written formula: its base line and the most of a digit, as shares of the canvas's height; and the
space between symbols, as a share of a digit."""
EVERY = 4  # of a neat symbol's dabs, that a pen goes through


def written(formula: Sequence[str], width: float, height: float) -> list[list[list[float]]]:
    """The strokes of a formula in the middle of a canvas, in a neat hand."""
    boxes = [(0.62, 0.62) if symbol in "+-*/" else (0.66, 1.0) for symbol in formula]
    units = sum(across for across, _ in boxes) + GAP * (len(boxes) - 1)
    tall = min(TALL * height, 0.9 * width / units)
    left, middle = (width - tall * units) / 2, LINE * height - tall / 2
    strokes = []
    for symbol, box in zip(formula, boxes, strict=True):
        size, place = torch.tensor(box) * tall, torch.tensor([left + box[0] * tall / 2, middle])
        strokes += [
            (line[::EVERY] * size + place).double().round(decimals=1).tolist() for line in neat(symbol)
        ]
        left += tall * (box[0] + GAP)
    return strokes


def seen_in(strokes: Sequence[Stroke], network: Network) -> Seen:
    """The likeliest symbols of a drawing, and their scores; the boxes are in pixels of the canvas."""
    return read_page(page_of(*inked(strokes)), network)


def inked(strokes: Sequence[Stroke]) -> tuple[Mask, float, tuple[int, int]]:
    """The strokes drawn anew, so large that a symbol has UNIT pixels; how many these are for each of the
    canvas, and where they begin there: x and y."""
    lines = [np.array(stroke, dtype=np.float64) for stroke in strokes if len(stroke)]
    if not lines:
        raise DataError("nothing is drawn yet; write a formula of digits and + - × ÷")
    sizes = np.array([float(np.ptp(line, axis=0).max()) for line in lines])
    if sizes.max() < LEAST_SIZE:
        raise DataError(
            f"the largest stroke is {sizes.max():.0f} pixels long, and at least {LEAST_SIZE} are needed; "
            f"write larger"
        )
    points = np.concatenate(lines)
    low, extent = points.min(0), np.ptp(points, axis=0)
    scale = UNIT / float(np.median(sizes[2 * sizes >= sizes.max()]))
    scale = min(scale, (MOST_PIXELS / float((extent + 1 / scale).prod())) ** 0.5)
    width, height = (np.ceil(extent * scale).astype(int) + 2 * DOT + 1).tolist()  # DOT: a margin
    image = Image.new("L", (width, height))
    pen = ImageDraw.Draw(image)
    for line, size in zip(lines, sizes, strict=True):
        _draw(pen, (line - low) * scale + DOT, size * scale)
    left, top = np.rint(low - DOT / scale).astype(int).tolist()
    return np.asarray(image) > 0, scale, (left, top)


def _draw(pen: ImageDraw.ImageDraw, line: Points, size: float) -> None:
    if size < DOT:  # a ring: nothing of a disc is left but a pixel where only the middle of the ink counts
        (x, y), radius = line.mean(0).tolist(), DOT // 2
        pen.ellipse([x - radius, y - radius, x + radius, y + radius], outline=255)
    else:
        corners = [(x, y) for x, y in line.tolist()]
        pen.line(corners, fill=255, width=PEN, joint="curve")
        pen.line(corners, fill=255)  # a wide line leaves out what is shorter than a pixel
