"""The camera of CLEVR images, against `scene_sampling` and the released scenes."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ngs.errors import DataError
from ngs.tasks.clevr import scene_sampling
from ngs.tasks.clevr.scene_sampling import CAMERA, JITTER, pixels, view_from
from ngs.tasks.pictures.camera import (
    drawn_cameras,
    fitted_camera,
    lift,
    pixel_centers,
    project,
    rays,
)
from tests.tasks.pictures.picture_folders import released
from tests.tasks.pictures.rendering.still_lifes import CPU, seeded


def cameras_and_places(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = seeded(seed)
    places = 6 * torch.rand(5, 7, 3, generator=generator) - 3
    places[..., 2] = 0.35
    return drawn_cameras(5, generator), places


@pytest.mark.parametrize("seed", range(3))
def test_projecting_agrees_with_the_sampler_of_scenes(seed: int) -> None:
    cameras, places = cameras_and_places(seed)
    slow = pixels(view_from(cameras.numpy().astype(np.float64)), places.numpy().astype(np.float64))
    assert np.abs(project(cameras, places).numpy() - slow).max() < 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_lifting_undoes_projecting(seed: int) -> None:
    cameras, places = cameras_and_places(seed)
    seen = project(cameras, places)
    found = lift(cameras, seen[..., 0], seen[..., 1], places[..., 2])
    assert (found - places[..., :2]).abs().max() < 1e-4


def test_above_the_horizon_there_is_no_ground_but_a_number() -> None:
    camera = torch.tensor([CAMERA])
    found = lift(camera, torch.tensor([[240.0]]), torch.tensor([[-1e4]]), torch.zeros(1, 1))
    assert found.isfinite().all() and found.norm() > 100


@pytest.mark.parametrize("height, width", [(320, 480), (80, 120), (100, 120)])
def test_a_ray_goes_through_the_middle_of_its_pixel(height: int, width: int) -> None:
    cameras, (columns, rows) = drawn_cameras(2, seeded()), pixel_centers(height, width, CPU)
    assert columns.shape == (width,) and rows.shape == (height,)
    looking = rays(cameras, columns[None, [width // 4]], rows[None, [height // 3]])
    seen = project(cameras, cameras[:, None] + 9 * looking)[:, 0]
    scale = width / 480
    assert torch.allclose(seen[:, 0] * scale, torch.tensor(width // 4 + 0.5), atol=1e-3)
    assert torch.allclose((seen[:, 1] - 160) * scale + height / 2, torch.tensor(height // 3 + 0.5), atol=1e-3)
    assert torch.allclose(seen[:, 2], torch.tensor(9.0))


def test_cameras_are_drawn_around_the_average_one() -> None:
    drawn = drawn_cameras(500, seeded(0))
    shifts = (drawn - torch.tensor(CAMERA)) / JITTER
    assert shifts.abs().max() <= 1 and (shifts.abs().amax(0) > 0.95).all()
    assert torch.equal(drawn, drawn_cameras(500, seeded(0)))


@pytest.mark.parametrize("seed", range(3))
def test_the_camera_of_a_scene_is_found_from_its_rounded_pixels(seed: int) -> None:
    camera = drawn_cameras(1, seeded(seed)).double()
    scene = scene_sampling.scenes(1, np.random.default_rng(seed))[0]
    places = torch.tensor([[thing.position for thing in scene.things]], dtype=torch.float64)
    seen = project(camera, places)[0].tolist()
    things = (
        replace(thing, pixel=(round(column), round(row), depth))
        for thing, (column, row, depth) in zip(scene.things, seen, strict=True)
    )
    found = fitted_camera(replace(scene, things=tuple(things)))
    assert np.abs(np.array(found) - camera[0].numpy()).max() < 0.01


def test_released_cameras_are_found() -> None:
    for scene, known in released()[:60]:
        assert fitted_camera(scene) == pytest.approx(known["camera_location"], abs=0.03), scene.name


@pytest.mark.parametrize("seed", range(3))
def test_a_scene_that_no_camera_shows_is_refused(seed: int) -> None:
    scene = scene_sampling.scenes(1, np.random.default_rng(seed))[0]
    nowhere = replace(scene, things=tuple(replace(thing, pixel=(0, 0, 0)) for thing in scene.things))
    with pytest.raises(DataError, match="has no pixel_coords to find its camera from"):
        fitted_camera(nowhere)
    with pytest.raises(DataError, match="has no objects to find its camera from"):
        fitted_camera(replace(scene, things=()))
    flipped = tuple(
        replace(thing, pixel=(480 - thing.pixel[0], thing.pixel[1], thing.pixel[2])) for thing in scene.things
    )
    with pytest.raises(DataError, match=r"the best misses by \d+\.\d pixels.*give it a camera_location"):
        fitted_camera(replace(scene, things=flipped))
