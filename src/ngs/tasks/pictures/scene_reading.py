"""Reading pictures: a network that sees, and the scene that is made of what it saw."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ngs.tasks.clevr.scenes import Scene
from ngs.tasks.pictures.scene_network import SceneNetwork
from ngs.tasks.pictures.seen_objects import SeenObjects, seen_objects
from ngs.tasks.pictures.seen_scene import scene_of


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
