"""The three lamps of CLEVR with soft shadows, and how ground, rubber and brushed metal look in their light.

All light is linear, red, green, blue [3, m], with 1 for white in the picture. Places, aims and strengths of
the lamps were fitted to the bare ground of 160 released images, none of them among those that are kept aside
for testing, with lamps that are moved for each image as the release did. The other numbers were fitted to
released images, or chosen by eye next to them (docs/rendering.md); a colour is what CLEVR's colour table
gives, divided by 255.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import pi
from typing import NamedTuple

import torch
from torch import Tensor

from ngs.tasks.clevr.scenes import ATTRIBUTES, COLORS, MOST_OBJECTS
from ngs.tasks.pictures.rendering.solids import (
    NOTHING,
    TINY,
    WALLS,
    Found,
    Rays,
    Solids,
    by_shape,
    constant,
    crossings,
    length,
    near_rays,
    nearest,
    unit,
)


@dataclass(frozen=True)
class Lamp:
    """A small lit square; it shines most along its aim."""

    place: tuple[float, float, float]
    aim: tuple[float, float, float]  # unit vector
    strength: tuple[float, float, float]  # red, green, blue on the ground at a distance of one


LAMPS = (
    Lamp((5.40, -2.37, 4.32), (-0.163, 0.060, -0.985), (3.70, 3.42, 2.94)),
    Lamp((-4.78, -3.92, 2.98), (0.722, 0.599, -0.346), (1.40, 1.52, 1.88)),
    Lamp((-0.22, 2.90, 5.24), (-0.165, -0.615, -0.771), (2.75, 2.70, 2.63)),
)
"""key, fill and back"""
LAMP_JITTER = 1.0  # the farthest that a lamp is moved along each axis
LAMP_RADIUS = 0.35


class Light(NamedTuple):
    """The light of a lamp at points."""

    color: Tensor  # float [3, 1]
    toward: Tensor  # float [3, m]: unit vectors to the lamp
    strengths: Tensor  # float [m]: cosine at the lamp / squared distance
    seen: Tensor  # float [m]: share of the lamp that is visible


def drawn_lamps(number: int, generator: torch.Generator, device: torch.device) -> Tensor:
    """float [lamp, 3, number]: positions of the lamps of some scenes."""
    places = torch.tensor([lamp.place for lamp in LAMPS], device=device)[:, :, None]
    shifts = 2 * torch.rand(number, len(LAMPS), 3, generator=generator, device=generator.device) - 1
    return places + LAMP_JITTER * shifts.permute(1, 2, 0).to(device)


def lights(
    solids: Solids, scenes: Tensor, points: Tensor, lamps: Tensor, standing_on: Tensor | int
) -> Iterator[Light]:
    """The light of each of the lamps [lamp, 3, scene] at points [3, m]; see `seen_share`."""
    for lamp, places in zip(LAMPS, lamps, strict=True):
        rays = Rays(scenes, points, places[:, scenes] - points)
        squares = rays.directions.square().sum(0)
        toward = rays.directions / squares.sqrt()
        along = constant(lamp.aim, points.device) @ toward
        color = constant(lamp.strength, points.device)[:, None]
        yield Light(color, toward, -along.clamp(max=0) / squares, seen_share(solids, rays, standing_on))


def seen_share(solids: Solids, to_lamp: Rays, standing_on: Tensor | int) -> Tensor:
    """float [m]: the share of a lamp, at the depth of one on each ray, that no solid hides.

    A solid covers as much of the lamp's disc as a straight edge at the distance of the solid's outline from
    the disc's centre. The solid that a ray is `standing_on` (NOTHING for none) hides nothing: its far side
    is dark anyway.
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

    That is the least distance to a round wall, or to an edge of the outline. The edge between a wall that
    the ray enters at t_i and one that it leaves at t_j, with speeds d_i and d_j across them, is (t_j - t_i)
    |d_i d_j| / |(d_i, d_j)| away. Rims of a cylinder are taken as straight.
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


# Surfaces


def color_of(name: str) -> tuple[float, float, float]:
    red, green, blue = (int(COLORS[name][k : k + 2], 16) / 255 for k in (1, 3, 5))
    return red, green, blue


PALETTE = tuple(map(color_of, ATTRIBUTES["color"]))
METAL = ATTRIBUTES["material"].index("metal")
SUN = (0.42, -0.20, 0.885)  # direction of the light that is not a lamp's; it casts no shadow

GROUND_AMBIENT = (0.1375, 0.1370, 0.1363)  # the ground where no lamp reaches it
OCCLUSION = {"cube": 0.5, "sphere": 1.0, "cylinder": 0.6}
"""Share of GROUND_AMBIENT lost where the solid fills the sky; less if its sides are lit."""
BOUNCE = 0.05  # light on the ground from a white solid that fills the sky
SHADOW = 0.8  # share of a hidden lamp's light that is lost: other surfaces reflect some

RUBBER_DIFFUSE = 1.63  # brightness of white rubber under a lamp, relative to the ground
RUBBER_AMBIENT, RUBBER_AMBIENT_UP, RUBBER_SUN = 0.088, -0.112, 0.177
"""Ambient light from all sides, its slope in the upward direction, and light from SUN."""
RUBBER_SHEEN = 0.012  # colourless; stronger at a flat angle

MIRROR = 0.84  # share of the sharp mirror image in metal
SKY = 0.03  # light above the horizon: little is there but the lamps
BRUSHED_AMBIENT = 0.03  # light in the brush's streaks on metal that faces up; less on a slope
HORIZON, HORIZON_WIDTH = -0.08, 0.03  # ground and sky blend around this upward direction
SHARP, SHARP_WIDTH = 0.13, 0.04  # strength and roughness of a lamp's mirror image
BRUSHED, BRUSHED_ALONG, BRUSHED_ACROSS = 0.48, 0.21, 0.5
"""Strength of a lamp's streak; roughness along and across the brush's circles."""
SUN_SHARP, SUN_BRUSHED = 0.08, 0.05
BRIGHTEST = 4.0  # of a lamp's mirror image, so that strong colours still show in it
MIRRORED_METAL = 0.2  # reflection in metal that is itself seen in metal


class Surface(NamedTuple):
    """Points on solids, and the direction of view."""

    scenes: Tensor
    solids: Tensor
    points: Tensor
    normals: Tensor
    views: Tensor  # float [3, m]: unit vectors from the eye to the point


def seen_light(
    solids: Solids, rays: Rays, found: Found, lamps: Tensor, behind: Tensor, *, mirroring: bool = True
) -> Tensor:
    """float [3, m]: the light of what rays found, with shadows and mirror images; else `behind` [3, m]."""
    hits, of_metal = found.solids != NOTHING, solids.materials[found.solids] == METAL
    for chosen, look in (
        (hits & of_metal, partial(_metal, mirroring=mirroring)),
        (hits & ~of_metal, _rubber),
    ):
        hit = chosen.nonzero()[:, 0]
        some = rays.at(hit)
        points = some.origins + found.depths[hit] * some.directions
        seen = Surface(some.scenes, found.solids[hit], points, found.normals[:, hit], unit(some.directions))
        behind = behind.index_copy(1, hit, look(solids, seen, lamps))
    return behind


def ground_light(solids: Solids, scenes: Tensor, points: Tensor, lamps: Tensor) -> Tensor:
    """The ground at points [3, m], lit by lamps [lamp, 3, scene] as far as solids let them."""
    total = _ambient_on_ground(solids, scenes, points)
    for light in lights(solids, scenes, points, lamps, NOTHING):
        left = 1 - SHADOW * (1 - light.seen)
        total += light.color * (light.strengths * light.toward[2] * left)
    return total


def _ambient_on_ground(solids: Solids, scenes: Tensor, points: Tensor) -> Tensor:
    """GROUND_AMBIENT; a solid nearby replaces the part of the sky that it covers by its colour.

    A ball of radius r, at a distance d in a direction of upward component u, covers u r^2 / d^2 of the sky
    over the ground; cubes and cylinders are taken as balls.
    """
    covered, bounced = torch.zeros_like(points[0]), torch.zeros_like(points)
    palette = BOUNCE * constant(PALETTE, points.device).T
    losses = constant(tuple(OCCLUSION[shape] for shape in ATTRIBUTES["shape"]), points.device)[solids.shapes]
    radii = torch.where(solids.shapes == NOTHING, 0, solids.radii)
    for k in range(MOST_OBJECTS):
        numbers = scenes * MOST_OBJECTS + k
        away = solids.centers[:, numbers] - points
        squares = away.square().sum(0)
        share = away[2] * radii[numbers].square() / (squares * squares.sqrt())
        covered += share * losses[numbers]
        bounced += share * palette[:, solids.colors[numbers]]
    return constant(GROUND_AMBIENT, points.device)[:, None] * (1 - covered.clamp(max=1)) + bounced


def _colors(solids: Solids, seen: Surface) -> Tensor:
    return constant(PALETTE, seen.points.device).T[:, solids.colors[seen.solids]]


def _facing(seen: Surface) -> Tensor:
    """float [m]: cosine between normal and the way back to the eye, away from zero."""
    return -(seen.normals * seen.views).sum(0).clamp(max=-0.1)


def _rubber(solids: Solids, seen: Surface, lamps: Tensor) -> Tensor:
    """color * (diffuse * lamps + ambient + sun) + sheen."""
    diffuse, sheen = torch.zeros_like(seen.points), torch.zeros_like(seen.points)
    for light in lights(solids, seen.scenes, seen.points, lamps, seen.solids):
        cosine = (light.toward * seen.normals).sum(0).clamp(min=0)
        falling = light.strengths * light.seen
        diffuse += light.color * (falling * cosine)
        sheen += light.color * (falling * (cosine > 0))
    up = seen.normals[2]
    sun = (constant(SUN, seen.points.device) @ seen.normals).clamp(min=0)
    ambient = RUBBER_AMBIENT + RUBBER_AMBIENT_UP * up + RUBBER_SUN * sun
    return _colors(solids, seen) * (RUBBER_DIFFUSE * diffuse + ambient) + RUBBER_SHEEN * sheen / _facing(seen)


def _metal(solids: Solids, seen: Surface, lamps: Tensor, *, mirroring: bool) -> Tensor:
    """color * (mirror * mirrored + ambient + highlights)."""
    light: Tensor | float = MIRROR * MIRRORED_METAL
    if mirroring:
        directions = seen.views - 2 * (seen.views * seen.normals).sum(0) * seen.normals
        light = MIRROR * _mirrored(solids, seen, directions, lamps)
        light = light + BRUSHED_AMBIENT * seen.normals[2].clamp(min=0) ** 4
    return _colors(solids, seen) * (light + _highlights(solids, seen, lamps))


def _mirrored(solids: Solids, seen: Surface, directions: Tensor, lamps: Tensor) -> Tensor:
    """The light that arrives from these directions: of the ground, the sky or another solid."""
    down = -directions[2]
    reach = seen.points[2] / down.clamp(min=1e-2)
    ground = seen.points + reach * directions
    sky = torch.sigmoid((-down - HORIZON) / HORIZON_WIDTH)
    total = ground_light(solids, seen.scenes, ground, lamps) * (1 - sky) + SKY * sky
    rays = Rays(seen.scenes, seen.points, directions)
    found = nearest(solids, rays, *near_rays(solids, rays, leave_out=seen.solids)[:2])
    return seen_light(solids, rays, found, lamps, total, mirroring=False)


def _highlights(solids: Solids, seen: Surface, lamps: Tensor) -> Tensor:
    """Mirror images of the lamps, and their streaks across the brush's circles.

    strength * D(h) / facing, with h halfway between eye and lamp and D the distribution of Trowbridge and
    Reitz (GGX), 1 / (pi a b ((h_t / a)^2 + (h_b / b)^2 + h_n^2)^2).
    """
    along = _brush(solids, seen)
    across = torch.linalg.cross(seen.normals, along, dim=0)
    sun, everywhere = constant(SUN, seen.points.device)[:, None], torch.ones_like(seen.points[0])
    total = torch.zeros_like(seen.points)
    for sharp, brushed, light in (
        *((SHARP, BRUSHED, lamp) for lamp in lights(solids, seen.scenes, seen.points, lamps, seen.solids)),
        (SUN_SHARP, SUN_BRUSHED, Light(torch.ones_like(sun), sun, everywhere, everywhere)),
    ):
        half = unit(light.toward - seen.views)
        t, b, n = ((half * axis).sum(0) for axis in (along, across, seen.normals))
        lobes = sharp * _lobe(t, b, n, SHARP_WIDTH, SHARP_WIDTH)
        lobes += brushed * _lobe(t, b, n, BRUSHED_ALONG, BRUSHED_ACROSS)
        facing = (light.toward * seen.normals).sum(0) > 0
        total += light.color * (light.strengths * light.seen * lobes * facing)
    return (total / _facing(seen)).clamp(max=BRIGHTEST)


def _brush(solids: Solids, seen: Surface) -> Tensor:
    """float [3, m]: unit vectors along circles around the solid's vertical axis, within its surface."""
    x, y, _ = seen.points - solids.centers[:, seen.solids]
    around = torch.stack([-y, x, torch.zeros_like(x)])
    return unit(around - (around * seen.normals).sum(0) * seen.normals)


def _lobe(t: Tensor, b: Tensor, n: Tensor, along: float, across: float) -> Tensor:
    spread = (t / along).square() + (b / across).square() + n.square()
    return 1 / (pi * along * across * spread.square()).clamp(min=TINY)
