"""Pictures of scenes as what a network learns to see from: images, and what is true of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
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

PIXELS_TO_LEARN = 100
"""Of an object that is to be learned from, so many show at least; others may be seen or not."""


@dataclass(frozen=True, eq=False)
class SceneTargets:
    """What is true of some pictures; all have room for the same number of objects."""

    columns: Tensor
    """float [picture, object]: where its centre is, seen or hidden, in pixels"""
    rows: Tensor
    """float [picture, object]"""
    boxes: Tensor
    """float [picture, object, 4]: left, upper, right and lower side of what shows of it, in pixels"""
    attributes: Tensor
    """int [picture, object, attribute]: the number of its value, attributes in the order of ATTRIBUTES"""
    shown: Tensor
    """bool [picture, object]: there is such an object, and enough of it shows"""
    hidden: Tensor
    """bool [picture, object]: there is one of which so little shows that it may be seen or not"""
    cameras: Tensor
    """float [picture, 3]: as in `SceneMaps.cameras`"""

    def __len__(self) -> int:
        return len(self.columns)

    def select(self, pictures: Tensor) -> SceneTargets:
        return SceneTargets(*(getattr(self, each.name)[pictures] for each in fields(self)))

    def to(self, device: torch.device) -> SceneTargets:
        return SceneTargets(*(getattr(self, each.name).to(device) for each in fields(self)))

    def mirrored(self, flipped: Tensor) -> SceneTargets:
        """Those of pictures of which some, bool [picture], are seen in a mirror."""
        left, upper, right, lower = self.boxes.unbind(-1)
        boxes = torch.stack([WIDTH - right, upper, WIDTH - left, lower], -1)
        return replace(
            self,
            columns=torch.where(flipped[:, None], WIDTH - self.columns, self.columns),
            boxes=torch.where(flipped[:, None, None], boxes, self.boxes),
        )


@dataclass(frozen=True, eq=False, repr=False)
class PictureBatch:
    inputs: Tensor
    """uint8 [picture, 3, height, width]"""
    targets: SceneTargets

    def __len__(self) -> int:
        return len(self.inputs)


@dataclass(frozen=True, eq=False, repr=False)
class PictureExamples:
    """Pictures, and what is true of them on the device of the network.

    With `mirrors`, every picture comes twice: picture k has the number 2k, and in the mirror 2k + 1. The
    camera looks at the origin and is not tilted, so the upright plane through both cuts the picture in
    halves. Mirrored at that plane, a scene shows as the picture with left and right exchanged, seen from the
    same place: the camera stays true, a column c becomes 480 - c, and no object changes its kind, since a
    cube, a ball and a cylinder are their own mirror images. Only the light comes from the other side.
    """

    pictures: Pictures
    targets: SceneTargets
    mirrors: bool = False

    @classmethod
    def of(cls, pictures: Pictures, device: torch.device, *, mirrors: bool = False) -> PictureExamples:
        return cls(pictures, targets_of(pictures).to(device), mirrors)

    @property
    def times(self) -> int:
        """How often each picture comes."""
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
    """What is true of each picture; centres are where the camera sees the objects' places."""

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
