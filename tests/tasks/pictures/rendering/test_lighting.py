"""Lamps and soft shadows, against rays to many places on the lamp."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.pictures.rendering.lighting import (
    LAMP_JITTER,
    LAMP_RADIUS,
    LAMPS,
    drawn_lamps,
    light,
    seen_share,
)
from ngs.tasks.pictures.rendering.solids import Solids, meet
from tests.tasks.pictures.rendering.still_lifes import still_life, thing

CPU = torch.device("cpu")


def rays_that_arrive(solids: Solids, points: Tensor, lamp: Tensor, seed: int) -> Tensor:
    """Share of rays from points [3, m] to places on a disc at `lamp` [3], facing the point, that pass."""
    generator = torch.Generator().manual_seed(seed)
    toward = torch.nn.functional.normalize(lamp[:, None] - points, dim=0)
    side = torch.nn.functional.normalize(torch.stack([-toward[1], toward[0], 0 * toward[0]]), dim=0)
    other = torch.linalg.cross(toward, side, dim=0)
    passed = []
    for _ in range(200):
        angle, radius = torch.rand(2, generator=generator)
        x, y = (LAMP_RADIUS * radius.sqrt() * f(2 * torch.pi * angle) for f in (torch.cos, torch.sin))
        directions = lamp[:, None] + x * side + y * other - points
        hits = meet(solids, torch.zeros(points.shape[1], dtype=torch.int64), points, directions)
        passed.append(hits.depths.isinf())
    return torch.stack(passed).float().mean(0)


@pytest.mark.parametrize("shape", ATTRIBUTES["shape"])
def test_shadows_are_as_dark_as_rays_to_the_lamp_make_them(shape: str) -> None:
    solids = Solids.of([still_life(thing(shape, rotation=0.3))], CPU)
    lamp = torch.tensor([2.0, -1.5, 5.0])
    line = torch.linspace(-4, 4, 33)
    points = torch.cartesian_prod(line, line).T
    points = torch.cat([points, torch.zeros(1, points.shape[1])])
    points = points[:, points[:2].norm(dim=0) > 1.1]
    scenes = torch.zeros(points.shape[1], dtype=torch.int64)
    fast = seen_share(solids, scenes, points, lamp[:, None].expand(3, len(scenes)), scenes - 1)
    slow = rays_that_arrive(solids, points, lamp, seed=0)
    assert (slow < 0.05).any() and (slow > 0.95).any()
    assert (fast - slow).abs().mean() < 0.02, "on the whole"
    assert (fast - slow).abs().max() < 0.5, "even at corners, whose outline is no straight edge"


def test_a_solid_does_not_shade_itself() -> None:
    solids = Solids.of([still_life(thing("cube"))], CPU)
    point, lamp = torch.tensor([[0.5], [0.0], [0.0]]), torch.tensor([[-3.0], [0.0], [5.0]])
    zero = torch.zeros(1, dtype=torch.int64)
    assert seen_share(solids, zero, point, lamp, zero - 1).item() == 0
    assert seen_share(solids, zero, point, lamp, zero).item() == 1


def test_two_half_shadows_let_a_quarter_through() -> None:
    together = [thing("sphere", -0.7 - 1e-3, 0), thing("sphere", -0.7 - 1e-3, 3)]
    solids = Solids.of([still_life(*together)], CPU)
    # The lamp's centre is on the spheres' outlines, one behind the other.
    point, lamp = torch.tensor([[0.0], [-3.0], [0.7]]), torch.tensor([[0.0], [9.0], [0.7]])
    zero = torch.zeros(1, dtype=torch.int64)
    assert seen_share(solids, zero, point, lamp, zero - 1).item() == pytest.approx(0.25, abs=0.01)


def test_light_gets_weaker_with_the_square_of_the_distance() -> None:
    lamp, aim = LAMPS[0], torch.tensor(LAMPS[0].aim)
    place = torch.tensor(lamp.place)
    points = torch.stack([place + aim, place + 2 * aim, place - aim], 1)
    found = light(lamp, place[:, None].expand(3, 3), points)
    assert torch.allclose(found.strengths, torch.tensor([1.0, 0.25, 0.0]), atol=0.01)
    assert torch.allclose(found.toward[:, 0], -aim, atol=0.01)


def test_lamps_are_moved_a_little_in_each_scene() -> None:
    drawn = drawn_lamps(400, torch.Generator().manual_seed(0), CPU)
    shifts = drawn - torch.tensor([lamp.place for lamp in LAMPS])[:, :, None]
    assert shifts.abs().max() <= LAMP_JITTER and (shifts.abs().amax(2) > 0.9 * LAMP_JITTER).all()
    again = drawn_lamps(2, torch.Generator().manual_seed(0), CPU)
    assert torch.equal(again, drawn[:, :, :2]), "more scenes leave the first ones as they are"
