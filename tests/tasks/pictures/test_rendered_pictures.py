"""Rendered pictures: what is said of them is true, and the same seed gives the same ones."""

import numpy as np
import pytest
import torch

from ngs.tasks.clevr.scene_sampling import scenes as sample_scenes
from ngs.tasks.pictures.camera import fitted_camera
from ngs.tasks.pictures.rendered_pictures import (
    PIXELS_TO_STAY,
    RENDERING,
    Purpose,
    as_released,
    digest_of_rendered,
    drawn_scenes,
    rendered_pictures,
    without_others,
)
from ngs.tasks.pictures.rendering.renderer import boxes, instances
from ngs.tasks.pictures.seen_scene import official_directions, relations_of
from tests.tasks.pictures.picture_folders import CPU, few

SEED = 11


def test_the_same_seed_gives_the_same_pictures_and_another_gives_others() -> None:
    again, other = rendered_pictures(2, 5, CPU), rendered_pictures(2, 6, CPU)
    both = np.arange(2)
    assert again.scenes == few().scenes[:2] and torch.equal(again.cameras, few().cameras[:2])
    assert torch.equal(again.decoded(both), rendered_pictures(2, 5, CPU).decoded(both))
    assert not torch.equal(again.decoded(both), other.decoded(both))
    assert digest_of_rendered(2) != digest_of_rendered(3)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_is_learned_from_tested_on_and_written_shares_no_scene(seed: int) -> None:
    """Nor with other seeds: what one writes with a seed may be what another learns from."""
    drawn = [drawn_scenes(40, other, purpose) for purpose in Purpose for other in {0, seed}]
    places = [scene.things[0].position for scenes in drawn for scene in scenes]
    assert len(set(places)) == len(places)


def test_pictures_do_not_depend_on_how_many_are_rendered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ngs.tasks.pictures.rendered_pictures.AT_ONCE", 1)
    one_by_one = rendered_pictures(2, 5, CPU)
    apart = one_by_one.decoded(np.arange(2)).int() - few().decoded(np.arange(2)).int()
    assert one_by_one.scenes == few().scenes[:2] and apart.abs().max() <= 1


LOOKS = {
    1: "3 2.90 2.26 0.35 7.03 -6.05 5.75 "
    "116.59 116.17 126.28 135.57 117.91 115.61 125.96 133.50 117.15 114.88 125.66 130.24"
}
"""By RENDERING: objects, place of the first, camera; then red, green and blue of a picture's quarters."""


def test_pictures_look_as_the_digest_counts_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever changes what a picture shows counts RENDERING up, and pins how pictures look then."""
    digest = digest_of_rendered(2)
    (scene,), pixels = few().scenes[:1], few().decoded(np.arange(1))[0].float()
    quarters = torch.nn.functional.avg_pool2d(pixels, (160, 240)).flatten().tolist()
    looks = (len(scene.things), *scene.things[0].position, *few().cameras[0].tolist(), *quarters)
    assert looks == pytest.approx(tuple(map(float, LOOKS[RENDERING].split())), abs=0.2)
    monkeypatch.setattr("ngs.tasks.pictures.rendered_pictures.RENDERING", RENDERING + 1)
    assert digest_of_rendered(2) != digest


def test_boxes_and_pixels_are_those_of_what_is_left_in_the_scene() -> None:
    pictures = few()
    around, visible = boxes(instances(pictures.scenes, pictures.cameras))
    assert torch.equal(around, pictures.boxes) and torch.equal(visible, pictures.visible)
    for scene, row, name in zip(pictures.scenes, visible.tolist(), pictures.names, strict=True):
        count = len(scene.things)
        assert min(row[:count]) >= PIXELS_TO_STAY and not any(row[count:]) and scene.name == name


def test_relations_are_those_of_the_released_directions_and_pixels_tell_the_camera() -> None:
    for scene, camera in zip(few().scenes, few().cameras.tolist(), strict=True):
        places = torch.tensor([thing.position for thing in scene.things])
        assert scene.directions == official_directions()
        assert dict(scene.relations) == relations_of(places)
        assert fitted_camera(scene) == pytest.approx(camera, abs=1e-3)


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
