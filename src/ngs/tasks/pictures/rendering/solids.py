"""Spheres, and cubes and cylinders with rounded edges, as solids; and which of them a ray meets first.

Vectors are float [3, m]: one component after the other, which PyTorch adds up faster than [m, 3].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import cos, sin
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from ngs.tasks.clevr.scene_sampling import RADIUS
from ngs.tasks.clevr.scenes import ATTRIBUTES, MOST_OBJECTS, Scene, Thing

ROUNDING = {"cube": 0.17, "cylinder": 0.07}
"""Radius of the rounded edges, as a share of the object's."""
REACHES = {"cube": 3**0.5, "sphere": 1.01, "cylinder": 2**0.5}
"""How far the solid reaches from its centre at most, as a share of the object's radius; more than the radius
of a sphere, so that rounding leaves out no ray."""
STEPS = 7
"""of sphere tracing after the sharp-edged solid is entered: faces need none, rounded edges two or three"""
NEAR = 0.005
"""How near the surface, as a share of the radius, a ray has come that counts as meeting it."""
TINY = 1e-9
"""Less than any length that matters; keeps quotients finite."""
NOTHING = -1
NO_SOLID = (0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, NOTHING, 0.0, 0.0)
"""A row of the table for an object that a scene lacks: nowhere, and reaching nowhere."""


@dataclass(frozen=True)
class Solids:
    """The objects of n scenes, MOST_OBJECTS for each; those that a scene lacks have the shape NOTHING."""

    centers: Tensor
    """float [3, n * k]"""
    radii: Tensor
    """float [n * k]: half the height"""
    turns: Tensor
    """float [2, n * k]: cosine and sine of the turn around the vertical axis"""
    reaches: Tensor
    """float [n * k]: radius of a ball around the centre that holds the solid, 0 for none"""
    shapes: Tensor
    """int [n * k]: number in ATTRIBUTES; likewise"""
    colors: Tensor
    materials: Tensor

    @classmethod
    def of(cls, scenes: Sequence[Scene], device: torch.device) -> Solids:
        """The solids of scenes, whose stored `rotation` is taken for radians as the release did."""

        def row(thing: Thing) -> Sequence[float]:
            words = (ATTRIBUTES[name].index(getattr(thing, name)) for name in ("shape", "color", "material"))
            radius, turn = RADIUS[thing.size], thing.rotation
            return *thing.position, radius, cos(turn), sin(turn), radius * REACHES[thing.shape], *words

        table = table_of(scenes, row, NO_SOLID).flatten(0, 1).float().T.to(device)
        return cls(table[:3], table[3], table[4:6], table[6], *table[7:].long())


def table_of(
    scenes: Sequence[Scene], row: Callable[[Thing], Sequence[float]], missing: Sequence[float]
) -> Tensor:
    """float64 [scene, MOST_OBJECTS, column]: a row for each object, `missing` for what a scene lacks."""
    rows = [[*map(row, scene.things)] + [missing] * (MOST_OBJECTS - len(scene.things)) for scene in scenes]
    return torch.tensor(rows, dtype=torch.float64).reshape(len(scenes), MOST_OBJECTS, len(missing))


# Which solid a ray meets first


class Rays(NamedTuple):
    """Rays in several scenes."""

    scenes: Tensor
    """int [m]: the scene each ray is in"""
    origins: Tensor
    """float [3, m]"""
    directions: Tensor
    """float [3, m], of any length"""

    def at(self, chosen: Tensor) -> Rays:
        return Rays(self.scenes[chosen], self.origins[:, chosen], self.directions[:, chosen])


class Pairs(NamedTuple):
    """Rays and solids that may meet."""

    rays: Tensor
    """int [p]: number of the ray"""
    solids: Tensor
    """int [p]: number of the solid"""


class Hits(NamedTuple):
    """Where rays first meet solids."""

    depths: Tensor
    """float [m], inf where the ray misses; a point is origin + depth * direction"""
    normals: Tensor
    """float [3, m], outwards; anything where the ray misses"""


class Found(NamedTuple):
    """What each ray meets first."""

    solids: Tensor
    """int [m], NOTHING if it meets none"""
    depths: Tensor
    normals: Tensor
    """as in `Hits`"""


def nearest(solids: Solids, rays: Rays, pairs: Pairs) -> Found:
    """The first meeting of each ray among the pairs."""
    hits = meet(solids, pairs.solids, rays.origins[:, pairs.rays], rays.directions[:, pairs.rays])
    depths = torch.full_like(rays.origins[0], torch.inf)
    depths.scatter_reduce_(0, pairs.rays, hits.depths, "amin")
    first = (hits.depths.isfinite() & (hits.depths == depths[pairs.rays])).nonzero()[:, 0]
    met = torch.full_like(rays.scenes, NOTHING)
    met[pairs.rays[first]] = pairs.solids[first]
    # Two solids at the very same depth: the normal must be that of the solid that was kept.
    first = first[met[pairs.rays[first]] == pairs.solids[first]]
    normals = torch.zeros_like(rays.origins)
    normals[:, pairs.rays[first]] = hits.normals[:, first]
    return Found(met, depths, normals)


def near_rays(
    solids: Solids, rays: Rays, leave_out: Tensor | int = NOTHING, spread: float = 0.0
) -> tuple[Pairs, Tensor]:
    """Rays that pass through the ball around a solid, but for a ray's solid in `leave_out`.

    Rays are cones of radius `spread` at a depth of one. Also the radius of each cone beside the solid.
    """
    numbers = rays.scenes * MOST_OBJECTS + torch.arange(MOST_OBJECTS, device=rays.scenes.device)[:, None]
    ahead = solids.centers[:, numbers] - rays.origins[:, None]
    along = (ahead * rays.directions[:, None]).sum(0)
    depths = along / rays.directions.square().sum(0)
    apart = ahead.square().sum(0) - along * depths
    reaches, widths = solids.reaches[numbers], spread * depths
    near = (apart < (reaches + widths).square()) & (along > 0) & (reaches > 0) & (numbers != leave_out)
    slots, chosen = near.nonzero().unbind(1)
    return Pairs(chosen, numbers[slots, chosen]), widths[slots, chosen]


def meet(solids: Solids, numbers: Tensor, origins: Tensor, directions: Tensor) -> Hits:
    """Ray m with solid `numbers[m]` alone."""
    depths = torch.full_like(origins[0], torch.inf)
    normals = torch.zeros_like(origins)
    for chosen, hits in by_shape(MEETINGS, solids, numbers, origins, directions):
        depths[chosen] = hits.depths
        normals[:, chosen] = turned(hits.normals, solids.turns[:, numbers[chosen]])
    return Hits(depths, normals)


T = TypeVar("T")


def by_shape(
    functions: Mapping[str, Callable[[Tensor, Tensor], T]],
    solids: Solids,
    numbers: Tensor,
    origins: Tensor,
    directions: Tensor,
) -> Iterator[tuple[Tensor, T]]:
    """For each shape, which rays are about such a solid, and what its function says of them.

    The function is given the rays as seen from a solid that has no turn, radius one and is at the origin.
    """
    for shape, name in enumerate(ATTRIBUTES["shape"]):
        chosen = (solids.shapes[numbers] == shape).nonzero()[:, 0]
        which = numbers[chosen]
        back = solids.turns[:, which] * solids.turns.new_tensor([[1], [-1]])
        away = origins[:, chosen] - solids.centers[:, which]
        own = (turned(vectors, back) / solids.radii[which] for vectors in (away, directions[:, chosen]))
        yield chosen, functions[name](*own)


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
