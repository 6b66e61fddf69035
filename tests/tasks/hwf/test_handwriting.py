"""The strokes follow their shapes, the pen is drawn as its formula says, and writers can be told apart."""

from dataclasses import replace
from itertools import pairwise
from math import dist

import pytest
import torch
from torch import Tensor

from ngs.tasks.hwf import handwriting
from ngs.tasks.hwf.dataset import GRAMMAR, SIDE, as_ink
from ngs.tasks.hwf.handwriting import (
    CHANCES,
    CHUNK,
    POINTS,
    SHAPES,
    Writer,
    chances,
    outlines,
    render,
    stroke,
    write,
    writer,
    written,
)

SYMBOLS = GRAMMAR.symbols
ALL = torch.arange(len(SYMBOLS))


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def copybook(shape: int = 0) -> Writer:
    """Someone who writes shape number `shape` of every symbol, or its last, exactly as it is in the table."""
    shapes = [min(first + shape, end - 1) for first, end in pairwise(outlines().first)]
    return Writer(
        torch.tensor(shapes),
        habits=torch.zeros(len(SYMBOLS), POINTS, 2),
        slant=0.0,
        aspect=1.0,
        curvature=0.5,
        pen=2.0,
        pressure=0.0,
        ink=1.0,
        wobble=0.0,
    )


def exactly(writer: Writer, symbols: str) -> Tensor:
    """Ink [image, SIDE, SIDE] of symbols written without chance."""
    columns = torch.tensor(GRAMMAR.encode(symbols))
    return as_ink(write(writer, columns, torch.zeros(len(columns), CHANCES))).squeeze(1)


@pytest.fixture(scope="module")
def crowd() -> Tensor:
    """uint8 [writer, time, symbol, SIDE, SIDE]: every symbol twice by thirty writers."""
    sources = [generator(seed) for seed in range(30)]
    twice = ALL.repeat(2)
    images = [write(writer(source), twice, chances(len(twice), source)) for source in sources]
    return torch.stack(images).view(30, 2, len(ALL), SIDE, SIDE)


def sizes(images: Tensor) -> tuple[Tensor, Tensor]:
    """Height and width of the ink in images [image, SIDE, SIDE]."""
    dark = images < 160

    def extent(lines: Tensor) -> Tensor:
        return SIDE - lines.int().argmax(-1) - lines.flip(-1).int().argmax(-1)

    return extent(dark.any(2)), extent(dark.any(1))


# Shapes


def test_every_symbol_has_shapes_inside_the_box() -> None:
    assert set(SHAPES) == set(SYMBOLS)
    for shapes in SHAPES.values():
        assert len(set(shapes)) == len(shapes) >= 3
        for line in (line for shape in shapes for line in shape):
            assert len(line) >= 2
            assert all(0 <= point.x <= 100 and 0 <= point.y <= 100 for point in line)


def test_no_two_shapes_look_the_same() -> None:
    images = {
        exactly(copybook(shape), symbol).numpy().tobytes()
        for symbol in SYMBOLS
        for shape in range(len(SHAPES[symbol]))
    }
    assert len(images) == sum(map(len, SHAPES.values()))


def test_the_pen_passes_all_points_and_never_jumps_within_a_stroke() -> None:
    table = outlines()
    dabs = handwriting._spline(table.points, table.neighbours, table.hermite, 0.5)
    strokes = table.stroke.gather(1, table.neighbours[..., 1])
    shapes = [shape for symbol in SYMBOLS for shape in SHAPES[symbol]]
    for shape, points, path, on in zip(shapes, table.points, dabs, strokes, strict=True):
        real = points[: sum(map(len, shape))]
        assert torch.cdist(real, path).amin(1).max() < 0.015
        steps = (path[1:] - path[:-1]).norm(dim=1)
        assert steps[on[1:] == on[:-1]].max() < 0.025
        assert set(on.tolist()) == set(range(len(shape)))


@pytest.mark.parametrize("text, off", [("0,0 100,0! 100,100", 0.0), ("0,0 100,0 100,100", 0.05)])
def test_a_corner_is_sharp_and_another_point_is_not(text: str, off: float) -> None:
    line = stroke(text)
    neighbours, t = handwriting._dabs((line,))
    points = torch.tensor([[point[:2] for point in line]]) / 100
    hermite = handwriting._hermite(torch.tensor([t]))
    x, y = handwriting._spline(points, torch.tensor([neighbours]), hermite, 0.5)[0].unbind(1)
    assert torch.minimum(y.abs(), (x - 1).abs()).max() == pytest.approx(off, abs=0.03)


# The pen


def test_an_image_is_the_formula_pixel_by_pixel() -> None:
    source = generator()
    centres = SIDE * torch.rand(3, 4, 2, generator=source)
    radii = 0.4 + 1.1 * torch.rand(3, 4, generator=source)
    darkness = torch.tensor([1.0, 0.8, 0.5])
    images = render(centres, radii, darkness)
    assert images.dtype == torch.uint8
    for k, image in enumerate(images.tolist()):
        dabs = list(zip(centres[k].tolist(), radii[k].tolist(), strict=True))
        for row in range(SIDE):
            for column in range(SIDE):
                pixel = (column + 0.5, row + 0.5)
                covered = max(min(max(radius + 0.5 - dist(pixel, at), 0), 1) for at, radius in dabs)
                assert image[row][column] == pytest.approx(255 * (1 - float(darkness[k]) * covered), abs=0.51)


@pytest.mark.parametrize("pen", [1.2, 2.0, 2.6])
def test_a_line_is_as_wide_as_the_pen(pen: float) -> None:
    minus = exactly(replace(copybook(), pen=pen), "-")[0]
    assert minus[:, 10:-10].sum(0).mean() == pytest.approx(pen, abs=0.1)


def test_the_ink_is_as_dark_as_it_is() -> None:
    assert exactly(replace(copybook(), ink=0.8), "8").max() == pytest.approx(0.8, abs=0.01)


def test_pressure_changes_the_line_on_its_way() -> None:
    chance = torch.zeros(1, CHANCES)
    chance[:, -1] = 3  # pressing harder and harder
    minus = torch.tensor(GRAMMAR.encode("-"))
    image = as_ink(write(replace(copybook(), pressure=0.6), minus, chance))[0, 0]
    assert image[:, 35:40].sum() > 1.3 * image[:, 5:10].sum()


# Writers


def test_a_slant_leans_to_the_right_and_an_aspect_widens() -> None:
    one = exactly(replace(copybook(), slant=0.3), "1")[0]
    across = torch.arange(SIDE) + 0.5
    top, bottom = (
        (one[rows].sum(0) * across).sum() / one[rows].sum() for rows in (slice(12), slice(-12, None))
    )
    assert top - bottom > 5
    widths = [int(sizes(255 * (1 - exactly(replace(copybook(), aspect=a), "3")))[1]) for a in (0.6, 1.0)]
    assert widths[0] < 0.75 * widths[1]


def test_symbols_are_dark_on_white_and_fill_the_box(crowd: Tensor) -> None:
    images = crowd.flatten(0, 2)
    assert images.dtype == torch.uint8 and images.shape[1:] == (SIDE, SIDE)
    assert (images == 255).float().mean((1, 2)).min() > 0.7
    assert images.amin((1, 2)).max() < 255 * (1 - 0.7 * 0.9)
    dark = (images < 128).float().mean((1, 2))
    assert dark.min() > 0.01 and dark.max() < 0.2
    height, width = sizes(images)
    longer = torch.maximum(height, width)
    assert longer.min() >= 34 and longer.float().mean() > 39


def test_symbols_have_the_proportions_of_their_kind(crowd: Tensor) -> None:
    height, width = (each.view(-1, len(SYMBOLS)).float() for each in sizes(crowd.flatten(0, 2)))
    flat, tall = GRAMMAR.symbol_id("-"), GRAMMAR.symbol_id("1")
    assert (width / height)[:, flat].min() > 1.5
    assert (height / width)[:, tall].median() > 1.5
    rows = crowd[:, :, flat].lt(128).any(-1)
    assert not rows[..., :8].any() and not rows[..., -8:].any()


def test_nobody_writes_a_symbol_twice_alike_but_more_alike_than_others_do(crowd: Tensor) -> None:
    blurred = torch.nn.functional.avg_pool2d(as_ink(crowd.flatten(0, 2)).squeeze(1), 5)
    hands = blurred.view(len(crowd), 2, len(SYMBOLS), -1)
    own = (hands[:, 0] - hands[:, 1]).norm(dim=-1)
    other = (hands[:, 0] - hands[:, 1].roll(1, 0)).norm(dim=-1)
    assert own.min() > 0
    assert (own.mean(0) < 0.9 * other.mean(0)).all()


def test_all_shapes_are_in_use() -> None:
    used = torch.cat([writer(generator(seed)).shapes for seed in range(100)])
    assert set(used.tolist()) == set(range(outlines().first[-1]))


# Chance


def test_chances_are_of_variance_one_and_bounded() -> None:
    chance = chances(2_000, generator())
    assert chance.mean() == pytest.approx(0, abs=0.01)
    assert chance.var() == pytest.approx(1, abs=0.01)
    assert 2.5 < chance.abs().max() <= 3


def test_a_symbol_has_the_same_bytes_alone_in_a_crowd_and_on_many_threads() -> None:
    hand = writer(generator(1))
    number = 2 * CHUNK + 5
    columns = torch.randint(len(SYMBOLS), (number,), generator=generator(2))
    chance = chances(number, generator(3))
    images = write(hand, columns, chance)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert torch.equal(write(hand, columns, chance), images)
    finally:
        torch.set_num_threads(before)
    for k in (0, CHUNK, number - 1):
        assert torch.equal(write(hand, columns[k : k + 1], chance[k : k + 1])[0], images[k])
    assert torch.equal(render(*written(hand, columns, chance)), images)


def test_another_seed_is_another_writer() -> None:
    one, other = (write(writer(generator(s)), ALL, chances(len(ALL), generator(0))) for s in (7, 8))
    assert (one != other).any(1).any(1).all()
