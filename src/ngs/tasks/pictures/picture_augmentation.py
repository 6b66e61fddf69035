"""The same scene in another light: changes of a picture's colours that leave every object where it is."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ngs.networks.augmentation import smooth
from ngs.tasks.pictures.rendering.renderer import softened


@dataclass(frozen=True)
class Lighting:
    """Random light, colour balance, contrast, blur and noise for each picture, uniform in both directions.

    Nothing moves, so that the truth about a picture stays true.
    """

    brightness: float = 0.12  # added to all pixels
    contrast: float = 0.25  # relative change of differences from the mean
    saturation: float = 0.2  # relative change of differences between channels
    gain: float = 0.08  # relative change of each channel
    gamma: float = 0.2  # logarithm of the exponent
    shading: float = 0.15  # relative change of the light across the picture
    coarse: int = 4  # points of the shading along each side
    blur: float = 0.8  # share of the blurred picture; negative values sharpen, half as much
    noise: float = 0.02  # standard deviation of the noise of a pixel
    untouched: float = 0.1  # share of pictures that stay as they are

    def __call__(self, pictures: Tensor, generator: torch.Generator) -> Tensor:
        """Changed pictures [picture, 3, height, width], floats from 0 to 1, of bytes or such floats."""
        number, channels, height, width = pictures.shape

        def uniform(*shape: int) -> Tensor:
            drawn = torch.rand(number, *shape, generator=generator, device=generator.device)
            return drawn.to(pictures.device)

        def signed(*shape: int) -> Tensor:
            return 2 * uniform(*shape) - 1

        given = pictures if pictures.is_floating_point() else pictures.float().div_(255)
        down, across = (
            smooth(self.coarse, side, pictures.device, align_corners=False) for side in (height, width)
        )
        lit = down.T @ signed(1, self.coarse, self.coarse) @ across
        gain = (1 + self.shading * lit) * (1 + self.gain * signed(channels, 1, 1))
        changed = torch.lerp(given, softened(given, 0.25), self.blur * signed(1, 1, 1).clamp(min=-0.5))
        # From here on in place: on a CPU, new memory for a batch of pictures costs more than the arithmetic.
        changed.mul_(gain)
        changed.lerp_(changed.mean(1, keepdim=True), self.saturation * signed(1, 1, 1))
        changed.lerp_(changed.mean((1, 2, 3), keepdim=True), self.contrast * signed(1, 1, 1))
        changed.add_(self.brightness * signed(1, 1, 1)).clamp_(0, 1)
        changed.pow_((self.gamma * signed(1, 1, 1)).exp())
        noise = torch.randn(changed.shape, generator=generator, device=generator.device).to(changed.device)
        changed.addcmul_(noise, self.noise * uniform(1, 1, 1)).clamp_(0, 1)
        return torch.where(uniform(1, 1, 1) < self.untouched, given, changed)
