"""Spheres, and cubes and cylinders with rounded edges, as solids; and which of them a ray meets first.

Vectors are float [3, m], which PyTorch sums faster than [m, 3].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import cos, sin
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from ngs.tasks.clevr.scene_sampling import RADIUS
from ngs.tasks.clevr.scenes import ATTRIBUTES, MOST_OBJECTS, Scene, Thing

WALLS = {"cube": [1, 1, 1], "sphere": [3], "cylinder": [2, 1]}
"""Which axes belong together: the sharp-edged solid of radius one is where each of these parts of a point is
shorter than one."""
ROUNDING = {"cube": 0.17, "sphere": 1.0, "cylinder": 0.07}
"""Radius of the rounded edges, as a share of the object's."""
REACHES = {shape: 1.01 * len(walls) ** 0.5 for shape, walls in WALLS.items()}
"""Radius of a ball that holds the solid, as a share of the object's radius; a little larger for rounding."""
STEPS = 7
"""of sphere tracing after the sharp-edged solid is entered: faces need none, rounded edges two or three"""
NEAR = 0.005  # distance to the surface, as a share of the radius, that counts as a hit
TINY = 1e-9  # keeps quotients finite
NOTHING = -1
NO_SOLID = (0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, NOTHING, 0.0, 0.0)  # the row of the table for a missing object


@dataclass(frozen=True)
class Solids:
    """The objects of n scenes, padded to MOST_OBJECTS with the shape NOTHING."""

    centers: Tensor  # float [3, n * k]
    radii: Tensor  # float [n * k]: half the height
    turns: Tensor  # float [2, n * k]: cosine and sine of the turn around the vertical axis
    reaches: Tensor  # float [n * k]: radius of a ball around the centre that holds the solid, 0 for none
    shapes: Tensor  # int [n * k]: index in ATTRIBUTES; likewise for the next two
    colors: Tensor
    materials: Tensor

    @classmethod
    def of(cls, scenes: Sequence[Scene], device: torch.device) -> Solids:
        """The solids of scenes; `rotation` is taken as radians, as in the release."""

        def row(thing: Thing) -> Sequence[float]:
            words = (ATTRIBUTES[name].index(getattr(thing, name)) for name in ("shape", "color", "material"))
            radius, turn = RADIUS[thing.size], thing.rotation
            return *thing.position, radius, cos(turn), sin(turn), radius * REACHES[thing.shape], *words

        table = table_of(scenes, row, NO_SOLID).flatten(0, 1).float().T.to(device)
        return cls(table[:3], table[3], table[4:6], table[6], *table[7:].long())


def table_of(
    scenes: Sequence[Scene], row: Callable[[Thing], Sequence[float]], missing: Sequence[float]
) -> Tensor:
    """float64 [scene, MOST_OBJECTS, column]: a row for each object, padded with `missing`."""
    rows = [[*map(row, scene.things)] + [missing] * (MOST_OBJECTS - len(scene.things)) for scene in scenes]
    return torch.tensor(rows, dtype=torch.float64).reshape(len(scenes), MOST_OBJECTS, len(missing))


# Which solid a ray meets first


class Rays(NamedTuple):
    """Rays in several scenes."""

    scenes: Tensor  # int [m]: the scene each ray is in
    origins: Tensor  # float [3, m]
    directions: Tensor  # float [3, m], of any length

    def at(self, chosen: Tensor) -> Rays:
        return Rays(self.scenes[chosen], self.origins[:, chosen], self.directions[:, chosen])


class Found(NamedTuple):
    """The first solid on each ray."""

    solids: Tensor  # int [m], NOTHING if it meets none
    depths: Tensor  # float [m], inf if it meets none; a point is origin + depth * direction
    normals: Tensor  # float [3, m], outwards


def nearest(solids: Solids, rays: Rays, chosen: Tensor, numbers: Tensor) -> Found:
    """The first solid on each ray, if ray `chosen[p]` can meet only solid `numbers[p]`."""
    found, outwards = meet(solids, numbers, rays.origins[:, chosen], rays.directions[:, chosen])
    depths = torch.full_like(rays.origins[0], torch.inf).scatter_reduce_(0, chosen, found, "amin")
    first = (found.isfinite() & (found == depths[chosen])).nonzero()[:, 0]
    met = torch.full_like(rays.scenes, NOTHING)
    met[chosen[first]] = numbers[first]
    # Two solids at the very same depth: the normal must be that of the solid that was kept.
    first = first[met[chosen[first]] == numbers[first]]
    normals = torch.zeros_like(rays.origins)
    normals[:, chosen[first]] = outwards[:, first]
    return Found(met, depths, normals)


def near_rays(
    solids: Solids, rays: Rays, leave_out: Tensor | int = NOTHING, spread: float = 0.0
) -> tuple[Tensor, Tensor, Tensor]:
    """Numbers [p] of rays and of solids that may be in their way, and radii [p] of the cones at the solids.

    Rays are cones of radius `spread` at a depth of one; a ray never meets its own solid in `leave_out`.
    """
    numbers = rays.scenes * MOST_OBJECTS + torch.arange(MOST_OBJECTS, device=rays.scenes.device)[:, None]
    ahead = solids.centers[:, numbers] - rays.origins[:, None]
    along = (ahead * rays.directions[:, None]).sum(0)
    depths = along / rays.directions.square().sum(0)
    apart = ahead.square().sum(0) - along * depths
    reaches, widths = solids.reaches[numbers], spread * depths
    near = (apart < (reaches + widths).square()) & (along > 0) & (reaches > 0) & (numbers != leave_out)
    slots, chosen = near.nonzero().unbind(1)
    return chosen, numbers[slots, chosen], widths[slots, chosen]


def meet(solids: Solids, numbers: Tensor, origins: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
    """Depth [m] and normal [3, m] where ray m meets solid `numbers[m]`; see `meet_shape`."""
    depths = torch.full_like(origins[0], torch.inf)
    normals = torch.zeros_like(origins)
    for chosen, (found, outwards) in by_shape(meet_shape, solids, numbers, origins, directions):
        depths[chosen] = found
        normals[:, chosen] = turned(outwards, solids.turns[:, numbers[chosen]])
    return depths, normals


T = TypeVar("T")


def by_shape(
    function: Callable[[str, Tensor, Tensor], T],
    solids: Solids,
    numbers: Tensor,
    origins: Tensor,
    directions: Tensor,
) -> Iterator[tuple[Tensor, T]]:
    """For each shape, the rays about such solids and the result of the function for them.

    The function gets the shape, and the rays relative to an unturned solid of radius one at the origin.
    """
    for shape, name in enumerate(ATTRIBUTES["shape"]):
        chosen = (solids.shapes[numbers] == shape).nonzero()[:, 0]
        which = numbers[chosen]
        cosine, sine = solids.turns[:, which]
        back = torch.stack([cosine, -sine])
        away = origins[:, chosen] - solids.centers[:, which]
        own = (turned(vectors, back) / solids.radii[which] for vectors in (away, directions[:, chosen]))
        yield chosen, function(name, *own)


def turned(vectors: Tensor, turns: Tensor) -> Tensor:
    """Vectors [3, m] turned around the vertical axis by angles, given as cosine and sine [2, m]."""
    x, y, z = vectors
    cosine, sine = turns
    return torch.stack([x * cosine - y * sine, y * cosine + x * sine, z])


# Solids of radius one around the origin


def meet_shape(shape: str, origins: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
    """Depth [m], inf for none, and normal [3, m] where rays meet a solid of radius one around the origin.

    They enter the sharp-edged solid; the rounded one is what is within its rounding r of a core of radius
    1 - r. With |p_w| the length of a point over the axes of wall w, its distance

        |max(|p_w| - core, 0)| - r

    is a step along the ray that never goes too far (sphere tracing, Hart 1996).
    """
    core = 1 - ROUNDING[shape]
    enters, leaves = crossings(shape, origins, directions)
    enters, leaves = enters.amax(0), leaves.amin(0)
    entered = (enters < leaves) & (enters > 0)
    depths, speeds = torch.where(entered, enters, 0), length(directions)
    for _ in range(STEPS):
        parts = torch.split(origins + depths * directions, WALLS[shape])
        squares = [(length(part) - core).clamp(min=0).square() for part in parts]
        distances = torch.stack(squares).sum(0).sqrt() - ROUNDING[shape]
        depths = depths + distances / speeds
    parts = torch.split(origins + depths * directions, WALLS[shape])
    outside = [part * (1 - core / length(part).clamp(min=core + TINY)) for part in parts]
    return torch.where(entered & (distances < NEAR), depths, torch.inf), unit(torch.cat(outside))


def crossings(shape: str, origins: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
    """[wall, m]: the depths where a ray enters and leaves each wall of the sharp-edged solid."""
    parts = zip(*(torch.split(vectors, WALLS[shape]) for vectors in (origins, directions)), strict=True)
    enters, leaves = zip(*(inside(*part) for part in parts), strict=True)
    return torch.stack(enters), torch.stack(leaves)


def inside(origins: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
    """Depths [m] between which |o + t d| < 1, in any dimension; twice the same for nowhere."""
    if len(origins) == 1:
        inverses = 1 / torch.where(directions[0].abs() < TINY, TINY, directions[0])
        middles, halves = -origins[0] * inverses, inverses.abs()
        return middles - halves, middles + halves
    a = directions.square().sum(0).clamp(min=TINY)
    b = (origins * directions).sum(0)
    half = (b.square() - a * (origins.square().sum(0) - 1)).clamp(min=0).sqrt()
    return (-b - half) / a, (-b + half) / a


@cache
def constant(numbers: tuple[float, ...] | tuple[tuple[float, ...], ...], device: torch.device) -> Tensor:
    """The numbers on a device, cached: a copy would wait for all its work."""
    return torch.tensor(numbers, device=device)


def unit(vectors: Tensor) -> Tensor:
    return vectors / length(vectors).clamp(min=TINY)


def length(vectors: Tensor) -> Tensor:
    """float [m], of vectors [k, m]: `norm` takes several times as long along the first axis."""
    return vectors[0].abs() if len(vectors) == 1 else vectors.square().sum(0).sqrt()
