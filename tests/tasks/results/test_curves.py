"""Curves of several seeds as one line, with what others published dotted beside it."""

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngs.tasks.results.curves import curves_figure, together

CURVES = {"slow": [(10, [0.1, 0.3]), (20, [0.2, 0.6])], "fast": [(10, [0.9])], "absent": []}


def axes_of(figure: Figure) -> Axes:
    (axes,) = figure.axes
    return axes


def test_seeds_are_together_where_all_were_tested() -> None:
    curves = [{10: 0.1, 20: 0.2, 40: 0.4}, {20: 0.5, 10: 0.3, 30: 0.9}]
    assert together(curves) == [(10, [0.1, 0.3]), (20, [0.2, 0.5])]
    assert together(curves[:1]) == [(10, [0.1]), (20, [0.2]), (40, [0.4])]
    assert together([{10: 0.1}, {20: 0.2}]) == [] == together([])


def test_a_line_is_the_mean_and_its_shade_all_seeds() -> None:
    axes = axes_of(curves_figure(CURVES, "right answers"))
    slow, fast = axes.get_lines()
    assert slow.get_label() == "slow" and fast.get_label() == "fast"
    assert list(slow.get_xdata()) == [10, 20] and list(slow.get_ydata()) == pytest.approx([0.2, 0.4])
    shade, _ = axes.collections
    low, high = shade.get_paths()[0].vertices[:, 1].min(), shade.get_paths()[0].vertices[:, 1].max()
    assert (low, high) == (0.1, 0.6)
    assert axes.get_ylabel() == "right answers" and axes.get_xscale() == "linear"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["slow", "fast"]


def test_what_others_published_is_dotted_in_the_same_colour() -> None:
    beside = {"slow": [(5.0, 0.1), (15.0, 0.2)], "theirs": [(5.0, 0.3)]}
    axes = axes_of(curves_figure(CURVES, "right answers", beside, "log"))
    slow, fast, *dotted = axes.get_lines()
    assert [line.get_label() for line in dotted] == ["slow, released log", "theirs, released log"]
    assert [line.get_linestyle() for line in (slow, fast, *dotted)] == ["-", "-", ":", ":"]
    assert dotted[0].get_color() == slow.get_color() != fast.get_color()
    assert dotted[1].get_color() not in {line.get_color() for line in (slow, fast)}
    assert list(dotted[0].get_xdata()) == [5.0, 15.0]
    assert axes.get_xscale() == "log"


def test_nothing_to_draw_is_an_empty_figure() -> None:
    axes = axes_of(curves_figure({"a": []}, "right answers"))
    assert not axes.get_lines() and axes.get_legend() is None
