"""From maps to scenes: what a perfect network says of a scene is that scene."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
import torch

from ngs.errors import DataError
from ngs.tasks.clevr.official_scene import as_scene, scene_to_official
from ngs.tasks.clevr.scene_sampling import CAMERA, MARGIN, RADIUS
from ngs.tasks.clevr.scenes import RELATIONS, Scene, Thing
from ngs.tasks.pictures.picture_examples import targets_of
from ngs.tasks.pictures.seen_objects import SeenObjects, seen_objects
from ngs.tasks.pictures.seen_scene import (
    in_jitters,
    official_directions,
    places_of,
    relations_of,
    scene_of,
    seen_camera,
)
from tests.tasks.clevr.sampled_pictures import pictures_of, sampled_scenes
from tests.tasks.pictures.scene_maps import perfect_maps

ROOT = Path(__file__).parents[3]


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
        error = (places_of(moved) - places_of(seen)).norm(dim=1)
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


def test_cameras_are_told_in_jitters() -> None:
    assert in_jitters(torch.tensor([CAMERA])).abs().max() == 0
    (seen,) = seen_perfectly(sampled_scenes(1, 0))
    assert torch.allclose(in_jitters(seen_camera(seen)), seen.camera, atol=1e-5)
    assert torch.allclose(seen_camera(seen), pictures_of(sampled_scenes(1, 0)).cameras[0], atol=1e-5)


def test_heights_are_those_of_the_sizes() -> None:
    (seen,) = seen_perfectly(sampled_scenes(1, 3))
    assert {thing.position[2] for thing in scene_of(seen).things} <= {
        float(torch.tensor(height)) for height in RADIUS.values()
    }


def test_an_empty_picture_is_a_scene_without_objects() -> None:
    (seen,) = seen_perfectly((Scene((), {}, {}),))
    scene = scene_of(seen)
    assert scene.things == () and scene.relations == dict.fromkeys(RELATIONS, ())
    assert as_scene(scene_to_official(scene, 0)).things == ()


def test_eleven_objects_are_refused() -> None:
    ten = next(seen for seen in seen_perfectly(sampled_scenes(40, 0)) if len(seen) == 10)
    assert len(scene_of(ten).things) == 10
    rows = [*range(10), 0]
    eleven = SeenObjects(
        ten.scores[rows],
        ten.boxes[rows],
        ten.columns[rows],
        ten.rows[rows],
        {name: each[rows] for name, each in ten.attributes.items()},
        ten.camera,
    )
    with pytest.raises(DataError, match=r"11 objects were found in the picture 'a.png'.*at most 10"):
        scene_of(eleven, "a.png")


def test_official_scenes_are_seen_as_their_files_say() -> None:
    """Directions and relations of released scenes."""
    folder = Path(os.environ.get("NGS_DATA", ROOT.parent / "shared" / "data")) / "clevr"
    name = "scenes_val.json.gz"
    if not (folder / name).is_file():
        pytest.skip(f"needs {name}, which is not in {folder}; let NGS_DATA name the folder above clevr/")
    with gzip.open(folder / name, "rt", encoding="utf-8") as file:
        released = [as_scene(scene) for scene in json.load(file)["scenes"]]
    for scene in released:
        for direction, vector in official_directions().items():
            assert vector == pytest.approx(scene.directions[direction], abs=1e-3)
        assert relations_of(torch.tensor([thing.position for thing in scene.things])) == scene.relations
