"""Rendered pictures: what is said of them is true, and the same seed gives the same ones."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ngs.errors import NGSError
from ngs.tasks.clevr.camera import fitted_camera
from ngs.tasks.clevr.picture_folder import shown_parts
from ngs.tasks.clevr.rendered_pictures import (
    LEAST_PIXELS,
    as_released,
    digest_of_rendered,
    rendered_pictures,
    without_others,
)
from ngs.tasks.clevr.scene_sampling import scenes as sample_scenes
from ngs.tasks.clevr.seen_scene import official_directions, relations_of
from tests.tasks.clevr.picture_folders import CPU, few

SEED = 11


def test_the_same_seed_gives_the_same_pictures_and_another_gives_others() -> None:
    again, other = rendered_pictures(2, 5, CPU), rendered_pictures(2, 6, CPU)
    both = np.arange(2)
    assert again.scenes == few().scenes[:2] and torch.equal(again.cameras, few().cameras[:2])
    assert torch.equal(again.decoded(both), rendered_pictures(2, 5, CPU).decoded(both))
    assert not torch.equal(again.decoded(both), other.decoded(both))
    assert digest_of_rendered(2) != digest_of_rendered(3)


def test_boxes_and_pixels_are_those_of_what_is_left_in_the_scene() -> None:
    pictures = few()
    boxes, visible = shown_parts(pictures.scenes, pictures.cameras)
    assert torch.equal(boxes, pictures.boxes) and torch.equal(visible, pictures.visible)
    for scene, row, name in zip(pictures.scenes, visible.tolist(), pictures.names, strict=True):
        count = len(scene.things)
        assert min(row[:count]) >= LEAST_PIXELS and not any(row[count:]) and scene.name == name


def test_the_pixels_of_a_scene_tell_its_camera() -> None:
    for scene, camera in zip(few().scenes, few().cameras.tolist(), strict=True):
        assert fitted_camera(scene) == pytest.approx(camera, abs=1e-3)


def test_relations_are_those_of_the_released_directions() -> None:
    for scene in few().scenes:
        places = torch.tensor([thing.position for thing in scene.things])
        assert scene.directions == official_directions()
        assert dict(scene.relations) == relations_of(places)


def test_a_turned_scene_keeps_its_distances_and_relations() -> None:
    for scene in sample_scenes(20, np.random.default_rng(SEED)):
        turned = as_released(scene)
        one, other = (np.array([t.position for t in each.things]) for each in (scene, turned))
        apart = [np.linalg.norm(places[:, None] - places, axis=-1) for places in (one, other)]
        assert np.allclose(*apart) and turned.relations == scene.relations
        assert not np.allclose(one, other)


def test_a_scene_without_some_objects_is_numbered_anew() -> None:
    scene = sample_scenes(1, np.random.default_rng(SEED))[0]
    left = without_others(scene, [2, 0])
    assert left.things == (scene.things[2], scene.things[0])
    for name, rows in left.relations.items():
        assert (1 in rows[0]) == (0 in scene.relations[name][2])
        assert (0 in rows[1]) == (2 in scene.relations[name][0])


def test_no_picture_at_all_is_refused() -> None:
    with pytest.raises(NGSError, match="0 pictures were asked for"):
        rendered_pictures(0, 0, CPU)
