"""Pictures of scenes as training examples: images, and the truth about each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ngs.tasks.clevr.scene_sampling import HEIGHT, WIDTH
from ngs.tasks.clevr.scenes import ATTRIBUTES, Thing
from ngs.tasks.pictures.camera import project
from ngs.tasks.pictures.pictures import Pictures
from ngs.tasks.pictures.rendering.solids import table_of
from ngs.tasks.pictures.seen_scene import in_jitters
from ngs.tasks.source import Numbers

PIXELS_TO_LEARN = 100  # fewer visible pixels than this: the object may be seen or not


@dataclass(frozen=True, eq=False)
class SceneTargets:
    """The truth about a batch of pictures, padded to the same number of objects."""

    columns: Tensor  # float [picture, object]: of its centre, in pixels
    rows: Tensor  # float [picture, object]
    boxes: Tensor  # float [picture, object, 4]: sides of its visible part, in pixels
    attributes: Tensor  # int [picture, object, attribute]: indices of its values in ATTRIBUTES
    shown: Tensor  # bool [picture, object]: exists, and enough of it shows
    hidden: Tensor  # bool [picture, object]: exists, and may be seen or not
    cameras: Tensor  # float [picture, 3]: as in `SceneMaps.cameras`

    def __len__(self) -> int:
        return len(self.columns)

    def select(self, pictures: Tensor) -> SceneTargets:
        return SceneTargets(*(part[pictures] for part in vars(self).values()))

    def to(self, device: torch.device) -> SceneTargets:
        return SceneTargets(*(part.to(device) for part in vars(self).values()))

    def mirrored(self, flipped: Tensor) -> SceneTargets:
        """The targets with some pictures, bool [picture], mirrored."""
        left, upper, right, lower = self.boxes.unbind(-1)
        boxes = torch.stack([WIDTH - right, upper, WIDTH - left, lower], -1)
        return replace(
            self,
            columns=torch.where(flipped[:, None], WIDTH - self.columns, self.columns),
            boxes=torch.where(flipped[:, None, None], boxes, self.boxes),
        )


@dataclass(frozen=True, eq=False, repr=False)
class PictureBatch:
    inputs: Tensor  # uint8 [picture, 3, height, width]
    targets: SceneTargets

    def __len__(self) -> int:
        return len(self.inputs)


@dataclass(frozen=True, eq=False, repr=False)
class PictureExamples:
    """Pictures, and the truth about them on the device of the network.

    With `mirrors`, every picture comes twice: picture k as 2k, and mirrored as 2k + 1. The camera looks at
    the origin and is not tilted, so a mirrored picture shows a mirrored scene from the same camera: column
    c becomes 480 - c, and cubes, balls and cylinders are their own mirror images. Only the light changes
    sides.
    """

    pictures: Pictures
    targets: SceneTargets
    mirrors: bool = False

    @classmethod
    def of(cls, pictures: Pictures, device: torch.device, *, mirrors: bool = False) -> PictureExamples:
        return cls(pictures, targets_of(pictures).to(device), mirrors)

    @property
    def times(self) -> int:
        """The number of examples for each picture."""
        return 2 if self.mirrors else 1

    def __len__(self) -> int:
        return self.times * len(self.pictures)

    @cached_property
    def lengths(self) -> Numbers:
        """[example]: how many objects there are"""
        counts = [len(scene.things) for scene in self.pictures.scenes]
        return np.array(counts, dtype=np.int64).repeat(self.times)

    def batch(self, numbers: Numbers) -> PictureBatch:
        device, pictures = self.targets.columns.device, numbers // self.times
        images = self.pictures.decoded(pictures).to(device)
        targets = self.targets.select(torch.from_numpy(pictures).to(device))
        if not self.mirrors:
            return PictureBatch(images, targets)
        flipped = torch.from_numpy(numbers % 2 == 1).to(device)
        images = torch.where(flipped[:, None, None, None], images.flip(-1), images)
        return PictureBatch(images, targets.mirrored(flipped))


def targets_of(pictures: Pictures) -> SceneTargets:
    """The truth about each picture; centres are the objects' projected positions."""

    def row(thing: Thing) -> Sequence[float]:
        return *thing.position, *(known.index(getattr(thing, name)) for name, known in ATTRIBUTES.items()), 1

    table = table_of(pictures.scenes, row, [0] * (4 + len(ATTRIBUTES)))
    cameras, there = pictures.cameras.cpu(), table[..., -1] > 0
    columns, rows, _ = project(cameras.double(), table[..., :3]).float().unbind(-1)
    inside = (columns >= 0) & (columns < WIDTH) & (rows >= 0) & (rows < HEIGHT)
    enough = (pictures.visible.cpu() >= PIXELS_TO_LEARN) & inside
    return SceneTargets(
        columns,
        rows,
        pictures.boxes.float().cpu(),
        attributes=table[..., 3:-1].long(),
        shown=there & enough,
        hidden=there & ~enough,
        cameras=in_jitters(cameras).float(),
    )
