"""Small folders of images with their scenes, and short runs that learn from them."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ngs.tasks.clevr.official_scene import as_scene, scene_to_official
from ngs.tasks.clevr.scenes import Scene
from ngs.tasks.pictures import picture_packed
from ngs.tasks.pictures.picture_file import as_image
from ngs.tasks.pictures.picture_folder import read_folder
from ngs.tasks.pictures.pictures import PictureData, Pictures
from ngs.tasks.pictures.rendered_pictures import rendered_pictures
from ngs.tasks.pictures.settings import TrainScenes
from tests.tasks.clevr.official_files import published

CPU = torch.device("cpu")
PICTURES = 6


rendered_once = cache(rendered_pictures)
"""Takes the place of `rendered_pictures` where a test trains: rendering takes longer than all else."""


def few() -> Pictures:
    return rendered_once(PICTURES, 5, CPU)


def official(pictures: Pictures) -> dict[str, Any]:
    """What a file of scenes holds, without where the cameras stood."""
    return {"scenes": [scene_to_official(scene, k) for k, scene in enumerate(pictures.scenes)]}


def image_folder(folder: Path) -> tuple[Path, Path]:
    """A folder with the images in two folders of its own, and beside it the file of their scenes."""
    pictures = few()
    images, scenes = folder / "images", folder / "scenes.json"
    for k, name in enumerate(pictures.names):
        path = images / ("odd" if k % 2 else "even") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        as_image(pictures.decoded(np.array([k]))[0]).save(path)
    scenes.write_text(json.dumps(official(pictures)))
    return images, scenes


def small_data(folder: Path, name: str = "few") -> PictureData:
    return read_folder(*image_folder(folder), name=name)


def packed_pictures(folder: Path, name: str = "few") -> Path:
    """The packed file of such a folder: five pictures to learn from and one to be tested on."""
    path = folder / "few.ngs"
    picture_packed.write(path, small_data(folder, name))
    return path


@cache
def released() -> list[tuple[Scene, dict[str, Any]]]:
    """The official scenes at hand, each with what others found out about its image; else the test skips."""
    scenes, known = (
        json.loads(gzip.decompress((published() / f"{name}_train.json.gz").read_bytes()))
        for name in ("scenes", "objects")
    )
    return [(as_scene(scene), facts) for scene, facts in zip(scenes["scenes"], known, strict=False)]


def short_config(data: Path, **changes: Any) -> TrainScenes:
    """Two lessons of two steps, which teach next to nothing."""
    given = {"rendered": 3, "rendered_steps": 2, "steps": 2, "batch_size": 2, "validate_every": 1}
    return TrainScenes(**{"data": str(data), "validation": 0.2, **given, **changes})
