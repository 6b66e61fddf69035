"""The camera of CLEVR images: from places in a scene to pixels, and back.

A pinhole camera that looks at the origin, as in `scene_sampling`, for many images at once. Columns and rows
count from the upper left corner: the first pixel's centre is (0.5, 0.5).
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ngs.errors import DataError
from ngs.tasks.clevr.scene_sampling import CAMERA, FOCAL, HEIGHT, JITTER, WIDTH, Floats, pixels, view_from
from ngs.tasks.clevr.scenes import Scene, Thing


def axes(cameras: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Right, down and forward of cameras [n, 3] that look at the origin: unit vectors, each [n, 3]."""
    forward = -cameras / cameras.norm(dim=1, keepdim=True)
    level = cameras[:, :2].norm(dim=1, keepdim=True)
    right = torch.cat([-cameras[:, 1:2], cameras[:, :1], torch.zeros_like(level)], 1) / level
    return right, torch.linalg.cross(forward, right), forward


def rays(cameras: Tensor, columns: Tensor, rows: Tensor) -> Tensor:
    """float [n, k, 3]: directions of columns, rows [n, k] of an image of 480x320, with depth one."""
    right, down, forward = (axis[:, None] for axis in axes(cameras))
    across, below = (columns - WIDTH / 2) / FOCAL, (rows - HEIGHT / 2) / FOCAL
    return forward + across[..., None] * right + below[..., None] * down


def pixel_centers(height: int, width: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Columns [width] and rows [height], in an image of 480x320, of the pixels of a smaller or larger one."""
    columns, rows = (torch.arange(size, device=device) + 0.5 - size / 2 for size in (width, height))
    return WIDTH / 2 + WIDTH / width * columns, HEIGHT / 2 + WIDTH / width * rows


def project(cameras: Tensor, places: Tensor) -> Tensor:
    """float [n, k, 3]: column, row and depth of places [n, k, 3], in an image of 480x320."""
    seen = places - cameras[:, None]
    across, below, depth = (torch.einsum("nkc,nc->nk", seen, axis) for axis in axes(cameras))
    return torch.stack([WIDTH / 2 + FOCAL * across / depth, HEIGHT / 2 + FOCAL * below / depth, depth], -1)


def lift(cameras: Tensor, columns: Tensor, rows: Tensor, heights: Tensor) -> Tensor:
    """float [n, k, 2]: ground positions of the points at columns, rows [n, k] with these heights.

    The inverse of `project`: camera + t * ray has the height h for t = (h - camera_z) / ray_z. A pixel at the
    horizon or above has no such point; its answer is finite and far away.
    """
    ray = rays(cameras, columns, rows)
    depth = (heights - cameras[:, None, 2]) / ray[..., 2].clamp(max=-1e-3)
    return cameras[:, None, :2] + depth[..., None] * ray[..., :2]


def drawn_cameras(number: int, generator: torch.Generator) -> Tensor:
    """float [number, 3]: as the release drew them, uniform around CAMERA, on the generator's device."""
    shifts = 2 * torch.rand(number, 3, generator=generator, device=generator.device) - 1
    return torch.tensor(CAMERA, device=generator.device) + JITTER * shifts


FIT_STEPS = 20
CONVERGED = 1e-7
NEARBY = 5.0  # the search stays this near to CAMERA, where no coordinate is zero
DEPTH_WEIGHT = 1000.0
"""Released depths are exact to 3 digits, columns and rows are rounded: 0.001 counts as much as a pixel."""
TOLERANCE = 2.0  # pixels that a fitted camera may miss by: more than rounding, far less than any other camera


def misses(camera: Floats, things: Sequence[Thing]) -> Floats:
    """[object, 3]: how far from where it is said to be, in columns, rows and depth, each object shows."""
    seen = pixels(view_from(camera[None]), np.array([[thing.position for thing in things]]))[0]
    return np.asarray(seen - [thing.pixel for thing in things])


def fitted_camera(scene: Scene) -> tuple[float, float, float]:
    """The camera's position, from the places and the pixels of the objects in a scene.

    Gauss-Newton from CAMERA on the sum of squared differences of column, row and weighted depth.
    """
    if not scene.things or any(thing.pixel[2] <= 0 for thing in scene.things):
        missing = "pixel_coords" if scene.things else "objects"
        raise DataError(
            f"the scene {scene.name!r} has no {missing} to find its camera from; give it a camera_location"
        )

    def weighted(camera: Floats) -> Floats:
        return (misses(camera, scene.things) * [1, 1, DEPTH_WEIGHT]).ravel()

    camera, width = np.array(CAMERA), 1e-5
    for _ in range(FIT_STEPS):
        now = weighted(camera)
        slopes = np.stack([(weighted(camera + width * axis) - now) / width for axis in np.eye(3)], 1)
        step = np.linalg.lstsq(slopes, now, rcond=None)[0]
        camera = np.clip(camera - step, np.array(CAMERA) - NEARBY, np.array(CAMERA) + NEARBY)
        if np.abs(step).max() < CONVERGED:
            break
    worst = np.abs(misses(camera, scene.things)[:, :2]).max()
    if worst > TOLERANCE:
        raise DataError(
            f"no camera that looks at the origin shows the objects of {scene.name!r} where its pixel_coords "
            f"say: the best misses by {worst:.1f} pixels, and rounding explains less than {TOLERANCE:.0f}; "
            f"give it a camera_location"
        )
    x, y, z = camera.tolist()
    return x, y, z
