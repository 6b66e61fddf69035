"""Strokes on a canvas: the ink they leave, and the symbols in it."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ngs.errors import DataError
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.playground.strokes import DOT, MOST_PIXELS, UNIT, inked, seen_in
from ngs.tasks.hwf.segmentation import connected, log_probs_of
from tests.tasks.hwf.playground.drawings import BY_HAND, Strokes, strokes_of, trained
from tests.tasks.hwf.written_lines import formula_in

FORMULAS = ("7", "3/8", "6-2", "9*4+1", "5/1-0*2", "8+3-6/4*7", "1+2*3-4/5+6*7")


def read(strokes: Strokes, network) -> str:
    return formula_in(seen_in(strokes, network))


def moved(strokes: Strokes, scale: float, x: float, y: float) -> Strokes:
    return [[(scale * a + x, scale * b + y) for a, b in stroke] for stroke in strokes]


@pytest.mark.parametrize("sentence", FORMULAS)
def test_what_is_drawn_is_read(sentence, network) -> None:
    assert read(strokes_of(sentence), network) == sentence


def test_the_scores_are_those_of_the_images(network) -> None:
    seen = seen_in(strokes_of("5/1-0*2"), network)
    assert torch.allclose(seen.log_probs, log_probs_of(network, seen.images), atol=1e-4)


@pytest.mark.parametrize("sentence", BY_HAND)
def test_polylines_are_read(sentence) -> None:
    assert read(BY_HAND[sentence], trained()) == sentence


@pytest.mark.parametrize("symbol", GRAMMAR.symbols)
def test_each_symbol_in_several_hands(symbol) -> None:
    sentence = symbol if symbol.isdigit() else f"3{symbol}0"
    found = [read(strokes_of(sentence, hand=hand), trained()) for hand in range(20, 32)]
    assert found.count(sentence) >= 8, found


@pytest.mark.parametrize(("scale", "x", "y"), [(0.5, 0, 0), (1, 900, 40), (8, 0, 0), (0.3, 3000, 3000)])
def test_neither_the_size_nor_the_place_matters(scale, x, y, network) -> None:
    assert read(moved(strokes_of("6/2"), scale, x, y), network) == "6/2"


def test_the_order_of_the_strokes_does_not_matter(network) -> None:
    assert read(strokes_of("5/1-0*2")[::-1], network) == "5/1-0*2"


@pytest.mark.parametrize("scale", [0.5, 1, 8])
def test_boxes_are_where_the_ink_is(scale, network) -> None:
    strokes = moved(strokes_of("9-4"), scale, 500, 70)
    symbols = seen_in(strokes, network)
    assert len(symbols.boxes) == 3
    points = np.concatenate([np.array(stroke) for stroke in strokes])
    sides = np.array(symbols.boxes)
    found = [*sides[:, :2].min(0), *sides[:, 2:].max(0)]
    slack = 2 + 3 * scale  # half a pen, and a pixel of either drawing
    assert found == pytest.approx([*points.min(0), *points.max(0)], abs=slack)
    assert (np.diff(sides[:, 0]) > 0).all()


def test_a_click_is_a_dot() -> None:
    bar, dot = [(0.0, 50.0), (60.0, 50.0)], [(30.0, 20.0)]
    alone = [len(connected(inked(strokes)[0])) for strokes in ([bar], [bar, dot], [bar, dot * 5])]
    assert alone == [1, 2, 2]
    (small, _) = sorted(connected(inked([bar, dot])[0]), key=len)
    assert np.ptp(small, axis=0).max() + 1 == pytest.approx(DOT, abs=1)


def test_strokes_near_each_other_do_not_touch() -> None:
    gap = 8.0  # pixels of the canvas, where symbols have 100
    apart, _, _ = inked([[(0, 0), (0, 100)], [(gap, 0), (gap, 100)]])
    assert len(connected(apart)) == 2
    crossing, _, _ = inked([[(0, 0), (100, 100)], [(100, 0), (0, 100)]])
    assert len(connected(crossing)) == 1


def test_a_large_canvas_costs_nothing() -> None:
    small, _, _ = inked(strokes_of("6/2"))
    large, _, _ = inked(moved(strokes_of("6/2"), 10, 0, 0))
    assert small.shape == pytest.approx(large.shape, abs=1)
    assert UNIT <= small.shape[0] <= 2 * UNIT
    far, _, _ = inked([[(0, 0), (9, 9)], [(4096, 4096), (4090, 4090)]])
    assert far.size <= 1.2 * MOST_PIXELS


@pytest.mark.parametrize(
    ("strokes", "why"),
    [([], "nothing is drawn"), ([[]], "nothing is drawn"), ([[(5, 5)], [(8, 9), (10, 11)]], "write larger")],
)
def test_what_cannot_be_read_is_refused(strokes, why, network) -> None:
    with pytest.raises(DataError, match=why):
        seen_in(strokes, network)


coordinates = st.floats(-4096, 8192, allow_nan=False)


@given(st.lists(st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=8), max_size=8))
def test_any_strokes_are_read_or_refused(strokes) -> None:
    def one_for_all(ink: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(ink), len(GRAMMAR.symbols))

    try:
        symbols = seen_in(strokes, one_for_all)
    except DataError as error:
        assert len(str(error)) > 20
    else:
        assert len(symbols.images) == len(symbols.boxes) >= 1


def test_a_scribble_is_no_more_work_than_a_long_formula() -> None:
    chance = np.random.default_rng(0)
    strokes = [[(x, y) for x, y in line] for line in chance.uniform(0, 4096, (200, 100, 2)).tolist()]
    assert inked(strokes)[0].size < 1.1 * MOST_PIXELS
    assert len(seen_in(strokes, trained()).images) == 1
