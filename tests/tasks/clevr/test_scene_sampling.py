"""Sampled scenes keep CLEVR's rules, look as its camera sees them, and are the same from the same seed."""

from collections import Counter
from itertools import combinations, islice
from math import dist, sqrt

import numpy as np
import pytest

from ngs.errors import NGSError
from ngs.tasks.clevr.scene_sampling import (
    BLOCK,
    DISTANCE,
    EPSILON,
    HEIGHT,
    MARGIN,
    RADIUS,
    REACH,
    WIDTH,
    pixels,
    scenes,
    view_from,
)
from ngs.tasks.clevr.scenes import ATTRIBUTES, RELATIONS, Scene
from ngs.tasks.json_list import elements
from tests.tasks.clevr.official_files import published


def sample(number: int, seed: int = 0) -> tuple[Scene, ...]:
    return scenes(number, np.random.default_rng(seed))


@pytest.fixture(scope="module")
def many() -> tuple[Scene, ...]:
    return sample(600)


def along(scene: Scene, name: str, one: int, other: int) -> float:
    """How far object `one` is from the other in a direction."""
    a, b = scene.things[one].position, scene.things[other].position
    return sum((x - y) * d for x, y, d in zip(a, b, scene.directions[name], strict=True))


def test_there_are_three_to_ten_objects_of_every_sort_equally_often(many: tuple[Scene, ...]) -> None:
    sizes = Counter(len(scene.things) for scene in many)
    assert set(sizes) == set(range(3, 11)) and min(sizes.values()) > 0.6 * len(many) / len(sizes)
    things = [thing for scene in many for thing in scene.things]
    for attribute, values in ATTRIBUTES.items():
        counts = Counter(getattr(thing, attribute) for thing in things)
        assert set(counts) == set(values)
        assert min(counts.values()) > 0.85 * len(things) / len(values)


def test_objects_stand_on_the_ground_and_well_apart(many: tuple[Scene, ...]) -> None:
    for scene in many:
        for thing in scene.things:
            assert max(map(abs, thing.position[:2])) <= REACH and thing.position[2] == RADIUS[thing.size]
            assert 0 <= thing.rotation < 360
        for one, other in combinations(range(len(scene.things)), 2):
            a, b = scene.things[one], scene.things[other]
            assert dist(a.position[:2], b.position[:2]) > RADIUS[a.size] + RADIUS[b.size] + DISTANCE
            assert all(abs(along(scene, name, one, other)) > MARGIN for name in RELATIONS)


def test_relations_are_the_directions_of_the_view(many: tuple[Scene, ...]) -> None:
    for scene in many[:100]:
        n = range(len(scene.things))
        for name in RELATIONS:
            assert scene.relations[name] == tuple(
                frozenset(i for i in n if along(scene, name, i, k) > EPSILON) for k in n
            )
        left, right, front, behind = (np.array(scene.directions[name]) for name in RELATIONS)
        assert np.array_equal(left, -right) and np.array_equal(front, -behind)
        assert right @ right == pytest.approx(1) and right @ behind == pytest.approx(0)
        assert right[2] == behind[2] == 0


def test_every_scene_has_a_view_of_its_own(many: tuple[Scene, ...]) -> None:
    """About that of the released scenes, of which all have the same directions."""
    rights = np.array([scene.directions["right"] for scene in many])
    assert len({tuple(right) for right in rights.tolist()}) == len(many)
    assert np.allclose(rights.mean(0), (0.656, 0.754, 0), atol=0.01)
    assert 0.01 < rights.std(0)[0] < 0.05


def test_what_is_in_front_is_nearer_and_lower_in_the_picture(many: tuple[Scene, ...]) -> None:
    """Of two things of one height, since a level line across the view has one row."""
    for scene in many[:200]:
        for k, thing in enumerate(scene.things):
            column, row, depth = thing.pixel
            assert 0 < column < WIDTH and 0 < row < HEIGHT and depth > 0 and column == int(column)
            for other in scene.relations["front"][k]:
                if scene.things[other].size == thing.size:
                    assert scene.things[other].pixel[2] < depth
                    assert scene.things[other].pixel[1] > row


def test_the_camera_agrees_with_recorded_pixel_coordinates() -> None:
    """Scenes of the shared data that record where the camera stood."""
    for _, scene in islice(elements(published() / "scenes_train.json.gz", "scenes"), 1000, 1100):
        view = view_from(np.array([scene["camera_location"]]))
        places = np.array([[thing["3d_coords"] for thing in scene["objects"]]])
        wanted = np.array([thing["pixel_coords"] for thing in scene["objects"]])
        assert np.abs(pixels(view, places)[0] - wanted).max() < 1


def test_the_same_seed_gives_the_same_scenes_and_more_leave_the_first_as_they_are() -> None:
    one, same, more, other = sample(5), sample(5), sample(BLOCK + 5), sample(5, seed=1)
    assert one == same == more[:5] != other
    assert len(set(map(repr, more))) == BLOCK + 5


def test_the_scenes_are_the_same_on_every_machine() -> None:
    """To the last digit: what is computed is exact, and figures are published for these scenes."""
    thing = sample(1)[0].things[0]
    assert (thing.size, thing.color, thing.material, thing.shape) == ("large", "red", "rubber", "sphere")
    assert thing.position == (0.4677970543107086, 0.7034493612006101, 0.7)
    x, y, _ = sample(1)[0].directions["right"]
    assert (x, y) == (0.6418228038890788, 0.7668529770483786) and sqrt(x * x + y * y) == pytest.approx(1)


def test_none_may_be_asked_for_and_fewer_are_refused() -> None:
    assert sample(0) == ()
    with pytest.raises(NGSError, match="-1 scenes were asked for"):
        sample(-1)
