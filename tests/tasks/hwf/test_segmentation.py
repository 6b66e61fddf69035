"""Lines of handwriting: the pieces of ink, how they are drawn anew, and which formula they make."""

from itertools import combinations, product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from ngs.errors import DataError, ShapeError
from ngs.parsing.sentence import recognises
from ngs.tasks.hwf.dataset import GRAMMAR, SIDE
from ngs.tasks.hwf.formula_reading import Seen
from ngs.tasks.hwf.segmentation import (
    ANYTHING,
    Grey,
    Piece,
    as_symbol,
    connected,
    ink_of,
    is_light_on_dark,
    likeliest_runs,
    otsu,
    pieces_of,
    read_page,
    thinned,
)
from tests.tasks.hwf.written_lines import formula_in, written_line, written_symbols

FORMULAS = ("7", "3/8", "6-2", "9*4+1", "5/1-0*2", "8+3-6/4*7")


def read_line(page: Grey, network) -> Seen:
    return read_page(pieces_of(page), network)


def read(page: Grey, network) -> str:
    return formula_in(read_line(page, network))


def page_with(*boxes: tuple[int, int, int, int], size: tuple[int, int] = (100, 300)) -> Grey:
    """Black rectangles on white: left, top, right, bottom."""
    page = np.full(size, 255, dtype=np.uint8)
    for left, top, right, bottom in boxes:
        page[top:bottom, left:right] = 0
    return page


# Whole lines


@pytest.mark.parametrize("sentence", FORMULAS)
def test_a_line_is_read(sentence, network) -> None:
    assert read(written_line(sentence), network) == sentence


def test_a_division_sign_is_one_symbol_of_three_pieces(network) -> None:
    page = written_line("3/8/2")
    assert len(pieces_of(page).pieces) == 9
    assert read(page, network) == "3/8/2"


def test_boxes_are_where_the_symbols_stand(network) -> None:
    page = written_line("6-2")
    ink = read_line(page, network)
    assert len(ink.boxes) == 3
    rest = page.copy()
    for left, top, right, bottom in ink.boxes:
        assert right - left <= SIDE + 2 and bottom - top <= SIDE + 2
        rest[top:bottom, left:right] = 255
    assert (rest > 200).all()
    assert [box.left for box in ink.boxes] == sorted(box.left for box in ink.boxes)


@pytest.mark.parametrize("factor", [0.6, 2, 5])
def test_the_size_of_the_picture_does_not_matter(factor, network) -> None:
    page = Image.fromarray(written_line("5/1-0*2"))
    resized = page.resize((round(page.width * factor), round(page.height * factor)), Image.Resampling.BICUBIC)
    assert read(np.asarray(resized), network) == "5/1-0*2"


def test_uneven_light_and_grain_do_not_matter(network) -> None:
    page = written_line("9*4+1").astype(float)
    light = np.linspace(0.5, 1.0, page.shape[1]) * np.linspace(0.8, 1.0, page.shape[0])[:, None]
    grain = np.random.default_rng(0).normal(0, 4, page.shape)
    assert read(np.clip(page * light + grain, 0, 255).astype(np.uint8), network) == "9*4+1"


def test_specks_and_lonely_blots_do_not_count(network) -> None:
    page = written_line("6-2")
    page[5, 40:42] = page[70, 100] = 0
    page[30:34, 0:4] = 0  # as large as a dot, but with nothing above or below it
    assert read(page, network) == "6-2"


def test_a_broken_stroke_is_put_together(network) -> None:
    page = written_line("9*4+1")
    whole = len(pieces_of(page).pieces)
    page[35:38, 14:59] = 255  # through the 9
    assert len(pieces_of(page).pieces) > whole
    assert read(page, network) == "9*4+1"


def test_what_is_no_formula_is_read_symbol_by_symbol(network) -> None:
    line = read_line(written_line("6-"), network)
    assert len(line.images) == 2
    assert line.symbol_by_symbol == ("6", "-")


def test_wide_runs_have_no_advantage() -> None:
    """With a network that knows nothing, any segmentation explains five bars equally well: gaps decide."""

    def knows_nothing(ink: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(ink), len(GRAMMAR.symbols))

    side_by_side = page_with(*((20 + 12 * k, 20, 26 + 12 * k, 80) for k in range(5)))
    assert len(read_line(side_by_side, knows_nothing).images) == 5
    one_above_the_other = page_with((20, 20, 80, 28), (25, 40, 75, 48), (30, 60, 70, 68))
    assert len(read_line(one_above_the_other, knows_nothing).images) == 1


# Refusals


NO_INK, MANY_PIECES = "there is no ink in it", r"its ink falls into [0-9,]+ pieces"
RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(
    "page, why",
    [
        (page_with(), NO_INK),
        (np.zeros((50, 90), dtype=np.uint8), NO_INK),
        (RANDOM.normal(230, 6, (80, 200)).astype(np.uint8), NO_INK),
        (RANDOM.integers(0, 256, (300, 300), dtype=np.uint8), MANY_PIECES),
        (np.concatenate([written_line("6-2*3"), written_line("4+8-1")]), "it shows 2 lines of writing"),
        (page_with((20, 40, 22, 44), (30, 41, 34, 43)), "its strokes are 4 pixels long, and at least 8"),
    ],
    ids=["white", "black", "paper", "noise", "two lines", "tiny"],
)
def test_what_is_no_line_of_symbols_is_refused(page, why, network) -> None:
    with pytest.raises(DataError, match=why):
        read_line(page, network)


def test_a_network_that_gives_no_numbers_is_refused() -> None:
    with pytest.raises(ShapeError, match="nan"):
        read_line(written_line("7"), lambda ink: torch.full((len(ink), len(GRAMMAR.symbols)), torch.nan))


# The best runs


def segmentations(count: int, runs) -> list[tuple[tuple[int, int], ...]]:
    """All ways to cover 0 to count with runs."""
    if count == 0:
        return [()]
    last = [run for run in runs if run[1] == count]
    return [(*before, run) for run in last for before in segmentations(run[0], runs)]


@pytest.mark.parametrize("grammar", [GRAMMAR, ANYTHING], ids=["formulas", "anything"])
@given(seed=st.integers(0, 2**32), count=st.integers(1, 4))
def test_the_best_runs_are_those_of_an_exhaustive_search(grammar, seed, count) -> None:
    rng = np.random.default_rng(seed)
    ends = [(i, j) for i in range(count) for j in range(i + 1, count + 1) if rng.random() < 0.7]
    few = grammar.encode("2*-7")  # of 14 symbols only these can be chosen: few sentences to try
    scores = {run: np.full(len(grammar.symbols), -np.inf) for run in ends}
    for row in scores.values():
        row[few] = rng.normal(0, 1, len(few))
    tried = {
        (runs, sentence): sum(
            scores[run][grammar.symbol_id(z)] for run, z in zip(runs, sentence, strict=True)
        )
        for runs in segmentations(count, ends)
        for sentence in product("2*-7", repeat=len(runs))
        if recognises(grammar, sentence)
    }
    found = likeliest_runs(grammar, count, {run: row.tolist() for run, row in scores.items()})
    assert found == max(tried, key=tried.__getitem__, default=((), ()))[0]


def test_anything_has_the_columns_of_formulas() -> None:
    assert ANYTHING.symbols == GRAMMAR.symbols


# Pieces of ink

masks = arrays.arrays(np.bool_, st.tuples(st.integers(1, 9), st.integers(1, 9)))


@given(masks)
def test_pieces_hold_all_ink_and_touch_nowhere(mask) -> None:
    pieces = [{*map(tuple, piece.tolist())} for piece in connected(mask)]
    assert sorted(pixel for piece in pieces for pixel in piece) == sorted(
        zip(*np.nonzero(mask.T), strict=True)
    )
    for one, other in combinations(pieces, 2):
        assert all(max(abs(x - u), abs(y - v)) > 1 for x, y in one for u, v in other)


def test_ink_hangs_together_across_corners() -> None:
    (piece,) = connected(np.eye(5, dtype=np.bool_)[::-1])
    assert piece.tolist() == [[4 - k, k] for k in range(5)]


@given(masks)
def test_thinning_takes_away_and_tears_nothing_apart(mask) -> None:
    line = thinned(mask)
    assert not (line & ~mask).any()
    assert len(connected(line)) <= len(connected(mask))  # a square of four pixels vanishes
    assert (thinned(line) == line).all()


def test_thinning_keeps_lines_and_holes() -> None:
    ring = np.zeros((30, 30), dtype=np.bool_)
    ring[4:26, 4:26] = True
    ring[10:20, 10:20] = False
    line = thinned(ring)
    (around,) = connected(line)
    assert len(around) < 80 and not line[10:20, 10:20].any()
    across = line[15]  # in the middle the line is crossed twice
    assert across[:15].sum() == across[15:].sum() == 1
    bar = np.zeros((20, 60), dtype=np.bool_)
    bar[6:14, 5:55] = True
    y, x = np.nonzero(thinned(bar))
    assert len(x) == len(set(x.tolist())) and len(x) >= 40 and 8 <= y.min() <= y.max() <= 11


@given(arrays.arrays(np.uint8, (6, 7)))
def test_otsu_finds_the_largest_variance_between(grey) -> None:
    def between(level: int) -> float:
        dark, light = grey[grey <= level].astype(float), grey[grey > level].astype(float)
        if not len(dark) or not len(light):
            return 0.0
        return len(dark) * len(light) * (dark.mean() - light.mean()) ** 2

    assert between(otsu(grey)) == pytest.approx(max(map(between, range(256))))


# Ink and paper


def test_ink_is_what_is_dark() -> None:
    page = page_with((50, 30, 60, 70))
    assert (ink_of(page) == (page == 0)).all()


@pytest.mark.parametrize("symbol", GRAMMAR.symbols)
def test_dark_and_light_are_told_apart(symbol) -> None:
    (image,) = written_symbols(symbol).numpy()
    assert not is_light_on_dark(image) and is_light_on_dark(255 - image)


# Drawing


def extent(image: torch.Tensor) -> tuple[int, int]:
    """Height and width of what is dark."""
    low, high = (image < 128).nonzero().aminmax(dim=0)
    height, width = (high - low + 1).tolist()
    return height, width


@pytest.mark.parametrize("symbol", GRAMMAR.symbols)
def test_a_symbol_fills_its_box_as_in_training(symbol) -> None:
    (image,) = written_symbols(symbol)
    drawn = as_symbol(image.numpy())
    assert drawn.shape == (SIDE, SIDE) and drawn.dtype == torch.uint8
    (height, width), (new_height, new_width) = extent(image), extent(drawn)
    assert 42 <= max(new_height, new_width) <= SIDE
    scale = max(new_height, new_width) / max(height, width)
    assert (new_height, new_width) == pytest.approx((scale * height, scale * width), abs=2.5)


def test_a_short_dash_is_drawn_as_a_long_thin_line() -> None:
    for pen in (2, 4, 8):
        height, width = extent(as_symbol(page_with((40, 40, 70, 40 + pen))))
        assert height <= 3 and width >= 42


def test_a_huge_symbol_is_drawn_as_a_small_one() -> None:
    """A division sign: each of its pieces is thinned in a size of its own."""
    (image,) = written_symbols("/").numpy()
    huge = Image.fromarray(image).resize((20 * SIDE, 20 * SIDE), Image.Resampling.BICUBIC)
    assert (as_symbol(np.asarray(huge)) != as_symbol(image)).float().mean() < 0.03


def test_the_smallest_dot_is_drawn() -> None:
    dot = Piece(np.array([[7, 3], [8, 3], [7, 4], [8, 4]]))
    assert not thinned(np.ones((2, 2), dtype=np.bool_)).any()
    assert dot.path.tolist() == [[7, 3]] and dot.size == 2


def test_a_thick_pen_draws_the_same_as_a_thin_one() -> None:
    thin = as_symbol(page_with((50, 10, 52, 90), (20, 49, 82, 51)))
    thick = as_symbol(page_with((46, 6, 56, 94), (16, 45, 86, 55)))
    assert ((thin < 128).sum() - (thick < 128).sum()).abs() <= 8
    assert (thin != thick).float().mean() < 0.06
