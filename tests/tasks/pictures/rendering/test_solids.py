"""Where rays meet solids, against walking along the ray in small steps and against trying all solids."""

import numpy as np
import pytest
import torch
from torch import Tensor

from ngs.tasks.clevr import scene_sampling
from ngs.tasks.clevr.scenes import ATTRIBUTES, MOST_OBJECTS
from ngs.tasks.pictures.rendering.solids import NOTHING, ROUNDING, Rays, meet, meet_shape, near_rays, nearest
from tests.tasks.pictures.rendering.still_lifes import seeded, solids_of, still_life, thing

SHAPES = ATTRIBUTES["shape"]


def distance(shape: str, points: Tensor) -> Tensor:
    """From the surface of a solid of radius one, negative inside; a corner's inside is taken for a face's."""
    rounding = ROUNDING[shape]
    if shape == "sphere":
        return points.norm(dim=0) - 1
    if shape == "cube":
        beyond = points.abs() - (1 - rounding)
    else:
        beyond = torch.stack([points[:2].norm(dim=0), points[2].abs()]) - (1 - rounding)
    return beyond.clamp(min=0).norm(dim=0) + beyond.amax(0).clamp(max=0) - rounding


def walked(shape: str, origins: Tensor, directions: Tensor) -> Tensor:
    """Depth of the first of many points on each ray that is inside; inf if none is."""
    depths = torch.linspace(0, 8, 8001, dtype=torch.float64)
    points = origins[:, :, None] + depths * directions[:, :, None]
    inside = distance(shape, points) < 0
    return torch.where(inside.any(1), depths[inside.int().argmax(1)], torch.inf)


def some_rays(seed: int) -> tuple[Tensor, Tensor]:
    """From four away, at points in or near the solid."""
    generator = seeded(seed)
    away = torch.randn(3, 100, generator=generator, dtype=torch.float64)
    origins = 4 * away / away.norm(dim=0)
    aims = 3 * torch.rand(3, 100, generator=generator, dtype=torch.float64) - 1.5
    directions = aims - origins
    return origins, directions / directions.norm(dim=0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(2))
def test_rays_meet_the_solid_where_walking_does(shape: str, seed: int) -> None:
    origins, directions = some_rays(seed)
    (found, _), slow = meet_shape(shape, origins, directions), walked(shape, origins, directions)
    both = found.isfinite() & slow.isfinite()
    assert both.sum() > 30
    assert (found - slow)[both].abs().max() < 0.05, "depth"
    only_one = found.isfinite() != slow.isfinite()
    closest = distance(shape, origins + (-(origins * directions).sum(0)) * directions)
    assert only_one.sum() <= 2 and (closest[only_one].abs() < 0.2).all(), (
        "a ray that just grazes may do either"
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_normals_point_where_the_distance_grows(shape: str) -> None:
    origins, directions = some_rays(7)
    depths, normals = meet_shape(shape, origins, directions)
    hit = depths.isfinite()
    points = (origins + torch.where(hit, depths, 0) * directions).requires_grad_()
    (slopes,) = torch.autograd.grad(distance(shape, points).sum(), points)
    assert torch.allclose(normals[:, hit], slopes[:, hit], atol=0.02)
    assert ((normals * directions).sum(0)[hit] < 0.05).all(), "what is seen faces the eye"


def test_solids_behind_the_eye_are_not_met() -> None:
    origins, directions = some_rays(3)
    for shape in SHAPES:
        assert meet_shape(shape, origins, -directions)[0].isinf().all()


def test_a_cube_turns_by_radians_and_grows_with_its_size() -> None:
    solids = solids_of(still_life(thing("cube", 1, 2, rotation=0.7854)))
    origins = torch.tensor([[1.0], [-3.0], [0.7]])
    depths, _ = meet(solids, torch.tensor([0]), origins, torch.tensor([[0.0], [1.0], [0.0]]))
    # Turned by an eighth, an edge comes first; rounding takes (sqrt 2 - 1) of its radius off.
    edge = 0.7 * (2**0.5 - ROUNDING["cube"] * (2**0.5 - 1))
    assert depths.item() == pytest.approx(5 - edge, abs=0.01)


def test_scenes_have_room_for_as_many_solids_as_they_may_have() -> None:
    solids = solids_of(still_life(), still_life(thing("sphere"), thing("cube", 2, 2, size="small")))
    assert solids.shapes.tolist() == [-1] * 10 + [1, 0] + [-1] * 8
    assert (solids.reaches > 0).sum() == 2
    assert solids.radii[10:12].tolist() == pytest.approx([0.7, 0.35])


# Which comes first


@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_of_all_is_found(seed: int) -> None:
    generator = seeded(seed)
    solids = solids_of(*scene_sampling.scenes(3, np.random.default_rng(seed)))
    numbers = torch.randint(3, (400,), generator=generator)
    origins = torch.randn(3, 400, generator=generator) + torch.tensor([[5.0], [-5.0], [4.0]])
    aims = 6 * torch.rand(3, 400, generator=generator) - 3
    aims[2] = 0.5
    rays = Rays(numbers, origins, aims - origins)
    every = [meet(solids, numbers * MOST_OBJECTS + k, *rays[1:]) for k in range(MOST_OBJECTS)]
    depths, slots = torch.stack([depths for depths, _ in every]).min(0)
    found = nearest(solids, rays, *near_rays(solids, rays)[:2])
    assert torch.equal(found.depths, depths)
    hit = depths.isfinite()
    assert 50 < hit.sum() < 400
    assert torch.equal(found.solids, torch.where(hit, numbers * MOST_OBJECTS + slots, NOTHING))
    normals = torch.stack([normals for _, normals in every])[slots, :, torch.arange(400)].T
    assert torch.equal(found.normals[:, hit], normals[:, hit])


def test_a_solid_that_is_left_out_is_seen_through() -> None:
    solids = solids_of(*scene_sampling.scenes(1, np.random.default_rng(0)))
    origins = solids.centers[:, :3] + torch.tensor([[0.0], [0.0], [5.0]])
    rays = Rays(torch.zeros(3, dtype=torch.int64), origins, torch.tensor([[0.0], [0.0], [-1.0]]).expand(3, 3))
    own = torch.arange(3)
    assert torch.equal(nearest(solids, rays, *near_rays(solids, rays)[:2]).solids, own)
    assert (nearest(solids, rays, *near_rays(solids, rays, own)[:2]).solids == NOTHING).all()
