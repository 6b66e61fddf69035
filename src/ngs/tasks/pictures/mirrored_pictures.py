"""Every picture twice: as it is, and in a mirror.

The camera looks at the origin and is not tilted, so the upright plane through both cuts the picture in
halves. Mirrored at that plane, a scene shows as the picture with left and right exchanged, seen from the same
place: the camera stays true, a column c becomes 480 - c, and no object changes its kind, since a cube, a ball
and a cylinder are their own mirror images. Only the light comes from the other side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngs.tasks.clevr.scene_sampling import WIDTH
from ngs.tasks.pictures.picture_examples import PictureBatch, PictureExamples
from ngs.tasks.pictures.scene_loss import SceneTargets


@dataclass(frozen=True, eq=False, repr=False)
class MirroredPictures:
    """Picture k of some examples is the one with the number 2k, and 2k + 1 in the mirror."""

    examples: PictureExamples

    def __len__(self) -> int:
        return 2 * len(self.examples)

    @property
    def lengths(self) -> NDArray[np.int64]:
        return self.examples.lengths.repeat(2)

    def batch(self, numbers: NDArray[np.int64]) -> PictureBatch:
        batch = self.examples.batch(numbers // 2)
        flipped = torch.from_numpy(numbers % 2 == 1).to(batch.inputs.device)
        images = torch.where(flipped[:, None, None, None], batch.inputs.flip(-1), batch.inputs)
        return PictureBatch(images, _mirrored(batch.targets, flipped))


def _mirrored(truth: SceneTargets, flipped: Tensor) -> SceneTargets:
    """The targets of pictures of which some, [picture], are mirrored."""
    left, upper, right, lower = truth.boxes.unbind(-1)
    boxes = torch.stack([WIDTH - right, upper, WIDTH - left, lower], -1)
    return replace(
        truth,
        columns=torch.where(flipped[:, None], WIDTH - truth.columns, truth.columns),
        boxes=torch.where(flipped[:, None, None], boxes, truth.boxes),
    )
