"""The three lamps of CLEVR, and how much of each is seen from a point: soft shadows.

Places, aims and strengths were fitted to the bare ground of 160 released images, none of them among those
that are kept aside for testing, with lamps that are moved for each image as the release did.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ngs.tasks.clevr.scenes import ATTRIBUTES, MOST_OBJECTS
from ngs.tasks.pictures.rendering.solids import TINY, Solids, between_walls, constant, in_frame_of, length


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

    toward: Tensor
    """float [3, m]: unit vectors to the lamp"""
    strengths: Tensor
    """float [m]: of what falls on a surface that faces the lamp, times the lamp's `strength`"""


def drawn_lamps(number: int, generator: torch.Generator, device: torch.device) -> Tensor:
    """float [lamp, 3, number]: where the lamps of so many scenes stand."""
    places = torch.tensor([lamp.place for lamp in LAMPS], device=device)[:, :, None]
    shifts = 2 * torch.rand(number, len(LAMPS), 3, generator=generator, device=generator.device) - 1
    return places + LAMP_JITTER * shifts.permute(1, 2, 0).to(device)


def light(lamp: Lamp, places: Tensor, points: Tensor) -> Light:
    """That of a lamp at `places` [3, m]: cosine at the lamp / squared distance."""
    toward = places - points
    squares = toward.square().sum(0)
    toward = toward / squares.sqrt()
    along = constant(lamp.aim, points.device) @ toward
    return Light(toward, -along.clamp(max=0) / squares)


def seen_share(solids: Solids, scenes: Tensor, points: Tensor, lamps: Tensor, standing_on: Tensor) -> Tensor:
    """float [m]: the share of a lamp at `lamps` [3, m] that no solid hides from points [3, m].

    A solid as seen from the point covers the share of the lamp's disc that a straight edge does which is as
    far from the disc's centre as the solid's outline is. A point's own solid, `standing_on` (-1 for none),
    hides nothing: what faces away from the lamp is dark anyway.
    """
    to_lamp = lamps - points
    distances = length(to_lamp)
    directions = to_lamp / distances
    numbers = scenes * MOST_OBJECTS + torch.arange(MOST_OBJECTS, device=points.device)[:, None]
    ahead = solids.centers[:, numbers] - points[:, None]
    along = (ahead * directions[:, None]).sum(0)
    apart = ahead.square().sum(0) - along.square()
    reach = solids.reaches[numbers]
    widths = along * (LAMP_RADIUS / distances)
    near = (apart < (reach + widths).square()) & (along > 0) & (reach > 0) & (numbers != standing_on)
    slots, chosen = near.nonzero().unbind(1)
    covered = _covered(
        solids, numbers[slots, chosen], points[:, chosen], directions[:, chosen], widths[slots, chosen]
    )
    shares = torch.ones_like(distances)
    return shares.scatter_reduce_(0, chosen, 1 - covered, "prod")


def _covered(solids: Solids, numbers: Tensor, points: Tensor, directions: Tensor, widths: Tensor) -> Tensor:
    """Share of a disc of radius `widths` around each ray that the outline of its solid covers."""
    covered = torch.zeros_like(widths)
    shapes = solids.shapes[numbers]
    for shape, name in enumerate(ATTRIBUTES["shape"]):
        chosen = (shapes == shape).nonzero()[:, 0]
        which = numbers[chosen]
        place, direction = in_frame_of(solids, which, points[:, chosen], directions[:, chosen])
        direction = direction * solids.radii[which]
        depth = OUTLINES[name](place, direction) * solids.radii[which] / widths[chosen].clamp(min=TINY)
        covered[chosen] = ((depth.clamp(-1, 1) + 1) / 2).square() * (2 - depth.clamp(-1, 1))
    return covered


# How far a ray is inside the outline of a solid of radius one that it looks at; negative outside.


def _inside_sphere(origins: Tensor, directions: Tensor) -> Tensor:
    along = (origins * directions).sum(0)
    return 1 - (origins.square().sum(0) - along.square()).clamp(min=0).sqrt()


def _inside_cube(origins: Tensor, directions: Tensor) -> Tensor:
    """The least distance to the six edges that make the outline.

    The edge between a wall across axis i, entered at t_i, and one across axis j, left at t_j, is
    (t_j - t_i) |d_i d_j| / |(d_i, d_j)| away.
    """
    enters, leaves = between_walls(origins, directions)
    least = torch.full_like(enters[0], torch.inf)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        across = (directions[i] * directions[j]).abs() / torch.hypot(directions[i], directions[j]).clamp(
            min=TINY
        )
        overlap = torch.minimum(leaves[j] - enters[i], leaves[i] - enters[j])
        least = torch.minimum(least, overlap * across)
    return least


def _inside_cylinder(origins: Tensor, directions: Tensor) -> Tensor:
    """As for the cube, with the round wall in place of two flat ones; its rims are taken for straight."""
    x, y, z = directions
    level = torch.hypot(x, y).clamp(min=TINY)
    beside = (origins[0] * y - origins[1] * x).abs() / level
    middle = -(origins[0] * x + origins[1] * y) / level.square()
    half = (1 - beside.square()).clamp(min=0).sqrt() / level
    above, below = between_walls(origins[2], z)
    overlap = torch.minimum(middle + half - above, below - middle + half)
    return torch.minimum(1 - beside, overlap * level * z.abs())


OUTLINES = {"cube": _inside_cube, "sphere": _inside_sphere, "cylinder": _inside_cylinder}
