"""From a picture to its scene, by a network that sees: where objects stand on the ground, their relations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from ngs.errors import DataError
from ngs.tasks.clevr.scene_sampling import CAMERA, JITTER, RADIUS, directions, triple, view_from
from ngs.tasks.clevr.scenes import ATTRIBUTES, MOST_OBJECTS, Scene, Thing
from ngs.tasks.pictures.camera import lift, project
from ngs.tasks.pictures.scene_network import SceneNetwork
from ngs.tasks.pictures.seen_objects import SeenObjects, seen_objects

Relations = dict[str, tuple[frozenset[int], ...]]


def in_jitters(cameras: Tensor) -> Tensor:
    """Where cameras [..., 3] stand, as a network says it: from CAMERA, in units of JITTER."""
    return (cameras - torch.tensor(CAMERA, device=cameras.device)) / JITTER


def seen_camera(seen: SeenObjects) -> Tensor:
    """[3]: where the camera stands; the inverse of `in_jitters`."""
    return torch.tensor(CAMERA) + JITTER * seen.camera


@cache
def official_directions() -> Mapping[str, tuple[float, float, float]]:
    """The four directions of every official scene: those of CAMERA itself, not of the jittered one."""
    axes = directions(view_from(np.array([CAMERA])))
    return {name: triple(axis[0].tolist()) for name, axis in axes.items()}


def values_of(seen: SeenObjects) -> dict[str, list[str]]:
    """The likeliest value of each attribute for each object."""
    return {name: [known[k] for k in seen.attributes[name].argmax(-1)] for name, known in ATTRIBUTES.items()}


def places_of(seen: SeenObjects) -> Tensor:
    """[object, 3]: where the centres are; objects stand on the ground, so that size tells the height."""
    heights = torch.tensor([RADIUS[size] for size in values_of(seen)["size"]])
    ground = lift(seen_camera(seen)[None], seen.columns[None], seen.rows[None], heights[None])[0]
    return torch.cat([ground, heights[:, None]], 1)


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
    places, values = places_of(seen), values_of(seen)
    depths = project(seen_camera(seen)[None], places[None])[0, :, 2]
    pixels = torch.stack([seen.columns, seen.rows, depths], 1)
    words = [values[attribute] for attribute in ATTRIBUTES]
    rotations = [0.0] * len(seen)
    things = tuple(map(Thing, *words, map(triple, places.tolist()), rotations, map(triple, pixels.tolist())))
    return Scene(things, relations_of(places), official_directions(), name)


@dataclass(frozen=True, eq=False)
class SeenPicture:
    """What was seen in a picture."""

    picture: Tensor
    """uint8 [3, 320, 480]"""
    seen: SeenObjects
    scene: Scene
    """its objects are those of `seen`, in the same order"""


@dataclass(frozen=True, eq=False)
class SceneReader:
    """A network that is ready to see."""

    network: SceneNetwork

    def see(self, pictures: Tensor) -> list[SeenObjects]:
        """What shows in pictures [picture, 3, 320, 480]."""
        device = next(self.network.parameters()).device
        with torch.inference_mode():
            return seen_objects(self.network(pictures.to(device)))

    def read(self, picture: Tensor, name: str = "") -> SeenPicture:
        """One picture [3, 320, 480]; a DataError where more is seen in it than a scene can hold."""
        (seen,) = self.see(picture[None])
        return SeenPicture(picture, seen, scene_of(seen, name))
