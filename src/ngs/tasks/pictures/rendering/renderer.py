"""Pictures of scenes: what each pixel shows, and in which colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ngs.errors import NGSError
from ngs.tasks.clevr.scene_sampling import FOCAL, HEIGHT, WIDTH
from ngs.tasks.clevr.scenes import MOST_OBJECTS, Scene
from ngs.tasks.pictures import camera
from ngs.tasks.pictures.rendering.lighting import drawn_lamps
from ngs.tasks.pictures.rendering.solids import TINY, Solids
from ngs.tasks.pictures.rendering.surfaces import ground_light, solid_light, surface
from ngs.tasks.pictures.rendering.tracing import NOTHING, Found, Pairs, Rays, near_rays, nearest

ON_CPU = 2
"""Images that are worked on together: they fit a processor's cache."""
ON_GPU, GPU_BYTES = 512, 64 * 2**20
"""On a GPU as many as make its start of each operation count for little, if each has so much free memory."""
CORNERS = ((-0.25, -0.25), (0.25, -0.25), (-0.25, 0.25), (0.25, 0.25))
"""Where rays go through a pixel on an edge, from its centre."""
BENT = 0.3
"""Normals of neighbouring pixels that differ by so much have a rounded edge between them."""
SOFTNESS = 0.13
"""What a pixel gives to each neighbour: released images are so soft at edges."""


class Rendering(NamedTuple):
    """Pictures, and what they show."""

    images: Tensor
    """uint8 [n, 3, height, width]: red, green, blue"""
    instances: Tensor
    """uint8 [n, height, width]: k + 1 where object k shows, 0 for the background"""


def render(
    scenes: Sequence[Scene],
    cameras: Tensor,
    generator: torch.Generator,
    *,
    height: int = HEIGHT,
    width: int = WIDTH,
) -> Rendering:
    """Pictures of scenes from cameras [n, 3], on their device; the generator shifts the lamps."""
    lamps = drawn_lamps(len(scenes), generator, cameras.device)
    images = torch.empty((len(scenes), 3, height, width), dtype=torch.uint8, device=cameras.device)
    shown = torch.empty((len(scenes), height, width), dtype=torch.uint8, device=cameras.device)
    for part, view in _views(scenes, cameras, height, width):
        images[part] = developed(_softened(_light(view, lamps[:, :, part])))
        shown[part] = _numbers(view)
    return Rendering(images, shown)


def instances(
    scenes: Sequence[Scene], cameras: Tensor, *, height: int = HEIGHT, width: int = WIDTH
) -> Tensor:
    """uint8 [n, height, width]: the `instances` of `render`, without the picture."""
    shown = torch.empty((len(scenes), height, width), dtype=torch.uint8, device=cameras.device)
    for part, view in _views(scenes, cameras, height, width):
        shown[part] = _numbers(view)
    return shown


def boxes(instances: Tensor, objects: int = MOST_OBJECTS) -> tuple[Tensor, Tensor]:
    """float32 [n, objects, 4] and int32 [n, objects]: box and number of visible pixels of each object.

    A box is left, upper, right and lower edge, in pixels from the image's upper left corner; it is all zero
    for an object that does not show.
    """
    found, visible = [], []
    for k in range(1, objects + 1):
        shows = instances == k
        edges = [_edges(shows.any(1)), _edges(shows.any(2))]
        found.append(torch.stack([edges[0][0], edges[1][0], edges[0][1], edges[1][1]], -1))
        visible.append(shows.sum((1, 2), dtype=torch.int32))
    return torch.stack(found, 1).float(), torch.stack(visible, 1)


def _edges(shows: Tensor) -> tuple[Tensor, Tensor]:
    """First, and one after the last, place at which bool [n, m] holds; 0 and 0 if nowhere."""
    places = torch.arange(1, shows.shape[1] + 1, device=shows.device)
    after = (shows * places).amax(1)
    first = (shows * places.flip(0)).amax(1)
    return torch.where(first > 0, shows.shape[1] - first, 0), after


class _View(NamedTuple):
    """Some scenes, and what the pixels of their pictures meet."""

    solids: Solids
    cameras: Tensor
    rays: Rays
    found: Found
    shape: tuple[int, int, int]
    """scenes, height, width"""


def _views(
    scenes: Sequence[Scene], cameras: Tensor, height: int, width: int
) -> Iterator[tuple[slice, _View]]:
    """Some scenes after the other, with their numbers."""
    if len(scenes) != len(cameras):
        raise NGSError(f"there are {len(scenes)} scenes and {len(cameras)} cameras; give one for each scene")
    for scene in scenes:
        if len(scene.things) > MOST_OBJECTS:
            count = len(scene.things)
            raise NGSError(f"the scene {scene.name!r} has {count} objects; at most {MOST_OBJECTS} are drawn")
    at_once = ON_CPU
    if cameras.is_cuda:
        at_once = max(1, min(ON_GPU, torch.cuda.mem_get_info(cameras.device)[0] // GPU_BYTES))
    for first in range(0, len(scenes), at_once):
        part = slice(first, min(first + at_once, len(scenes)))
        there = cameras[part].float()
        solids, rays = Solids.of(scenes[part], cameras.device), _pixel_rays(there, height, width)
        found = nearest(solids, rays, _looking_at(solids, there, height, width))
        yield part, _View(solids, there, rays, found, (len(there), height, width))


def _pixel_rays(cameras: Tensor, height: int, width: int) -> Rays:
    """One through the centre of each pixel, image by image and row by row."""
    numbers = torch.arange(len(cameras), device=cameras.device).repeat_interleave(height * width)
    directions = camera.rays(cameras, height, width).permute(3, 0, 1, 2).reshape(3, -1)
    return Rays(numbers, cameras.T[:, numbers], directions)


def _looking_at(solids: Solids, cameras: Tensor, height: int, width: int) -> Pairs:
    """The pixels in the rectangle around each solid's corners."""
    signs = torch.tensor([[x, y, z] for x in (-1.0, 1) for y in (-1.0, 1) for z in (-1.0, 1)]).to(cameras)
    cosine, sine = solids.turns[:, :, None]
    x, y, z = signs.T
    corners = torch.stack([x * cosine - y * sine, x * sine + y * cosine, z.expand(len(cosine), -1)], -1)
    places = solids.centers.T[:, None] + solids.radii[:, None, None] * corners
    seen = camera.project(cameras, places.view(len(cameras), -1, 3)).view(-1, 8, 3) * (width / WIDTH)
    seen = seen[..., :2] + torch.tensor([0, (height - HEIGHT * width / WIDTH) / 2]).to(seen)
    low, high = seen.amin(1).floor(), seen.amax(1).ceil()
    most = torch.tensor([width, height]).to(seen)
    low, high = low.clamp(min=0).minimum(most), high.clamp(min=0).minimum(most)
    high = torch.where(solids.shapes[:, None] < 0, low, high)
    # One copy to the host: afterwards all sizes are known there.
    sizes = (high - low).long()
    counts = sizes.prod(1)
    total = int(counts.sum())
    numbers = torch.repeat_interleave(counts, output_size=total)
    inside = torch.arange(total, device=counts.device) - (counts.cumsum(0) - counts)[numbers]
    columns = low[numbers, 0].long() + inside % sizes[numbers, 0]
    rows = low[numbers, 1].long() + inside // sizes[numbers, 0]
    return Pairs((numbers // MOST_OBJECTS * height + rows) * width + columns, numbers)


def _numbers(view: _View) -> Tensor:
    """uint8 [n, height, width]: the number in its scene, from 1, of the solid that each pixel shows."""
    solids = view.found.solids
    return torch.where(solids < 0, 0, solids % MOST_OBJECTS + 1).to(torch.uint8).view(view.shape)


# Light


def _light(view: _View, lamps: Tensor) -> Tensor:
    """float [3, n, height, width]: linear red, green, blue.

    Each pixel is looked at through its centre; where surfaces end or bend, four rays are averaged.
    """
    total = _ground(view, lamps).view(3, -1)
    edges = _edge_pixels(view)
    inner = (view.found.solids != NOTHING) & ~edges
    chosen = inner.nonzero()[:, 0]
    total[:, chosen] = solid_light(view.solids, surface(view.rays.at(chosen), view.found.at(chosen)), lamps)
    chosen = edges.nonzero()[:, 0]
    total[:, chosen] = _smoothed(view, chosen, total[:, chosen], lamps)
    return total.view(3, *view.shape)


def _ground(view: _View, lamps: Tensor) -> Tensor:
    """float [3, n, height, width]: the ground as if no object stood before it, but with their shadows.

    Nothing on it is sharp, so that every second row and column will do.
    """
    count, height, width = view.shape
    coarse = (-(-height // 2), -(-width // 2))
    rays = _pixel_rays(view.cameras, *coarse)
    depths = -rays.origins[2] / rays.directions[2].clamp(max=-1e-2)
    points = rays.origins + depths * rays.directions
    found = ground_light(view.solids, rays.scenes, points, lamps).view(3, count, *coarse)
    return torch.nn.functional.interpolate(found, (height, width), mode="bilinear").contiguous()


def _edge_pixels(view: _View) -> Tensor:
    """bool [pixels]: where a pixel shows another surface than one of its neighbours, or the same one bent."""
    shown = _numbers(view).float()[:, None]
    most = torch.nn.functional.max_pool2d(shown, 3, 1, 1)
    least = -torch.nn.functional.max_pool2d(-shown, 3, 1, 1)
    edges = (most != least).view(view.shape)
    normals = view.found.normals.view(3, *view.shape)
    beside = (normals[..., 1:] - normals[..., :-1]).square().sum(0) > BENT**2
    below = (normals[..., 1:, :] - normals[..., :-1, :]).square().sum(0) > BENT**2
    edges[..., 1:] |= beside
    edges[..., :-1] |= beside
    edges[..., 1:, :] |= below
    edges[..., :-1, :] |= below
    return edges.view(-1)


def _smoothed(view: _View, chosen: Tensor, ground: Tensor, lamps: Tensor) -> Tensor:
    """float [3, m]: the mean of what four rays through each chosen pixel see."""
    rays = view.rays.at(chosen.repeat(len(CORNERS)))
    right, down, _ = (axis.T[:, rays.scenes] for axis in camera.axes(view.cameras))
    across, below = rays.origins.new_tensor(CORNERS).T.repeat_interleave(len(chosen), 1)
    pixel = WIDTH / FOCAL / view.shape[2]
    rays = rays._replace(directions=rays.directions + pixel * (across * right + below * down))
    found = nearest(view.solids, rays, near_rays(view.solids, rays))
    hit = (found.solids != NOTHING).nonzero()[:, 0]
    seen = ground.repeat(1, len(CORNERS))
    seen[:, hit] = solid_light(view.solids, surface(rays.at(hit), found.at(hit)), lamps)
    return seen.clamp(max=1).view(3, len(CORNERS), -1).mean(1)


def _softened(light: Tensor) -> Tensor:
    """The picture [3, n, height, width], a part of each pixel given to its neighbours as Blender does."""
    light = light.clamp(max=1)
    for axis in (2, 3):
        size = light.shape[axis]
        places = torch.arange(size, device=light.device)
        before, after = (light.index_select(axis, (places + k).clamp(0, size - 1)) for k in (-1, 1))
        light = light + SOFTNESS * (before + after - 2 * light)
    return light


def developed(light: Tensor) -> Tensor:
    """uint8 [n, 3, height, width]: linear light [3, n, height, width] as sRGB."""
    light = light.clamp(0, 1)
    shown = torch.where(light <= 0.0031308, 12.92 * light, 1.055 * light.clamp(min=TINY) ** (1 / 2.4) - 0.055)
    return (255 * shown + 0.5).to(torch.uint8).transpose(0, 1)
