"""Pictures to learn from, also in a mirror: their targets are the truth, in pixels, numbers and masks."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ngs.tasks.clevr.scene_sampling import CAMERA, JITTER, pixels, view_from
from ngs.tasks.clevr.scenes import ATTRIBUTES, Scene
from ngs.tasks.pictures.picture_examples import PIXELS_TO_LEARN, PictureExamples, targets_of
from ngs.tasks.pictures.rendered_pictures import rendered_pictures
from tests.tasks.clevr.sampled_pictures import pictures_of, sampled_scenes

CPU = torch.device("cpu")


@pytest.mark.parametrize("seed", range(3))
def test_targets_are_what_the_camera_sees(seed: int) -> None:
    pictures = pictures_of(sampled_scenes(20, seed), seed)
    truth = targets_of(pictures)
    for k, scene in enumerate(pictures.scenes):
        count = len(scene.things)
        places = np.array([[thing.position for thing in scene.things]])
        wanted = pixels(view_from(pictures.cameras[k : k + 1].double().numpy()), places)[0]
        assert np.allclose(truth.columns[k, :count], wanted[:, 0], atol=1e-3)
        assert np.allclose(truth.rows[k, :count], wanted[:, 1], atol=1e-3)
        assert truth.shown[k].sum() == count and truth.shown[k, :count].all() and not truth.hidden[k].any()
        assert np.allclose(np.array(CAMERA) + JITTER * truth.cameras[k].numpy(), pictures.cameras[k])
        for thing, numbers in zip(scene.things, truth.attributes[k], strict=False):
            values = [known[i] for known, i in zip(ATTRIBUTES.values(), numbers, strict=True)]
            assert values == [thing.size, thing.color, thing.material, thing.shape]
    assert truth.cameras.abs().max() <= 1 + 1e-4
    assert torch.equal(truth.boxes, pictures.boxes)


def test_what_hardly_shows_is_there_but_not_asked_for() -> None:
    pictures = pictures_of(sampled_scenes(1, 0))
    visible = pictures.visible.clone()
    visible[0, 0], visible[0, 1] = PIXELS_TO_LEARN - 1, PIXELS_TO_LEARN
    truth = targets_of(replace(pictures, visible=visible))
    assert truth.hidden[0].nonzero().flatten().tolist() == [0]
    assert truth.shown[0].sum() == len(pictures.scenes[0].things) - 1


def test_a_centre_outside_the_picture_is_not_asked_for() -> None:
    (scene,) = sampled_scenes(1, 0)
    far = replace(scene.things[0], position=(9.0, 9.0, 0.7))
    truth = targets_of(pictures_of([replace(scene, things=(far, *scene.things[1:]))]))
    assert truth.hidden[0].nonzero().flatten().tolist() == [0]


def test_a_batch_has_images_and_truth_of_the_same_pictures() -> None:
    examples = PictureExamples.of(pictures_of([*sampled_scenes(4, 0), Scene((), {}, {})]), CPU)
    assert len(examples) == 5 and examples.lengths.tolist()[-1] == 0
    batch = examples.batch(np.array([3, 4, 1]))
    assert batch.inputs.dtype == torch.uint8 and batch.inputs.shape == (3, 3, 320, 480)
    assert batch.inputs[:, 0, 0, 0].tolist() == [3, 4, 1] and len(batch) == 3
    assert torch.equal(batch.targets.columns, examples.targets.columns[[3, 4, 1]])
    assert batch.targets.shown.sum(1).tolist() == examples.lengths[[3, 4, 1]].tolist()


# In a mirror


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
    seen = PictureExamples.of(pictures, CPU, mirrors=True).batch(np.arange(1, 16, 2)).targets
    shown = wanted.shown
    assert torch.equal(seen.shown, shown) and shown.any()
    assert torch.allclose(seen.columns[shown], wanted.columns[shown], atol=1e-2)
    assert torch.allclose(seen.rows[shown], wanted.rows[shown], atol=1e-2)
    assert torch.equal(seen.cameras, wanted.cameras)
    assert torch.equal(seen.attributes, wanted.attributes)


def test_a_box_is_around_the_same_pixels() -> None:
    pictures = rendered_pictures(2, 0, CPU)
    batch = PictureExamples.of(pictures, CPU, mirrors=True).batch(np.arange(4))
    for plain, turned in ((0, 1), (2, 3)):
        for k in batch.targets.shown[plain].nonzero().flatten():
            x0, y0, x1, y1 = batch.targets.boxes[plain, k].round().int().tolist()
            u0, v0, u1, v1 = batch.targets.boxes[turned, k].round().int().tolist()
            assert (y0, y1) == (v0, v1) and 0 <= u0 < u1 <= 480
            inside = batch.inputs[plain, :, y0:y1, x0:x1]
            assert torch.equal(batch.inputs[turned, :, v0:v1, u0:u1].flip(-1), inside)


def test_every_picture_comes_once_as_it_is() -> None:
    examples = PictureExamples.of(pictures_of([*sampled_scenes(3, 0), Scene((), {}, {})]), CPU)
    mirrored = replace(examples, mirrors=True)
    assert len(mirrored) == 8 and mirrored.lengths.tolist() == examples.lengths.repeat(2).tolist()
    plain, again = examples.batch(np.array([2, 0])), mirrored.batch(np.array([4, 0]))
    assert torch.equal(again.inputs, plain.inputs)
    assert torch.equal(again.targets.columns, plain.targets.columns)
    assert torch.equal(again.targets.boxes, plain.targets.boxes)
