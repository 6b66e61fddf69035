"""The first solid that a ray meets, against trying all."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ngs.tasks.clevr import scene_sampling
from ngs.tasks.clevr.scenes import MOST_OBJECTS
from ngs.tasks.pictures.rendering.solids import Solids, meet
from ngs.tasks.pictures.rendering.tracing import NOTHING, Rays, near_rays, nearest


@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_of_all_is_found(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    solids = Solids.of(scene_sampling.scenes(3, np.random.default_rng(seed)), torch.device("cpu"))
    numbers = torch.randint(3, (400,), generator=generator)
    origins = torch.randn(3, 400, generator=generator) + torch.tensor([[5.0], [-5.0], [4.0]])
    aims = 6 * torch.rand(3, 400, generator=generator) - 3
    aims[2] = 0.5
    rays = Rays(numbers, origins, aims - origins)
    every = [meet(solids, numbers * MOST_OBJECTS + k, *rays[1:]) for k in range(MOST_OBJECTS)]
    depths, slots = torch.stack([hits.depths for hits in every]).min(0)
    found = nearest(solids, rays, near_rays(solids, rays))
    assert torch.equal(found.depths, depths)
    hit = depths.isfinite()
    assert 50 < hit.sum() < 400
    assert torch.equal(found.solids, torch.where(hit, numbers * MOST_OBJECTS + slots, NOTHING))
    normals = torch.stack([hits.normals for hits in every])[slots, :, torch.arange(400)].T
    assert torch.equal(found.normals[:, hit], normals[:, hit])


def test_a_solid_that_is_left_out_is_seen_through() -> None:
    solids = Solids.of(scene_sampling.scenes(1, np.random.default_rng(0)), torch.device("cpu"))
    origins = solids.centers[:, :3] + torch.tensor([[0.0], [0.0], [5.0]])
    rays = Rays(torch.zeros(3, dtype=torch.int64), origins, torch.tensor([[0.0], [0.0], [-1.0]]).expand(3, 3))
    own = torch.arange(3)
    assert torch.equal(nearest(solids, rays, near_rays(solids, rays)).solids, own)
    assert (nearest(solids, rays, near_rays(solids, rays, leave_out=own)).solids == NOTHING).all()
