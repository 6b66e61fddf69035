"""The three lamps of CLEVR, and how much of each is seen from a point: soft shadows.

Places, aims and strengths were fitted to the bare ground of 160 released images, none of them among those
that are kept aside for testing, with lamps that are moved for each image as the release did.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import torch
from torch import Tensor

from ngs.tasks.pictures.rendering.solids import (
    TINY,
    WALLS,
    Rays,
    Solids,
    by_shape,
    constant,
    crossings,
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
    chosen, numbers, widths = near_rays(solids, to_lamp, standing_on, LAMP_RADIUS)
    rays, depths = to_lamp.at(chosen), torch.empty_like(widths)
    for some, found in by_shape(inside_outline, solids, numbers, rays.origins, rays.directions):
        depths[some] = found
    depths = (depths * solids.radii[numbers] / widths.clamp(min=TINY)).clamp(-1, 1)
    covered = ((depths + 1) / 2).square() * (2 - depths)
    return torch.ones_like(to_lamp.origins[0]).scatter_reduce_(0, chosen, 1 - covered, "prod")


def inside_outline(shape: str, origins: Tensor, directions: Tensor) -> Tensor:
    """float [m]: how far rays are inside the outline of a solid of radius one; negative outside.

    That is the least distance to a round wall, or to an edge of the outline. The edge between a wall that is
    entered at t_i and one that is left at t_j, where the ray has the speeds d_i and d_j across them, is
    (t_j - t_i) |d_i d_j| / |(d_i, d_j)| away. Rims of a cylinder are taken for straight.
    """
    enters, leaves = crossings(shape, origins, directions)
    parts = list(zip(*(torch.split(each, WALLS[shape]) for each in (origins, directions)), strict=True))
    least = torch.full_like(enters[0], torch.inf)
    for place, across in parts:
        if len(place) > 1:
            apart = place.square().sum(0) - (place * unit(across)).sum(0).square()
            least = torch.minimum(least, 1 - apart.clamp(min=0).sqrt())
    for i, j in combinations(range(len(parts)), 2):
        one, other = length(parts[i][1]), length(parts[j][1])
        overlap = torch.minimum(leaves[j] - enters[i], leaves[i] - enters[j])
        least = torch.minimum(least, overlap * one * other / torch.hypot(one, other).clamp(min=TINY))
    return least
