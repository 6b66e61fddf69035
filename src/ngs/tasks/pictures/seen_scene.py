"""From a picture to its scene: objects at the peaks of a network's maps, their places and their relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ngs.errors import DataError
from ngs.tasks.clevr.scene_sampling import CAMERA, JITTER, RADIUS, directions, triple, view_from
from ngs.tasks.clevr.scenes import ATTRIBUTES, MOST_OBJECTS, Scene, Thing
from ngs.tasks.pictures.camera import lift, project
from ngs.tasks.pictures.scene_network import STRIDE, SceneMaps, at_cells, by_attribute

THRESHOLD = 0.3
"""Peaks below this probability are no objects."""
MOST_PEAKS = 20
"""looked at in a picture: twice as many as there can be objects, so that too many can be noticed"""
NEAREST = 8.0
"""Pixels between the centres of two objects, at least: in 1,000 released scenes none are nearer than 19. Of
neighbouring cells that half precision makes equally high, only one is an object."""


Relations = dict[str, tuple[frozenset[int], ...]]


@dataclass(frozen=True, eq=False)
class SeenObjects:
    """What is seen in one picture, the surest first, on the CPU."""

    scores: Tensor
    """[object]: probability that there is one"""
    boxes: Tensor
    """[object, 4]: left, upper, right and lower side of what shows of it, in pixels"""
    columns: Tensor
    """[object]: where its centre is, seen or hidden, in pixels"""
    rows: Tensor
    """[object]"""
    attributes: Mapping[str, Tensor]
    """probabilities [object, value] for each attribute, the values as in ATTRIBUTES"""
    jitters: Tensor
    """[3]: as in `SceneMaps.cameras`"""

    def __len__(self) -> int:
        return len(self.scores)

    def select(self, kept: Tensor | Sequence[int]) -> SeenObjects:
        attributes = {name: probs[kept] for name, probs in self.attributes.items()}
        scores, boxes, columns, rows = (
            part[kept] for part in (self.scores, self.boxes, self.columns, self.rows)
        )
        return SeenObjects(scores, boxes, columns, rows, attributes, self.jitters)

    @property
    def camera(self) -> Tensor:
        """[3]: where the camera stands; the inverse of `in_jitters`."""
        return torch.tensor(CAMERA) + JITTER * self.jitters

    @property
    def values(self) -> dict[str, list[str]]:
        """The likeliest value of each attribute for each object."""
        return {a: [known[k] for k in self.attributes[a].argmax(-1)] for a, known in ATTRIBUTES.items()}

    @property
    def places(self) -> Tensor:
        """[object, 3]: where the centres are; objects stand on the ground, so that size tells the height."""
        heights = torch.tensor([RADIUS[size] for size in self.values["size"]])
        ground = lift(self.camera[None], self.columns[None], self.rows[None], heights[None])[0]
        return torch.cat([ground, heights[:, None]], 1)


@torch.no_grad()
def seen_objects(maps: SceneMaps) -> list[SeenObjects]:
    """The objects in each picture: cells that no neighbour exceeds, surer than THRESHOLD."""
    scores, cells = _peaks(maps.centers)
    width = maps.centers.shape[-1]
    x, y = cells % width + 0.5, cells // width + 0.5
    across, down = at_cells(maps.offsets, cells).unbind(-1)
    columns, rows = STRIDE * (x + across), STRIDE * (y + down)
    left, upper, right, lower = at_cells(maps.boxes, cells).unbind(-1)
    boxes = STRIDE * torch.stack([x - left, y - upper, x + right, y + lower], -1)
    found = (scores > THRESHOLD) & ~_again(columns, rows)
    logits = by_attribute(at_cells(maps.attributes, cells), -1)
    probs = {name: values.softmax(-1).cpu() for name, values in logits.items()}
    parts = (part.cpu() for part in (scores, boxes, columns, rows, maps.cameras, found))
    return [
        SeenObjects(peak, box, column, row, {a: each[k] for a, each in probs.items()}, camera).select(kept)
        for k, (peak, box, column, row, camera, kept) in enumerate(zip(*parts, strict=True))
    ]


def _peaks(centers: Tensor) -> tuple[Tensor, Tensor]:
    """Probabilities and cells of the highest peaks, each [picture, peak], highest first."""
    highest = F.max_pool2d(centers, 3, stride=1, padding=1)
    peaks = centers.masked_fill(centers < highest, -torch.inf).flatten(1)
    logits, cells = peaks.topk(min(MOST_PEAKS, peaks.shape[1]))
    return logits.sigmoid(), cells


def _again(columns: Tensor, rows: Tensor) -> Tensor:
    """bool [picture, peak]: whether a higher peak has the same centre."""
    places = torch.stack([columns, rows], -1)
    near = torch.cdist(places, places) < NEAREST
    return near.tril(-1).any(-1)


# Their scene


def in_jitters(cameras: Tensor) -> Tensor:
    """Where cameras [..., 3] stand, as a network says it: from CAMERA, in units of JITTER."""
    return (cameras - torch.tensor(CAMERA, device=cameras.device)) / JITTER


@cache
def official_directions() -> Mapping[str, tuple[float, float, float]]:
    """The four directions of every official scene: those of CAMERA itself, not of the jittered one."""
    axes = directions(view_from(np.array([CAMERA])))
    return {name: triple(axis[0].tolist()) for name, axis in axes.items()}


def relations_of(places: Tensor) -> Relations:
    """Who stands left, right, in front of and behind whom at places [object, 3], by `official_directions`.

    Which side it is on decides: in official scenes two centres differ by MARGIN along each direction, and
    zero is the threshold that the largest errors of two places do not cross.
    """

    def related(direction: tuple[float, float, float]) -> tuple[frozenset[int], ...]:
        along = places @ torch.tensor(direction, dtype=places.dtype)
        table = along[None] > along[:, None]
        return tuple(frozenset(row.nonzero().flatten().tolist()) for row in table)

    return {name: related(direction) for name, direction in official_directions().items()}


def scene_of(seen: SeenObjects, name: str = "") -> Scene:
    """The scene that shows in a picture, its objects in the order of `seen`; rotations are not seen."""
    if len(seen) > MOST_OBJECTS:
        raise DataError(
            f"{len(seen)} objects were found in the picture {name!r}; scenes have at most {MOST_OBJECTS}; "
            f"give a picture with fewer, or a network that has learned to see"
        )
    places = seen.places
    depths = project(seen.camera[None], places[None])[0, :, 2]
    pixels = torch.stack([seen.columns, seen.rows, depths], 1)
    columns = (
        *seen.values.values(),
        map(triple, places.tolist()),
        [0.0] * len(seen),
        map(triple, pixels.tolist()),
    )
    things = tuple(map(Thing, *columns))
    return Scene(things, relations_of(places), official_directions(), name)


@dataclass(frozen=True, eq=False)
class SeenPicture:
    picture: Tensor
    """uint8 [3, 320, 480]"""
    seen: SeenObjects
    scene: Scene
    """its objects are those of `seen`, in the same order"""


@dataclass(frozen=True, eq=False)
class SceneReader:
    """A network that is ready to see."""

    network: nn.Module

    def see(self, pictures: Tensor) -> list[SeenObjects]:
        """What shows in pictures [picture, 3, 320, 480]."""
        device = next(self.network.parameters()).device
        with torch.inference_mode():
            return seen_objects(self.network(pictures.to(device)))

    def read(self, picture: Tensor, name: str = "") -> SeenPicture:
        """One picture [3, 320, 480]; a DataError where more is seen in it than a scene can hold."""
        (seen,) = self.see(picture[None])
        return SeenPicture(picture, seen, scene_of(seen, name))
