"""Pictures in a mirror: what is said of them is what a camera would see of the mirrored scene."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ngs.tasks.clevr.scenes import Scene
from ngs.tasks.pictures.picture_examples import MirroredPictures, PictureExamples, targets_of
from ngs.tasks.pictures.rendered_pictures import rendered_pictures
from tests.tasks.clevr.sampled_pictures import pictures_of, sampled_scenes

CPU = torch.device("cpu")


def reflected(scene: Scene, camera: np.ndarray) -> Scene:
    """Mirrored at the upright plane through the origin and the camera: p becomes 2 (u.p) u - p."""
    along = camera[:2] / np.linalg.norm(camera[:2])

    def place(position: tuple[float, float, float]) -> tuple[float, float, float]:
        x, y = 2 * (along @ position[:2]) * along - position[:2]
        return float(x), float(y), position[2]

    return replace(scene, things=tuple(replace(each, position=place(each.position)) for each in scene.things))


@pytest.mark.parametrize("seed", range(3))
def test_targets_are_those_of_the_mirrored_scene(seed: int) -> None:
    pictures = pictures_of(sampled_scenes(8, seed), seed)
    cameras = pictures.cameras.double().numpy()
    scenes = tuple(map(reflected, pictures.scenes, cameras))
    wanted = targets_of(replace(pictures, scenes=scenes))
    seen = MirroredPictures(PictureExamples.of(pictures, CPU)).batch(np.arange(1, 16, 2)).targets
    shown = wanted.shown
    assert torch.equal(seen.shown, shown) and shown.any()
    assert torch.allclose(seen.columns[shown], wanted.columns[shown], atol=1e-2)
    assert torch.allclose(seen.rows[shown], wanted.rows[shown], atol=1e-2)
    assert torch.equal(seen.cameras, wanted.cameras)
    assert torch.equal(seen.attributes, wanted.attributes)


def test_a_box_is_around_the_same_pixels() -> None:
    pictures = rendered_pictures(2, 0, CPU)
    batch = MirroredPictures(PictureExamples.of(pictures, CPU)).batch(np.arange(4))
    for plain, turned in ((0, 1), (2, 3)):
        for k in batch.targets.shown[plain].nonzero().flatten():
            x0, y0, x1, y1 = batch.targets.boxes[plain, k].round().int().tolist()
            u0, v0, u1, v1 = batch.targets.boxes[turned, k].round().int().tolist()
            assert (y0, y1) == (v0, v1) and 0 <= u0 < u1 <= 480
            inside = batch.inputs[plain, :, y0:y1, x0:x1]
            assert torch.equal(batch.inputs[turned, :, v0:v1, u0:u1].flip(-1), inside)


def test_every_picture_comes_once_as_it_is() -> None:
    examples = PictureExamples.of(pictures_of([*sampled_scenes(3, 0), Scene((), {}, {})]), CPU)
    mirrored = MirroredPictures(examples)
    assert len(mirrored) == 8 and mirrored.lengths.tolist() == examples.lengths.repeat(2).tolist()
    plain, again = examples.batch(np.array([2, 0])), mirrored.batch(np.array([4, 0]))
    assert torch.equal(again.inputs, plain.inputs)
    assert torch.equal(again.targets.columns, plain.targets.columns)
    assert torch.equal(again.targets.boxes, plain.targets.boxes)
