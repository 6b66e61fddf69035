"""Lamps and soft shadows, against rays to many places on the lamp."""

import pytest
import torch
from torch import Tensor

from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.pictures.rendering.lighting import (
    LAMP_JITTER,
    LAMP_RADIUS,
    LAMPS,
    drawn_lamps,
    lights,
    seen_share,
)
from ngs.tasks.pictures.rendering.solids import NOTHING, Rays, Solids, meet
from tests.tasks.pictures.rendering.still_lifes import CPU, seeded, solids_of, still_life, thing


def toward(lamp: Tensor, points: Tensor) -> Rays:
    """Rays in the first scene."""
    return Rays(torch.zeros(points.shape[1], dtype=torch.int64), points, lamp - points)


def rays_that_arrive(solids: Solids, points: Tensor, lamp: Tensor, seed: int) -> Tensor:
    """Share of rays from points [3, m] to places on a disc at `lamp` [3], facing the point, that pass."""
    generator = seeded(seed)
    ahead = torch.nn.functional.normalize(lamp[:, None] - points, dim=0)
    side = torch.nn.functional.normalize(torch.stack([-ahead[1], ahead[0], 0 * ahead[0]]), dim=0)
    other = torch.linalg.cross(ahead, side, dim=0)
    passed = []
    for _ in range(200):
        angle, radius = torch.rand(2, generator=generator)
        x, y = (LAMP_RADIUS * radius.sqrt() * f(2 * torch.pi * angle) for f in (torch.cos, torch.sin))
        directions = lamp[:, None] + x * side + y * other - points
        depths, _ = meet(solids, torch.zeros(points.shape[1], dtype=torch.int64), points, directions)
        passed.append(depths.isinf())
    return torch.stack(passed).float().mean(0)


@pytest.mark.parametrize("shape", ATTRIBUTES["shape"])
def test_shadows_are_as_dark_as_rays_to_the_lamp_make_them(shape: str) -> None:
    solids = solids_of(still_life(thing(shape, rotation=0.3)))
    lamp = torch.tensor([2.0, -1.5, 5.0])
    line = torch.linspace(-4, 4, 33)
    points = torch.cartesian_prod(line, line).T
    points = torch.cat([points, torch.zeros(1, points.shape[1])])
    points = points[:, points[:2].norm(dim=0) > 1.1]
    fast = seen_share(solids, toward(lamp[:, None], points), NOTHING)
    slow = rays_that_arrive(solids, points, lamp, seed=0)
    assert (slow < 0.05).any() and (slow > 0.95).any()
    assert (fast - slow).abs().mean() < 0.02, "on the whole"
    assert (fast - slow).abs().max() < 0.5, "even at corners, whose outline is no straight edge"


def test_a_solid_does_not_shade_itself() -> None:
    solids = solids_of(still_life(thing("cube")))
    ray = toward(torch.tensor([[-3.0], [0.0], [5.0]]), torch.tensor([[0.5], [0.0], [0.0]]))
    assert seen_share(solids, ray, NOTHING).item() == 0
    assert seen_share(solids, ray, torch.tensor([0])).item() == 1


def test_two_half_shadows_let_a_quarter_through() -> None:
    solids = solids_of(still_life(thing("sphere", -0.7 - 1e-3, 0), thing("sphere", -0.7 - 1e-3, 3)))
    # The lamp's centre is on the spheres' outlines, one behind the other.
    ray = toward(torch.tensor([[0.0], [9.0], [0.7]]), torch.tensor([[0.0], [-3.0], [0.7]]))
    assert seen_share(solids, ray, NOTHING).item() == pytest.approx(0.25, abs=0.01)


def test_light_gets_weaker_with_the_square_of_the_distance() -> None:
    aim, place = torch.tensor(LAMPS[0].aim), torch.tensor(LAMPS[0].place)
    points = torch.stack([place + aim, place + 2 * aim, place - aim], 1)
    lamps = torch.tensor([lamp.place for lamp in LAMPS])[:, :, None]
    found, *_ = lights(solids_of(still_life()), toward(place[:, None], points).scenes, points, lamps, NOTHING)
    assert torch.allclose(found.strengths, torch.tensor([1.0, 0.25, 0.0]), atol=0.01)
    assert torch.allclose(found.toward[:, 0], -aim, atol=0.01)
    assert (found.seen == 1).all() and found.color.flatten().tolist() == pytest.approx(LAMPS[0].strength)


def test_lamps_are_moved_a_little_in_each_scene() -> None:
    drawn = drawn_lamps(400, seeded(), CPU)
    shifts = drawn - torch.tensor([lamp.place for lamp in LAMPS])[:, :, None]
    assert shifts.abs().max() <= LAMP_JITTER and (shifts.abs().amax(2) > 0.9 * LAMP_JITTER).all()
    again = drawn_lamps(2, seeded(), CPU)
    assert torch.equal(again, drawn[:, :, :2]), "more scenes leave the first ones as they are"
