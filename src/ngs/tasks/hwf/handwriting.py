"""Handwriting made up: writers who each have their own hand, and a pen that leaves grey images.

A symbol's shape (`glyphs.toml`) is bent by the writer's habits and, each time anew, by chance; leant, turned,
made to fill the box as the symbols of HWF do, and drawn with round dabs of the pen.

Only additions, products, quotients and square roots are used, one operation at a time, on numbers that
come straight from the bits of the generator: these are exact to the last digit, so that the same seed
gives the same bytes on every machine and with any number of threads.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate, pairwise
from math import dist
from typing import NamedTuple

import torch
from torch import Tensor

from ngs.tasks.hwf.dataset import GRAMMAR, SIDE

# Shapes


class Point(NamedTuple):
    """Where the pen passes, in hundredths of the box, from its upper left corner."""

    x: float
    y: float
    corner: bool = False
    """whether the pen turns sharply here, rather than running through in a curve"""


Stroke = tuple[Point, ...]

Shape = tuple[Stroke, ...]


def stroke(text: str) -> Stroke:
    """A stroke from its points; `!` marks a corner.

    >>> stroke("12,6 84,4! 42,98")[1]
    Point(x=84.0, y=4.0, corner=True)
    """
    points = []
    for word in text.split():
        x, y = word.removesuffix("!").split(",")
        points.append(Point(float(x), float(y), word.endswith("!")))
    return tuple(points)


SHAPES: Mapping[str, tuple[Shape, ...]] = {
    symbol: tuple(tuple(map(stroke, shape.split(";"))) for shape in shapes)
    for symbol, shapes in tomllib.loads((files(__package__) / "glyphs.toml").read_text("utf-8")).items()
}


# The pen

DABS = 256  # dabs of the pen for one symbol: little more than half a pixel apart in the longest

REACH = 2  # how many pixels around its own a dab may colour: enough for a line of 3 pixels

POINTS = max(sum(map(len, shape)) for shapes in SHAPES.values() for shape in shapes)
STROKES = max(len(shape) for shapes in SHAPES.values() for shape in shapes)

WHOLE = 8  # chances for a symbol as a whole: slant, width, turn, size, place, pen, and pressure

CHANCES = 2 * (POINTS + STROKES) + WHOLE
"""Random numbers in one symbol: how far each point and each stroke is off in x and y, then the whole."""

CHUNK = 128  # images drawn at once: about 30 MB


def chances(number: int, generator: torch.Generator) -> Tensor:
    """[number, CHANCES] with mean 0 and variance 1: the sum of three numbers uniform in [-1, 1].

    Nearly normal, but exact on every machine, and never so large that a symbol is torn apart.
    """
    a, b, c = torch.rand(3, number, CHANCES, generator=generator).unbind()
    return 2 * (a + b + c) - MOST


MOST = 3  # no chance is larger


# Shapes as tensors


@dataclass(frozen=True, eq=False)
class Outlines:
    """All shapes of all symbols: where the pen passes, and which points each dab lies between.

    Dab d lies on a cardinal spline. With t in (0, 1) from point 1 to point 2, tangents
    m1 = c (P2 - P0), m2 = c (P3 - P1), and the Hermite polynomials h(t):

        dab = h00 P1 + h01 P2 + h10 m1 + h11 m2
    """

    first: tuple[int, ...]  # [symbol + 1]: the number of each symbol's first shape
    points: Tensor  # [shape, POINTS, 2] in a box of side 1 around the origin
    stroke: Tensor  # int64 [shape, POINTS]: the number of the stroke that each point is on
    neighbours: Tensor
    """int64 [shape, DABS, 4]: P0 P1 P2 P3; at an end or a corner the point itself is taken for the next"""
    hermite: Tensor  # [shape, DABS, 4]: h00 h01 h10 h11


@cache
def outlines() -> Outlines:
    shapes = [shape for symbol in GRAMMAR.symbols for shape in SHAPES[symbol]]
    first = accumulate((len(SHAPES[symbol]) for symbol in GRAMMAR.symbols), initial=0)
    points = torch.zeros(len(shapes), POINTS, 2)
    stroke = torch.zeros(len(shapes), POINTS, dtype=torch.long)
    for k, shape in enumerate(shapes):
        flat = [(point.x / 100 - 0.5, point.y / 100 - 0.5) for line in shape for point in line]
        points[k, : len(flat)] = torch.tensor(flat)
        stroke[k, : len(flat)] = torch.tensor([s for s, line in enumerate(shape) for _ in line])
    neighbours, t = zip(*map(_dabs, shapes), strict=True)
    return Outlines(tuple(first), points, stroke, torch.tensor(neighbours), _hermite(torch.tensor(t)))


def _hermite(t: Tensor) -> Tensor:
    square, cube = t * t, t * t * t
    h01 = 3 * square - 2 * cube
    return torch.stack([1 - h01, h01, cube - 2 * square + t, cube - square], -1)


def _dabs(shape: Shape) -> tuple[list[tuple[int, int, int, int]], list[float]]:
    """For each dab its four points and its t, evenly along the shape."""
    spans: list[tuple[int, int, int, int]] = []
    lengths: list[float] = []
    start = 0
    for line in shape:
        spans += [_neighbours(line, k, start) for k in range(len(line) - 1)]
        lengths += [dist(p[:2], q[:2]) for p, q in pairwise(line)]
        start += len(line)
    neighbours, t = [], []
    for span, count in zip(spans, _shared(DABS, lengths), strict=True):
        neighbours += [span] * count
        t += [(k + 0.5) / count for k in range(count)]
    return neighbours, t


def _neighbours(line: Stroke, k: int, start: int) -> tuple[int, int, int, int]:
    before = k if line[k].corner else max(k - 1, 0)
    after = k + 1 if line[k + 1].corner else min(k + 2, len(line) - 1)
    return start + before, start + k, start + k + 1, start + after


def _shared(number: int, weights: Sequence[float]) -> list[int]:
    """Whole numbers in proportion to the weights that add up to `number`."""
    reached = [0.0, *accumulate(weights)]
    return [b - a for a, b in pairwise(round(number * weight / reached[-1]) for weight in reached)]


def neat(symbol: str) -> list[Tensor]:
    """[dab, 2] of each stroke of a symbol in its first shape, in a box of side 1 around the origin."""
    table = outlines()
    k = table.first[GRAMMAR.encode(symbol)[0]]
    dabs = _spline(table.points[[k]], table.neighbours[[k]], table.hermite[[k]], 0.5)[0]
    strokes = table.stroke[k][table.neighbours[k, :, 1]]
    return [dabs[strokes == number] for number in range(int(strokes.max()) + 1)]


# Writers


@dataclass(frozen=True, eq=False)
class Writer:
    """A hand: what all symbols of one person have in common."""

    shapes: Tensor  # int64 [symbol]: which of the shapes the writer has learnt
    habits: Tensor  # [symbol, POINTS, 2]: how the writer's own shape differs from it
    slant: float  # how far the top leans to the right, for a height of 1
    aspect: float  # width against height
    curvature: float  # c of the spline: 0 is a polygon, 1/2 a Catmull-Rom spline
    pen: float  # width of the line in pixels
    pressure: float  # how much wider or narrower the line may become from beginning to end
    ink: float  # how dark the line is, at most 1
    wobble: float  # how unsteady the hand is: the standard deviation of a point, for a box of 1


HABIT, LEAN, ASPECT, CURVATURE = 0.036, 0.17, 0.12, 0.07  # how much writers differ: standard deviations
RANGES = {"pen": (1.2, 2.6), "ink": (0.75, 1.0), "pressure": (0.0, 0.3), "wobble": (0.014, 0.034)}
"""How much writers differ: from, to."""


def writer(generator: torch.Generator) -> Writer:
    table, symbols = outlines(), len(GRAMMAR.symbols)
    first = torch.tensor(table.first)
    choice = torch.rand(symbols, generator=generator)
    shapes = first[:-1] + (choice * (first[1:] - first[:-1])).long()
    chance = chances(symbols + 1, generator)
    habits = HABIT * _off(chance[:-1], table.stroke[shapes])
    slant, aspect, curvature = chance[-1, :3].tolist()
    ranges = zip(RANGES.values(), torch.rand(len(RANGES), generator=generator).tolist(), strict=True)
    pen, ink, pressure, wobble = (low + (high - low) * u for (low, high), u in ranges)
    return Writer(
        shapes,
        habits,
        slant=0.06 + LEAN * slant,
        aspect=1 + ASPECT * aspect,
        curvature=0.5 + CURVATURE * curvature,
        pen=pen,
        pressure=pressure,
        ink=ink,
        wobble=wobble,
    )


def _off(chance: Tensor, stroke: Tensor) -> Tensor:
    """[image, POINTS, 2]: how far each point is off, together with its stroke and by itself."""
    own = chance[:, : 2 * POINTS].view(-1, POINTS, 2)
    moved = chance[:, 2 * POINTS : 2 * (POINTS + STROKES)].view(-1, STROKES, 2)
    return own + moved.gather(1, stroke.unsqueeze(-1).expand(-1, -1, 2))


# Writing


Dabs = tuple[Tensor, Tensor, Tensor]
"""Of a pen, in pixels from the upper left corner of the paper: their centres [image, dab, 2], x and y, their
radii [image, dab], and how dark they are [image]: 1 is black."""

TILT, TURN, STRETCH, PEN = 0.05, 0.045, 0.06, 0.04
"""How much the symbols of one writer differ: slant, angle, width against height, width of the line."""
SMALLEST = 0.86  # the least of the box that a symbol fills
SHIFT = 1.0  # the distance in pixels of a symbol from the middle, where there is room


def write(writer: Writer, columns: Tensor, chance: Tensor) -> Tensor:
    """uint8 [image, SIDE, SIDE]: the symbols `columns` of the grammar, with one row of `chances` for each.

    >>> generator = torch.Generator().manual_seed(0)
    >>> formula = torch.tensor(GRAMMAR.encode("3*8"))
    >>> write(writer(generator), formula, chances(3, generator)).shape
    torch.Size([3, 45, 45])
    """
    parts = zip(torch.split(columns, CHUNK), torch.split(chance, CHUNK), strict=True)
    return torch.cat([render(*written(writer, *part)) for part in parts])


def written(writer: Writer, columns: Tensor, chance: Tensor) -> Dabs:
    table = outlines()
    shapes = writer.shapes[columns]
    points = table.points[shapes] + writer.habits[columns]
    points = points + writer.wobble * _off(chance, table.stroke[shapes])
    slant, stretch, turn, size, x, y, pen, pressure = chance[:, -WHOLE:].unbind(-1)
    dabs = _spline(points, table.neighbours[shapes], table.hermite[shapes], writer.curvature)
    dabs = _leant(dabs, writer.slant + TILT * slant, writer.aspect + STRETCH * stretch, TURN * turn)
    radii = _radii(writer.pen * (1 + PEN * pen), writer.pressure * pressure / MOST)
    fill = SMALLEST + (1 - SMALLEST) * (size + MOST) / (2 * MOST)
    centres = _in_the_box(dabs, radii.amax(1), fill, SHIFT * torch.stack([x, y], -1))
    return centres, radii, torch.full((len(columns),), writer.ink)


def _radii(pen: Tensor, change: Tensor) -> Tensor:
    """[image, DABS]: of a line that becomes wider or narrower on its way by the part `change`."""
    along = torch.arange(DABS) / (DABS - 1) - 0.5
    width = pen.unsqueeze(-1) * (1 + change.unsqueeze(-1) * along)
    return (width / 2).clamp(max=REACH - 0.5)


def _spline(points: Tensor, neighbours: Tensor, hermite: Tensor, curvature: float) -> Tensor:
    index = neighbours.flatten(1).unsqueeze(-1).expand(-1, -1, 2)
    p0, p1, p2, p3 = points.gather(1, index).view(len(points), DABS, 4, 2).unbind(2)
    h00, h01, h10, h11 = hermite.unsqueeze(-1).unbind(2)
    return h00 * p1 + h01 * p2 + curvature * (h10 * (p2 - p0) + h11 * (p3 - p1))


def _leant(dabs: Tensor, slant: Tensor, aspect: Tensor, turn: Tensor) -> Tensor:
    """The dabs made wider, leant to the right and turned; `turn` is the tangent of half the angle."""
    x, y = dabs.unbind(-1)
    x = aspect.unsqueeze(-1) * x - slant.unsqueeze(-1) * y  # y runs downwards
    norm = 1 + turn * turn
    cos, sin = ((1 - turn * turn) / norm).unsqueeze(-1), (2 * turn / norm).unsqueeze(-1)
    return torch.stack([cos * x - sin * y, sin * x + cos * y], -1)


def _in_the_box(dabs: Tensor, radius: Tensor, fill: Tensor, shift: Tensor) -> Tensor:
    """The dabs scaled so that the longer side fills the part `fill` of the box, near the middle."""
    low, high = dabs.amin(1), dabs.amax(1)
    room = (SIDE - 2 * radius).unsqueeze(-1)
    extent = high - low
    scale = room * fill.unsqueeze(-1) / extent.amax(1, keepdim=True)
    slack = (room - scale * extent) / 2
    middle = SIDE / 2 + shift.clamp(-slack, slack)
    return (dabs - ((low + high) / 2).unsqueeze(1)) * scale.unsqueeze(1) + middle.unsqueeze(1)


def render(centres: Tensor, radii: Tensor, darkness: Tensor) -> Tensor:
    """uint8 [image, SIDE, SIDE], dark on white.

    How far a pixel is covered, with its centre at p:

        max over dabs of  clamp(radius + 1/2 - |p - centre|, 0, 1)
    """
    window = torch.arange(-REACH, REACH + 1)
    pixel = centres.floor().clamp(0, SIDE - 1)
    x, y = ((pixel + 0.5 - centres).unsqueeze(-1) + window).square().unbind(2)
    distance = (y.unsqueeze(-1) + x.unsqueeze(-2)).sqrt()  # [image, dab, window, window]
    covered = ((radii + 0.5)[..., None, None] - distance).clamp(0, 1)
    width = SIDE + 2 * REACH  # with a margin, so that no window leaves the canvas
    column, row = (pixel.long().unsqueeze(-1) + window + REACH).unbind(2)
    place = row.unsqueeze(-1) * width + column.unsqueeze(-2)
    canvas = covered.new_zeros(len(covered), width * width)
    canvas.scatter_reduce_(1, place.flatten(1), covered.flatten(1), "amax")
    paper = canvas.view(-1, width, width)[:, REACH:-REACH, REACH:-REACH]
    return (255 * (1 - darkness[:, None, None] * paper)).round().to(torch.uint8)
