"""Objects as solids that rays meet: spheres, and cubes and cylinders with rounded edges.

Vectors are float [3, m]: one component after the other, which PyTorch adds up faster than [m, 3].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import cos, sin
from typing import NamedTuple

import torch
from torch import Tensor

from ngs.tasks.clevr.scene_sampling import RADIUS
from ngs.tasks.clevr.scenes import ATTRIBUTES, MOST_OBJECTS, Scene

ROUNDING = {"cube": 0.17, "cylinder": 0.07}
"""Radius of the rounded edges, as a share of the object's."""
REACHES = {"cube": 3**0.5, "sphere": 1.0, "cylinder": 2**0.5}
"""How far the solid reaches from its centre at most, as a share of the object's radius."""
STEPS = 7
"""of sphere tracing after the sharp-edged solid is entered: faces need none, rounded edges two or three"""
NEAR = 0.005
"""How near the surface, as a share of the radius, a ray has come that counts as meeting it."""
TINY = 1e-9
"""Less than any length that matters; keeps quotients finite."""
NO_SOLID = (0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0)
"""A row of the table for an object that a scene lacks: nowhere, and reaching nowhere."""


@dataclass(frozen=True)
class Solids:
    """The objects of n scenes, MOST_OBJECTS for each; those that a scene lacks have the shape -1."""

    centers: Tensor
    """float [3, n * k]"""
    radii: Tensor
    """float [n * k]: half the height"""
    turns: Tensor
    """float [2, n * k]: cosine and sine of the turn around the vertical axis"""
    reaches: Tensor
    """float [n * k]: radius of the smallest ball around the centre that holds the solid, 0 for none"""
    shapes: Tensor
    """int [n * k]: number in ATTRIBUTES; likewise"""
    colors: Tensor
    materials: Tensor

    @classmethod
    def of(cls, scenes: Sequence[Scene], device: torch.device) -> Solids:
        """The solids of scenes, whose stored `rotation` is taken for radians as the release did."""
        rows, columns = [], []
        for n, scene in enumerate(scenes):
            for k, thing in enumerate(scene.things):
                columns.append(n * MOST_OBJECTS + k)
                words = (
                    ATTRIBUTES[name].index(getattr(thing, name)) for name in ("shape", "color", "material")
                )
                radius = RADIUS[thing.size]
                reach = radius * REACHES[thing.shape]
                rows.append(
                    (*thing.position, radius, cos(thing.rotation), sin(thing.rotation), reach, *words)
                )
        table = torch.tensor(NO_SOLID).expand(len(scenes) * MOST_OBJECTS, -1).clone()
        table[columns] = torch.tensor(rows).reshape(len(rows), len(NO_SOLID))
        table = table.T.to(device)
        return cls(table[:3], table[3], table[4:6], table[6], *table[7:].long())


class Hits(NamedTuple):
    """Where rays first meet solids."""

    depths: Tensor
    """float [m], inf where the ray misses; a point is origin + depth * direction"""
    normals: Tensor
    """float [3, m], outwards; anything where the ray misses"""


def meet(solids: Solids, numbers: Tensor, origins: Tensor, directions: Tensor) -> Hits:
    """Ray m with solid `numbers[m]` alone."""
    depths = torch.full_like(origins[0], torch.inf)
    normals = torch.zeros_like(origins)
    shapes = solids.shapes[numbers]
    for shape, name in enumerate(ATTRIBUTES["shape"]):
        chosen = (shapes == shape).nonzero()[:, 0]
        which = numbers[chosen]
        found = MEETINGS[name](*in_frame_of(solids, which, origins[:, chosen], directions[:, chosen]))
        depths[chosen] = found.depths
        normals[:, chosen] = turned(found.normals, solids.turns[:, which])
    return Hits(depths, normals)


def in_frame_of(solids: Solids, numbers: Tensor, points: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Points and vectors [3, m] seen from a solid that stands straight at the origin and has radius one."""
    cosine, sine = solids.turns[:, numbers]
    back = torch.stack([cosine, -sine])
    radii = solids.radii[numbers]
    return turned(points - solids.centers[:, numbers], back) / radii, turned(vectors, back) / radii


def turned(vectors: Tensor, turns: Tensor) -> Tensor:
    """Vectors [3, m] turned around the vertical axis by angles of which cosine and sine are given."""
    x, y, z = vectors
    cosine, sine = turns
    return torch.stack([x * cosine - y * sine, y * cosine + x * sine, z])


# Solids of radius one around the origin


def meet_sphere(origins: Tensor, directions: Tensor) -> Hits:
    """|o + t d| = 1: the smaller root t of a quadratic equation."""
    depths, leaves = inside_ball(origins, directions)
    depths = torch.where((depths < leaves) & (depths > 0), depths, torch.inf)
    return Hits(depths, origins + torch.where(depths.isfinite(), depths, 0) * directions)


def meet_cube(origins: Tensor, directions: Tensor) -> Hits:
    """The cube [-1, 1]^3 with rounded edges."""
    core = 1 - ROUNDING["cube"]
    enters, leaves = between_walls(origins, directions)
    depths, points = _traced(
        origins, directions, enters.amax(0), leaves.amin(0), ROUNDING["cube"], lambda p: p.abs() - core
    )
    return Hits(depths, unit((points.abs() - core).clamp(min=0) * points.sign()))


def meet_cylinder(origins: Tensor, directions: Tensor) -> Hits:
    """The upright cylinder of radius 1 and height 2, with rounded rims."""
    core = 1 - ROUNDING["cylinder"]
    enters, leaves = inside_ball(origins[:2], directions[:2])
    above, below = between_walls(origins[2], directions[2])
    enters, leaves = torch.maximum(enters, above), torch.minimum(leaves, below)

    def beyond(points: Tensor) -> Tensor:
        return torch.stack([length(points[:2]) - core, points[2].abs() - core])

    depths, points = _traced(origins, directions, enters, leaves, ROUNDING["cylinder"], beyond)
    around, along = beyond(points).clamp(min=0)
    sideways = points[:2] * (around / length(points[:2]).clamp(min=core))
    return Hits(depths, unit(torch.cat([sideways, (along * points[2].sign())[None]])))


MEETINGS: Mapping[str, Callable[[Tensor, Tensor], Hits]] = {
    "cube": meet_cube,
    "sphere": meet_sphere,
    "cylinder": meet_cylinder,
}


def inside_ball(origins: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
    """From where to where |o + t d| < 1, in as many dimensions as there are; (inf, -inf) for nowhere."""
    a = directions.square().sum(0).clamp(min=TINY)
    b = (origins * directions).sum(0)
    rest = b.square() - a * (origins.square().sum(0) - 1)
    half = torch.where(rest > 0, rest.abs().sqrt(), -torch.inf)
    return (-b - half) / a, (-b + half) / a


def between_walls(origins: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
    """From where to where |o + t d| < 1, for each component by itself."""
    inverses = 1 / torch.where(directions.abs() < TINY, TINY, directions)
    middles, halves = -origins * inverses, inverses.abs()
    return middles - halves, middles + halves


def _traced(
    origins: Tensor,
    directions: Tensor,
    enters: Tensor,
    leaves: Tensor,
    rounding: float,
    beyond: Callable[[Tensor], Tensor],
) -> tuple[Tensor, Tensor]:
    """Depth (inf for none) and point at which rays that enter the sharp-edged solid meet the rounded one.

    The rounded solid is what is within `rounding` of a core, and `beyond` says how far a point is outside
    the core along each axis. Its distance |max(beyond, 0)| - rounding is a step that never goes too far
    (sphere tracing, Hart 1996).
    """
    entered = (enters < leaves) & (enters > 0)
    depths = torch.where(entered, enters, 0)
    speeds = length(directions)
    for _ in range(STEPS):
        distances = length(beyond(origins + depths * directions).clamp(min=0)) - rounding
        depths = depths + distances / speeds
    points = origins + depths * directions
    return torch.where(entered & (distances < NEAR), depths, torch.inf), points


@cache
def constant(numbers: tuple[float, ...] | tuple[tuple[float, ...], ...], device: torch.device) -> Tensor:
    """The numbers on a device, where they stay: sending them would wait for all that the device has to do."""
    return torch.tensor(numbers, device=device)


def unit(vectors: Tensor) -> Tensor:
    return vectors / length(vectors).clamp(min=TINY)


def length(vectors: Tensor) -> Tensor:
    """float [m], of vectors [k, m]: `norm` takes several times as long along the first axis."""
    return vectors.square().sum(0).sqrt()
