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


@dataclass(frozen=True, eq=False, repr=False)
class PictureExamples:
    """Pictures, and what is true of them on the device of the network."""

    pictures: Pictures
    targets: SceneTargets

    @classmethod
    def of(cls, pictures: Pictures, device: torch.device) -> PictureExamples:
        return cls(pictures, targets_of(pictures).to(device))

    def __len__(self) -> int:
        return len(self.pictures)

    @property
    def device(self) -> torch.device:
        return self.targets.columns.device

    @cached_property
    def lengths(self) -> Numbers:
        """[picture]: how many objects there are"""
        return np.array([len(scene.things) for scene in self.pictures.scenes], dtype=np.int64)

    def batch(self, numbers: Numbers) -> PictureBatch:
        images = self.pictures.decoded(numbers).to(self.device)
        return PictureBatch(images, self.targets.select(torch.from_numpy(numbers).to(self.device)))


@dataclass(frozen=True, eq=False, repr=False)
class PictureBatch:
    """Some of the pictures."""

    inputs: Tensor
    """uint8 [picture, 3, height, width]"""
    targets: SceneTargets

    def __len__(self) -> int:
        return len(self.inputs)


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


@dataclass(frozen=True, eq=False, repr=False)
class MirroredPictures:
    """Every picture twice: picture k of some examples has the number 2k, and in the mirror 2k + 1.

    The camera looks at the origin and is not tilted, so the upright plane through both cuts the picture in
    halves. Mirrored at that plane, a scene shows as the picture with left and right exchanged, seen from the
    same place: the camera stays true, a column c becomes 480 - c, and no object changes its kind, since a
    cube, a ball and a cylinder are their own mirror images. Only the light comes from the other side.
    """

    examples: PictureExamples

    def __len__(self) -> int:
        return 2 * len(self.examples)

    @property
    def lengths(self) -> Numbers:
        return self.examples.lengths.repeat(2)

    def batch(self, numbers: Numbers) -> PictureBatch:
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
