"""How matrices are multiplied on a GPU, as far as that can be asked without one."""

import pytest

from ngs.gpu import products_are_rounded, rounded_products
from ngs.tasks.finding import find


def test_rounding_ends_with_what_it_was_for() -> None:
    assert not products_are_rounded()
    with rounded_products():
        assert products_are_rounded()
    assert not products_are_rounded()
    with pytest.raises(ZeroDivisionError), rounded_products():
        _ = 1 / 0
    assert not products_are_rounded()


@pytest.mark.parametrize("task, rounded", [("hwf", True), ("clevr", True), ("scenes", False)])
def test_rendering_wants_every_bit(task: str, rounded: bool) -> None:
    with find(task).products():
        assert products_are_rounded() == rounded
