"""A convolutional network that sees a picture as a map of objects.

After Zhou et al. (2019), "Objects as Points": at each cell of 4x4 pixels it says whether an object's centre
is there, and what the object is like. Features go down to a stride of 32 and back to 4 (Lin et al. 2017). A
context vector of the whole picture is added everywhere, and tells the camera.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ngs.errors import ShapeError
from ngs.tasks.clevr.scenes import ATTRIBUTES

STRIDE = 4  # pixels on the side of a cell
COARSEST = 32  # both sides of a picture must be multiples of this

PIXEL_MEAN, PIXEL_SPREAD = 0.46, 0.1  # of CLEVR images, pixels from 0 to 1: mostly a grey floor
GRID = 5  # the context pools 10x15 coarsest cells to 5x5

FIRST_PROBABILITY = 0.01
"""of a centre, before anything is learned: so few cells are one that more would drown the loss"""
FIRST_DISTANCE = 6.0  # from a centre to the sides of its box, in cells, before training


class SceneMaps(NamedTuple):
    """The outputs of the network for each cell, in float32."""

    centers: Tensor  # logits [picture, 1, row, column] of an object's centre
    attributes: Tensor  # logits [picture, value, row, column] of all values in ATTRIBUTES
    offsets: Tensor  # [picture, 2, row, column]: the centre relative to that of the cell, in cells
    boxes: Tensor  # [picture, 4, row, column]: distances of its left, upper, right and lower sides
    cameras: Tensor  # [picture, 3]: as `in_jitters` of `seen_scene` gives them


VALUES = sum(map(len, ATTRIBUTES.values()))
CHANNELS = {"centers": 1, "attributes": VALUES, "offsets": 2, "boxes": 4}


def by_attribute(values: Tensor, dim: int) -> dict[str, Tensor]:
    """The parts of `values` for each attribute, cut along `dim`."""
    parts = torch.split(values, [len(known) for known in ATTRIBUTES.values()], dim)
    return dict(zip(ATTRIBUTES, parts, strict=True))


def at_cells(maps: Tensor, cells: Tensor) -> Tensor:
    """[picture, place, channel]: maps [picture, channel, row, column] at cells [picture, place]."""
    return maps.flatten(2).gather(2, cells[:, None].expand(-1, maps.shape[1], -1)).transpose(1, 2)


@dataclass(frozen=True)
class SceneSize:
    """The numbers of channels and residual blocks at each stride."""

    channels: tuple[int, int, int, int, int]  # at strides 2, 4, 8, 16 and 32
    blocks: tuple[int, int, int, int]  # at strides 4, 8, 16 and 32
    merged: int  # channels of the merged features
    context: int  # size of the vector that describes the whole picture


SCENE_NETWORKS: Mapping[str, SceneSize] = {
    "small": SceneSize((16, 24, 48, 64, 96), (0, 1, 1, 1), 32, 64),
    "full": SceneSize((24, 48, 80, 160, 192), (1, 2, 2, 1), 48, 256),
}
"""Two CPU cores train the small one in minutes, and run the full one on 20 pictures a second."""


class SceneNetwork(nn.Module):
    """From pictures [picture, 3, height, width] to `SceneMaps`."""

    def __init__(self, size: SceneSize) -> None:
        super().__init__()
        first, *widths = size.channels
        self.stem = _layer(3, first, stride=2)
        self.stages = nn.ModuleList(
            nn.Sequential(_layer(before, width, stride=2), *(_Residual(width) for _ in range(number)))
            for before, width, number in zip(size.channels[:-1], widths, size.blocks, strict=True)
        )
        self.parts = _layer(widths[-1], widths[-1] // 4, side=1)
        self.context = nn.Sequential(nn.Linear(widths[-1] // 4 * GRID**2, size.context), nn.ReLU())
        self.everywhere = nn.Linear(size.context, size.merged)
        self.camera = nn.Linear(size.context, 3)
        self.laterals = nn.ModuleList(nn.Conv2d(width, size.merged, 1) for width in widths)
        self.merges = nn.ModuleList(_layer(size.merged, size.merged) for _ in widths[:-1])
        self.heads = nn.Conv2d(size.merged, sum(CHANNELS.values()), 1)
        self._begin()
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def _begin(self) -> None:
        """Biases: an untrained network sees almost nothing, and boxes of a usual size."""
        first = {"centers": -log(1 / FIRST_PROBABILITY - 1), "boxes": FIRST_DISTANCE}
        biases = [torch.full((number,), first.get(name, 0.0)) for name, number in CHANNELS.items()]
        self.heads.bias = nn.Parameter(torch.cat(biases))
        nn.init.normal_(self.heads.weight, std=0.01)
        nn.init.normal_(self.camera.weight, std=0.01)
        nn.init.zeros_(self.camera.bias)

    def forward(self, pictures: Tensor) -> SceneMaps:
        """Pixels are bytes, or floats from 0 to 1."""
        features = self.stem(_normalised(pictures))
        pyramid = []
        for stage in self.stages:
            features = stage(features)
            pyramid.append(features)
        parts = F.adaptive_avg_pool2d(self.parts(features), GRID)
        context = self.context(parts.flatten(1))
        merged = self.laterals[-1](features) + self.everywhere(context)[..., None, None]
        for k in reversed(range(len(self.merges))):
            finer = self.laterals[k](pyramid[k])
            merged = self.merges[k](finer + F.interpolate(merged, size=finer.shape[-2:]))
        maps = torch.split(self.heads(merged).float(), list(CHANNELS.values()), 1)
        centers, attributes, offsets, boxes = maps
        return SceneMaps(centers, attributes, offsets, boxes, self.camera(context).float())


def _normalised(pictures: Tensor) -> Tensor:
    if pictures.dim() != 4 or pictures.shape[1] != 3 or any(side % COARSEST for side in pictures.shape[2:]):
        raise ShapeError(
            f"the pictures are {list(pictures.shape)}; they must be [picture, 3, height, width], both sides "
            f"multiples of {COARSEST}, such as 320 and 480"
        )
    unit = 1.0 if pictures.is_floating_point() else 255.0
    pictures = pictures.to(torch.float32, memory_format=torch.channels_last)
    return (pictures - unit * PIXEL_MEAN) / (unit * PIXEL_SPREAD)


class _Residual(nn.Module):
    """x + f(x), f two convolutions (He et al. 2016)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = _layer(width, width)
        self.second = nn.Sequential(nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width))

    def forward(self, features: Tensor) -> Tensor:
        return F.relu(features + self.second(self.first(features)))


def _layer(inputs: int, outputs: int, *, side: int = 3, stride: int = 1) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, side, stride, padding=side // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))
