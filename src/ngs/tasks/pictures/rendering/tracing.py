"""Which solid a ray meets first."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ngs.tasks.clevr.scenes import MOST_OBJECTS
from ngs.tasks.pictures.rendering.solids import Solids, meet

NOTHING = -1


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


class Found(NamedTuple):
    """What each ray meets first."""

    solids: Tensor
    """int [m], NOTHING if it meets none"""
    depths: Tensor
    """float [m], inf if it meets none"""
    normals: Tensor
    """float [3, m], outwards"""

    def at(self, chosen: Tensor) -> Found:
        return Found(self.solids[chosen], self.depths[chosen], self.normals[:, chosen])


def nearest(solids: Solids, rays: Rays, pairs: Pairs) -> Found:
    """The first meeting of each ray among the pairs."""
    count = len(rays.scenes)
    hits = meet(solids, pairs.solids, rays.origins[:, pairs.rays], rays.directions[:, pairs.rays])
    depths = torch.full_like(rays.origins[0], torch.inf)
    depths.scatter_reduce_(0, pairs.rays, hits.depths, "amin")
    first = (hits.depths.isfinite() & (hits.depths == depths[pairs.rays])).nonzero()[:, 0]
    met = torch.full((count,), NOTHING, device=depths.device)
    met[pairs.rays[first]] = pairs.solids[first]
    # Two solids at the very same depth: the normal must be that of the solid that was kept.
    first = first[met[pairs.rays[first]] == pairs.solids[first]]
    normals = torch.zeros_like(rays.origins)
    normals[:, pairs.rays[first]] = hits.normals[:, first]
    return Found(met, depths, normals)


def near_rays(solids: Solids, rays: Rays, leave_out: Tensor | None = None) -> Pairs:
    """Rays that pass through the ball around a solid; a ray's solid in `leave_out` is not looked at."""
    numbers = rays.scenes * MOST_OBJECTS + torch.arange(MOST_OBJECTS, device=rays.scenes.device)[:, None]
    ahead = solids.centers[:, numbers] - rays.origins[:, None]
    along = (ahead * rays.directions[:, None]).sum(0)
    squares = rays.directions.square().sum(0)
    apart = ahead.square().sum(0) * squares - along.square()
    near = (apart < solids.reaches[numbers].square() * squares) & (along > 0)
    if leave_out is not None:
        near &= numbers != leave_out
    slots, chosen = near.nonzero().unbind(1)
    return Pairs(chosen, numbers[slots, chosen])
