"""The three lamps of CLEVR, and how much of each is seen from a point: soft shadows.

Places, aims and strengths were fitted to the bare ground of 160 released images, none of them among those
that are kept aside for testing, with lamps that are moved for each image as the release did.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ngs.tasks.pictures.rendering.solids import (
    TINY,
    Rays,
    Solids,
    between_walls,
    by_shape,
    constant,
    length,
    near_rays,
    unit,
)


@dataclass(frozen=True)
class Lamp:
    """A small lit square: it shines most along its aim, and the less the farther."""

    place: tuple[float, float, float]
    aim: tuple[float, float, float]
    """unit vector"""
    strength: tuple[float, float, float]
    """red, green, blue on the ground at a distance of one, under the lamp's aim"""


LAMPS = (
    Lamp((5.40, -2.37, 4.32), (-0.163, 0.060, -0.985), (3.70, 3.42, 2.94)),
    Lamp((-4.78, -3.92, 2.98), (0.722, 0.599, -0.346), (1.40, 1.52, 1.88)),
    Lamp((-0.22, 2.90, 5.24), (-0.165, -0.615, -0.771), (2.75, 2.70, 2.63)),
)
"""key, fill and back"""
LAMP_JITTER = 1.0
"""How far a lamp is moved at most, along each axis."""
LAMP_RADIUS = 0.35


class Light(NamedTuple):
    """What a lamp does at points."""

    color: Tensor
    """float [3, 1]: its `strength`"""
    toward: Tensor
    """float [3, m]: unit vectors to the lamp"""
    strengths: Tensor
    """float [m]: of what falls on a surface that faces the lamp: cosine at the lamp / squared distance"""
    seen: Tensor
    """float [m]: the share of the lamp that no solid hides"""


def drawn_lamps(number: int, generator: torch.Generator, device: torch.device) -> Tensor:
    """float [lamp, 3, number]: where the lamps of so many scenes stand."""
    places = torch.tensor([lamp.place for lamp in LAMPS], device=device)[:, :, None]
    shifts = 2 * torch.rand(number, len(LAMPS), 3, generator=generator, device=generator.device) - 1
    return places + LAMP_JITTER * shifts.permute(1, 2, 0).to(device)


def lights(
    solids: Solids, scenes: Tensor, points: Tensor, lamps: Tensor, standing_on: Tensor | int
) -> Iterator[Light]:
    """What each of the lamps [lamp, 3, scene] does at points [3, m]; see `seen_share`."""
    for lamp, places in zip(LAMPS, lamps, strict=True):
        rays = Rays(scenes, points, places[:, scenes] - points)
        squares = rays.directions.square().sum(0)
        toward = rays.directions / squares.sqrt()
        along = constant(lamp.aim, points.device) @ toward
        color = constant(lamp.strength, points.device)[:, None]
        yield Light(color, toward, -along.clamp(max=0) / squares, seen_share(solids, rays, standing_on))


def seen_share(solids: Solids, to_lamp: Rays, standing_on: Tensor | int) -> Tensor:
    """float [m]: the share of a lamp, at the depth of one on each ray, that no solid hides.

    A solid covers the share of the lamp's disc that a straight edge does which is as far from the disc's
    centre as the solid's outline is. The solid that a ray is `standing_on` (NOTHING for none) hides nothing:
    what faces away from the lamp is dark anyway.
    """
    pairs, widths = near_rays(solids, to_lamp, standing_on, LAMP_RADIUS)
    rays, depths = to_lamp.at(pairs.rays), torch.empty_like(widths)
    for chosen, inside in by_shape(OUTLINES, solids, pairs.solids, rays.origins, rays.directions):
        depths[chosen] = inside
    depths = (depths * solids.radii[pairs.solids] / widths.clamp(min=TINY)).clamp(-1, 1)
    covered = ((depths + 1) / 2).square() * (2 - depths)
    return torch.ones_like(to_lamp.origins[0]).scatter_reduce_(0, pairs.rays, 1 - covered, "prod")


# How far a ray is inside the outline of a solid of radius one that it looks at; negative outside.


def _inside_sphere(origins: Tensor, directions: Tensor) -> Tensor:
    along = (origins * unit(directions)).sum(0)
    return 1 - (origins.square().sum(0) - along.square()).clamp(min=0).sqrt()


def _inside_cube(origins: Tensor, directions: Tensor) -> Tensor:
    """The least distance to the six edges that make the outline.

    The edge between a wall across axis i, entered at t_i, and one across axis j, left at t_j, is
    (t_j - t_i) |d_i d_j| / |(d_i, d_j)| away.
    """
    enters, leaves = between_walls(origins, directions)
    least = torch.full_like(enters[0], torch.inf)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        speeds = directions[[i, j]]
        across = speeds.prod(0).abs() / length(speeds).clamp(min=TINY)
        overlap = torch.minimum(leaves[j] - enters[i], leaves[i] - enters[j])
        least = torch.minimum(least, overlap * across)
    return least


def _inside_cylinder(origins: Tensor, directions: Tensor) -> Tensor:
    """As for the cube, with the round wall in place of two flat ones; its rims are taken for straight."""
    x, y, z = unit(directions)
    level = torch.hypot(x, y).clamp(min=TINY)
    beside = (origins[0] * y - origins[1] * x).abs() / level
    middle = -(origins[0] * x + origins[1] * y) / level.square()
    half = (1 - beside.square()).clamp(min=0).sqrt() / level
    above, below = between_walls(origins[2], z)
    overlap = torch.minimum(middle + half - above, below - middle + half)
    return torch.minimum(1 - beside, overlap * level * z.abs())


OUTLINES = {"cube": _inside_cube, "sphere": _inside_sphere, "cylinder": _inside_cylinder}
