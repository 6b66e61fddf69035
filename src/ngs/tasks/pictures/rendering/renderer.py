"""Pictures of scenes: what each pixel shows, and in which colour."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from ngs.errors import NGSError
from ngs.tasks.clevr.scene_sampling import FOCAL, HEIGHT, WIDTH
from ngs.tasks.clevr.scenes import MOST_OBJECTS, Scene
from ngs.tasks.pictures import camera
from ngs.tasks.pictures.rendering.lighting import drawn_lamps, ground_light, seen_light
from ngs.tasks.pictures.rendering.solids import (
    NOTHING,
    TINY,
    Found,
    Rays,
    Solids,
    near_rays,
    nearest,
    turned,
)

ON_CPU = 2  # images rendered together: they fit a processor's cache
ON_GPU, GPU_BYTES = 512, 64 * 2**20
"""Images on a GPU: enough to hide the launch of kernels, if each has so much free memory."""
CORNERS = ((-0.25, -0.25), (0.25, -0.25), (-0.25, 0.25), (0.25, 0.25))
"""Rays through a pixel on an edge, from its centre."""
BENT = 0.3  # difference of neighbouring normals from which on an edge lies between them
SOFTNESS = 0.13  # share that a pixel gives to each neighbour, as in Blender's soft edges


class Rendering(NamedTuple):
    images: Tensor  # uint8 [n, 3, height, width]: red, green, blue
    instances: Tensor  # uint8 [n, height, width]: k + 1 where object k shows, 0 for the background


def render(
    scenes: Sequence[Scene],
    cameras: Tensor,
    generator: torch.Generator,
    *,
    height: int = HEIGHT,
    width: int = WIDTH,
) -> Rendering:
    """Pictures of scenes from cameras [n, 3], on the cameras' device; the generator draws the lamps."""
    lamps = drawn_lamps(len(scenes), generator, cameras.device)
    images = torch.empty((len(scenes), 3, height, width), dtype=torch.uint8, device=cameras.device)
    shown = torch.empty((len(scenes), height, width), dtype=torch.uint8, device=cameras.device)
    for part, view in _views(scenes, cameras, height, width):
        light = _light(view, lamps[:, :, part]).clamp(max=1)
        images[part] = developed(softened(light, SOFTNESS))
        shown[part] = _numbers(view)
    return Rendering(images, shown)


def instances(
    scenes: Sequence[Scene], cameras: Tensor, *, height: int = HEIGHT, width: int = WIDTH
) -> Tensor:
    """uint8 [n, height, width]: the `instances` of `render` alone."""
    shown = torch.empty((len(scenes), height, width), dtype=torch.uint8, device=cameras.device)
    for part, view in _views(scenes, cameras, height, width):
        shown[part] = _numbers(view)
    return shown


def boxes(instances: Tensor) -> tuple[Tensor, Tensor]:
    """float32 [n, object, 4] and int32 [n, object]: box and number of visible pixels of each object.

    A box is left, upper, right and lower edge in pixels; all zero for an object that does not show.
    """
    numbers = torch.arange(1, MOST_OBJECTS + 1, dtype=torch.uint8, device=instances.device)
    shows = instances[:, None] == numbers[:, None, None]
    visible = shows.sum((2, 3), dtype=torch.int32)
    sides = [shows.any(2), shows.any(3)]  # [n, object, column] and [n, object, row]
    first = [side.byte().argmax(2) for side in sides]
    after = [side.shape[2] - side.byte().flip(2).argmax(2) for side in sides]
    return torch.stack(first + after, 2).float() * (visible > 0)[..., None], visible


class _View(NamedTuple):
    """Some scenes, and the solids that their pixels show."""

    solids: Solids
    cameras: Tensor
    rays: Rays
    found: Found
    shape: tuple[int, int, int]  # scenes, height, width


def _views(
    scenes: Sequence[Scene], cameras: Tensor, height: int, width: int
) -> Iterator[tuple[slice, _View]]:
    """Views of parts of the scenes, with the slices."""
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
        found = nearest(solids, rays, *_looking_at(solids, there, height, width))
        yield part, _View(solids, there, rays, found, (len(there), height, width))


def _pixel_rays(cameras: Tensor, height: int, width: int) -> Rays:
    """Rays through the centres of pixels, image by image and row by row."""
    columns, rows = camera.pixel_centers(height, width, cameras.device)
    looking = camera.rays(cameras, columns.repeat(height)[None], rows.repeat_interleave(width)[None])
    numbers = torch.arange(len(cameras), device=cameras.device).repeat_interleave(height * width)
    return Rays(numbers, cameras.T[:, numbers], looking.permute(2, 0, 1).flatten(1))


def _looking_at(solids: Solids, cameras: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Pixels [p] in the rectangle around a solid's corners, and the solids [p]."""
    signs = solids.centers.new_tensor(list(product((-1, 1), repeat=3))).T[:, None]
    corners = turned(signs.expand(-1, len(solids.radii), -1), solids.turns[:, :, None])
    places = solids.centers[:, :, None] + solids.radii[:, None] * corners
    seen = camera.project(cameras, places.permute(1, 2, 0).reshape(len(cameras), -1, 3))
    seen = seen.view(len(solids.radii), -1, 3)
    there = (solids.shapes != NOTHING)[:, None]
    across, down = (
        (seen[..., axis].amin(1, keepdim=True) <= centers)
        & (centers <= seen[..., axis].amax(1, keepdim=True))
        for axis, centers in enumerate(camera.pixel_centers(height, width, cameras.device))
    )
    numbers, rows, columns = (down[:, :, None] & (across & there)[:, None]).nonzero().unbind(1)
    return (numbers // MOST_OBJECTS * height + rows) * width + columns, numbers


def _numbers(view: _View) -> Tensor:
    """uint8 [n, height, width]: the number in its scene, from 1, of the solid at each pixel."""
    solids = view.found.solids
    return torch.where(solids < 0, 0, solids % MOST_OBJECTS + 1).to(torch.uint8).view(view.shape)


# Light


def _light(view: _View, lamps: Tensor) -> Tensor:
    """float [3, n, height, width]: linear red, green, blue. At edges and bends, four rays are averaged."""
    total = _ground(view, lamps).view(3, -1)
    edges = _edge_pixels(view)
    inner = view.found._replace(solids=torch.where(edges, NOTHING, view.found.solids))
    total = seen_light(view.solids, view.rays, inner, lamps, total)
    chosen = edges.nonzero()[:, 0]
    total[:, chosen] = _smoothed(view, chosen, total[:, chosen], lamps)
    return total.view(3, *view.shape)


def _ground(view: _View, lamps: Tensor) -> Tensor:
    """float [3, n, height, width]: the ground with shadows but no objects; smooth, so rendered coarsely."""
    count, height, width = view.shape
    coarse = (-(-height // 2), -(-width // 2))
    rays = _pixel_rays(view.cameras, *coarse)
    depths = -rays.origins[2] / rays.directions[2].clamp(max=-1e-2)
    points = rays.origins + depths * rays.directions
    found = ground_light(view.solids, rays.scenes, points, lamps).view(3, count, *coarse)
    return F.interpolate(found, (height, width), mode="bilinear").contiguous()


def _edge_pixels(view: _View) -> Tensor:
    """bool [pixels]: where a neighbour shows another surface, or a bent one."""
    shown = _numbers(view).float()[:, None]
    most = F.max_pool2d(shown, 3, 1, 1)
    least = -F.max_pool2d(-shown, 3, 1, 1)
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
    found = nearest(view.solids, rays, *near_rays(view.solids, rays)[:2])
    seen = seen_light(view.solids, rays, found, lamps, ground.repeat(1, len(CORNERS)))
    return seen.clamp(max=1).view(3, len(CORNERS), -1).mean(1)


def softened(pictures: Tensor, share: float) -> Tensor:
    """Pictures [..., height, width]; each pixel gives this share to each neighbour."""
    wide = F.pad(pictures, (1, 1, 1, 1), mode="replicate")
    for axis in (-1, -2):
        before, middle, after = (wide.narrow(axis, k, wide.shape[axis] - 2) for k in range(3))
        wide = torch.lerp(middle, (before + after).div_(2), 2 * share)
    return wide


def developed(light: Tensor) -> Tensor:
    """uint8 [n, 3, height, width]: linear light [3, n, height, width] as sRGB."""
    light = light.clamp(0, 1)
    shown = torch.where(light <= 0.0031308, 12.92 * light, 1.055 * light.clamp(min=TINY) ** (1 / 2.4) - 0.055)
    return (255 * shown + 0.5).to(torch.uint8).transpose(0, 1)
