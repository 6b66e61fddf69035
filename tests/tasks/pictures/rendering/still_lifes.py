"""Small scenes for tests of the renderer."""

import torch

from ngs.tasks.clevr.scene_sampling import CAMERA, RADIUS
from ngs.tasks.clevr.scenes import Scene, Thing
from ngs.tasks.pictures.rendering.solids import Solids

CPU = torch.device("cpu")
ONE_CAMERA = torch.tensor([CAMERA])


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def thing(shape: str, x: float = 0, y: float = 0, size: str = "large", **others: object) -> Thing:
    """Red rubber, unless told otherwise."""
    attributes = {"color": "red", "material": "rubber", "rotation": 0.4, **others}
    return Thing(size=size, shape=shape, position=(x, y, RADIUS[size]), **attributes)  # type: ignore[arg-type]


def still_life(*things: Thing) -> Scene:
    return Scene(things, {}, {}, "still life")


def solids_of(*scenes: Scene) -> Solids:
    return Solids.of(scenes, CPU)
