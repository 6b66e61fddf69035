"""Objects drawn on a picture: every label can be read."""

import random

import pytest

from ngs.tasks.pictures.picture_drawing import places_of_labels

PICTURE = (960, 640)


def overlaps(first: tuple[float, float], second: tuple[float, float], size: tuple[float, float]) -> bool:
    return all(abs(a - b) < extent for a, b, extent in zip(first, second, size, strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_no_label_hides_another(seed: int) -> None:
    """Ten objects in a heap, where all labels would be in one place."""
    drawn, size = random.Random(seed), (200.0, 21.0)
    corners = [(drawn.uniform(-20, 960), drawn.choice([-5.0, 300.0, 630.0])) for _ in range(10)]
    boxes = [(x, y, x + 60, y + 60) for x, y in corners]
    places = places_of_labels(boxes, [size] * 10, PICTURE)
    assert all(0 <= x <= 960 - 200 and 0 <= y <= 640 - 21 for x, y in places)
    assert not any(overlaps(places[i], places[j], size) for i in range(10) for j in range(i))


def test_a_label_is_above_its_box_where_there_is_room() -> None:
    boxes = [(100.0, 200.0, 150.0, 260.0), (110.0, 205.0, 170.0, 300.0), (500.0, 0.0, 560.0, 50.0)]
    first, second, third = places_of_labels(boxes, [(80.0, 20.0)] * 3, PICTURE)
    assert first == (100, 180)
    assert second == (110, 200)  # right under the first one's label, which is where its own would be
    assert third == (500, 0)
