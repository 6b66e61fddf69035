"""The same symbol written a little differently: affine and elastic changes of ink images, on their device."""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True)
class Handwriting:
    """Random rotation, shear, scale, shift and a smooth elastic field (Simard et al. 2003), resampled once.

    Lengths are shares of half the image's side, angles are radians, uniform to both sides. Resampling blurs
    strokes of one pixel, so some images stay untouched: otherwise sharp ones would be read badly.
    """

    rotation: float = 0.2
    shear: float = 0.2
    scale: float = 0.16
    shift: float = 0.1
    elastic: float = 0.08
    coarse: int = 5  # points of the elastic field along each side; between them it is smooth
    untouched: float = 0.3  # the share of images that stay as they are

    def __call__(self, ink: Tensor, generator: torch.Generator) -> Tensor:
        """Changed images [image, 1, height, width]; what is drawn depends on the generator alone."""

        def uniform(*shape: int) -> Tensor:
            drawn = torch.rand(len(ink), *shape, generator=generator, device=generator.device)
            return drawn.to(ink.device)

        def signed(*shape: int) -> Tensor:
            return 2 * uniform(*shape) - 1

        angle, shear = self.rotation * signed(1), self.shear * signed(1)
        width, height = 1 + self.scale * signed(1), 1 + self.scale * signed(1)
        cos, sin = angle.cos(), angle.sin()
        x, y = self.shift * signed(1), self.shift * signed(1)
        rows = (cos * width, (shear * cos - sin) * height, x), (sin * width, (shear * sin + cos) * height, y)
        affine = torch.stack([torch.cat(row, dim=1) for row in rows], dim=1)
        grid = F.affine_grid(affine, list(ink.shape), align_corners=False)
        field = self.elastic * signed(2, self.coarse, self.coarse)
        down, across = (smooth(self.coarse, side, ink.device, align_corners=True) for side in ink.shape[-2:])
        grid = grid + (down.T @ field @ across).permute(0, 2, 3, 1)
        changed = F.grid_sample(ink, grid, align_corners=False)
        return torch.where(uniform(1, 1, 1) < self.untouched, ink, changed)


@lru_cache
def smooth(coarse: int, side: int, device: torch.device, *, align_corners: bool) -> Tensor:
    """[coarse, side]: the weight of each coarse point at each pixel, for bicubic interpolation."""
    points = torch.eye(coarse)[None, None]
    return F.interpolate(points, (coarse, side), mode="bicubic", align_corners=align_corners)[0, 0].to(device)
