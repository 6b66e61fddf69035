"""From maps to scenes: objects are the peaks, each once, and what a perfect network says is that scene."""

import gzip
import json
from dataclasses import replace
from itertools import permutations

import pytest
import torch

from ngs.errors import DataError
from ngs.tasks.clevr.official_scene import as_scene, scene_to_official
from ngs.tasks.clevr.scene_sampling import MARGIN
from ngs.tasks.clevr.scenes import ATTRIBUTES, RELATIONS, Scene, Thing
from ngs.tasks.pictures.picture_examples import targets_of
from ngs.tasks.pictures.scene_network import VALUES, SceneMaps
from ngs.tasks.pictures.seen_scene import (
    MOST_PEAKS,
    NEAREST,
    THRESHOLD,
    SeenObjects,
    in_jitters,
    official_directions,
    relations_of,
    scene_of,
    seen_objects,
)
from tests.tasks.clevr.official_files import published
from tests.tasks.clevr.sampled_pictures import pictures_of, sampled_scenes
from tests.tasks.pictures.scene_maps import made_targets, perfect_maps

# Objects


def blank(rows: int = 20, columns: int = 30) -> SceneMaps:
    """Of one picture in which nothing is seen."""
    shape = (rows, columns)
    return SceneMaps(
        torch.full((1, 1, *shape), -9.0),
        torch.zeros(1, VALUES, *shape),
        torch.zeros(1, 2, *shape),
        torch.ones(1, 4, *shape),
        torch.zeros(1, 3),
    )


@pytest.mark.parametrize("seed", range(4))
def test_what_is_said_is_what_is_seen(seed: int) -> None:
    truth = made_targets(seed, number=3)
    for n, seen in enumerate(seen_objects(perfect_maps(truth))):
        order, shown = seen.columns.argsort(), truth.shown[n]
        assert len(seen) == shown.sum() and (seen.scores > 0.99).all()
        assert torch.allclose(seen.columns[order], truth.columns[n, shown], atol=1e-3)
        assert torch.allclose(seen.rows[order], truth.rows[n, shown], atol=1e-3)
        assert torch.allclose(seen.boxes[order], truth.boxes[n, shown], atol=1e-3)
        for k, name in enumerate(ATTRIBUTES):
            assert torch.allclose(seen.attributes[name].sum(1), torch.ones(len(seen)))
            assert torch.equal(seen.attributes[name].argmax(1)[order], truth.attributes[n, shown, k])
        assert torch.equal(seen.jitters, truth.cameras[n])


def test_the_surest_comes_first_and_the_unsure_not_at_all() -> None:
    maps = blank()
    for column, p in ((5, 0.6), (12, THRESHOLD - 0.01), (19, 0.9), (26, THRESHOLD + 0.01)):
        maps.centers[0, 0, 10, column] = torch.tensor(p).logit()
    (seen,) = seen_objects(maps)
    assert torch.allclose(seen.scores, torch.tensor([0.9, 0.6, THRESHOLD + 0.01]))
    assert seen.columns.tolist() == [4 * 19.5, 4 * 5.5, 4 * 26.5]


def test_equally_high_neighbours_are_one_object_and_lower_ones_none() -> None:
    """Half precision makes them equal: both are peaks, and both say where the centre is."""
    maps = blank()
    maps.centers[0, 0, 9:12, 9:13] = 2.0
    maps.centers[0, 0, 10, 10:12] = 3.0
    maps.offsets[0, 0, 10, 10:12] = torch.tensor([0.5, -0.5])
    (seen,) = seen_objects(maps)
    assert len(seen) == 1 and (seen.columns[0], seen.rows[0]) == (44, 42)


@pytest.mark.parametrize("apart, objects", [(NEAREST - 1, 1), (NEAREST + 1, 2)])
def test_peaks_that_mean_the_same_centre_are_one_object(apart: float, objects: int) -> None:
    maps = blank()
    maps.centers[0, 0, 10, 10], maps.centers[0, 0, 10, 14] = 3.0, 2.0
    maps.offsets[0, 0, 10, 14] = (apart - 16) / 4
    (seen,) = seen_objects(maps)
    assert len(seen) == objects and seen.scores[0] == torch.tensor(3.0).sigmoid()


def test_too_many_can_be_noticed() -> None:
    maps = blank(60, 60)
    maps.centers[0, 0, ::6, ::6] = 2.0
    assert len(seen_objects(maps)[0]) == MOST_PEAKS


# Scenes


def seen_perfectly(scenes: tuple[Scene, ...], seed: int = 0) -> list[SeenObjects]:
    return seen_objects(perfect_maps(targets_of(pictures_of(scenes, seed))))


def nearest(thing: Thing, scene: Scene) -> int:
    """The number of the object of a scene that stands nearest to one."""
    distances = [abs(complex(*t.position[:2]) - complex(*thing.position[:2])) for t in scene.things]
    return distances.index(min(distances))


@pytest.mark.parametrize("seed", range(5))
def test_what_is_seen_perfectly_is_the_scene(seed: int) -> None:
    true = sampled_scenes(12, seed)
    for scene, seen in zip(true, seen_perfectly(true, seed), strict=True):
        found = scene_of(seen, "a.png")
        assert torch.allclose(in_jitters(seen.camera), seen.jitters, atol=1e-5)
        order = [nearest(thing, found) for thing in scene.things]
        assert sorted(order) == list(range(len(found.things))), "each object is found once"
        for thing, k in zip(scene.things, order, strict=True):
            other = found.things[k]
            assert (
                replace(other, position=thing.position, rotation=thing.rotation, pixel=thing.pixel) == thing
            )
            assert other.position == pytest.approx(thing.position, abs=2e-3)
        for name in RELATIONS:
            for k, one in enumerate(order):
                assert found.relations[name][one] == {order[i] for i in scene.relations[name][k]}
        assert found.name == "a.png"
        assert as_scene(scene_to_official(found, 0)).relations == found.relations


def test_the_depth_is_the_distance_along_the_view() -> None:
    true = sampled_scenes(4, 0)
    pictures = pictures_of(true)
    for k, seen in enumerate(seen_perfectly(true)):
        camera = pictures.cameras[k]
        for thing in scene_of(seen).things:
            column, row, depth = thing.pixel
            ahead = (torch.tensor(thing.position) - camera) @ (-camera / camera.norm())
            assert depth == pytest.approx(float(ahead), abs=1e-3)
            assert 0 < column < 480 and 0 < row < 320


@pytest.mark.parametrize("seed", range(3))
def test_a_mistake_of_a_pixel_is_harmless(seed: int) -> None:
    true = sampled_scenes(10, seed)
    random = torch.Generator().manual_seed(seed)
    for scene, seen in zip(true, seen_perfectly(true, seed), strict=True):
        shift = 2 * torch.rand(2, len(seen), generator=random) - 1
        moved = replace(seen, columns=seen.columns + shift[0], rows=seen.rows + shift[1])
        error = (moved.places - seen.places).norm(dim=1)
        assert 0 < error.max() < MARGIN / 2
        assert scene_of(moved).relations == scene_of(seen).relations
        assert len(scene.things) == len(seen)


def test_relations_are_told_by_the_side_alone() -> None:
    places = torch.tensor([[0.0, 0.0, 0.7], [1.0, 0.2, 0.35], [-1.0, 2.0, 0.7]])
    found = relations_of(places)
    for one, other in permutations(range(3), 2):
        for name, direction in official_directions().items():
            along = float((places[other] - places[one]) @ torch.tensor(direction))
            # heights differ, and directions lie on the ground
            assert (other in found[name][one]) == (along > 0)
    assert all(k not in rows[k] for rows in found.values() for k in range(3))


def test_an_empty_picture_is_a_scene_without_objects() -> None:
    (seen,) = seen_perfectly((Scene((), {}, {}),))
    scene = scene_of(seen)
    assert len(seen) == 0 and seen.boxes.shape == (0, 4)
    assert all(seen.attributes[name].shape == (0, len(values)) for name, values in ATTRIBUTES.items())
    assert scene.things == () and scene.relations == dict.fromkeys(RELATIONS, ())
    assert as_scene(scene_to_official(scene, 0)).things == ()


def test_eleven_objects_are_refused() -> None:
    ten = next(seen for seen in seen_perfectly(sampled_scenes(40, 0)) if len(seen) == 10)
    assert len(scene_of(ten).things) == 10
    with pytest.raises(DataError, match=r"11 objects were found in the picture 'a.png'.*at most 10"):
        scene_of(ten.select([*range(10), 0]), "a.png")


def test_official_scenes_are_seen_as_their_files_say() -> None:
    """Directions and relations of released scenes."""
    with gzip.open(published() / "scenes_val.json.gz", "rt", encoding="utf-8") as file:
        released = [as_scene(scene) for scene in json.load(file)["scenes"]]
    for scene in released:
        for direction, vector in official_directions().items():
            assert vector == pytest.approx(scene.directions[direction], abs=1e-3)
        assert relations_of(torch.tensor([thing.position for thing in scene.things])) == scene.relations
