"""Pictures of scenes on a GPU: rendering, augmentation, loss and decoding, against the CPU."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ngs.experiments.record import read_rows
from ngs.learning.loop import Lesson, Settings, Trainer
from ngs.tasks.pictures.picture_augmentation import Lighting
from ngs.tasks.pictures.picture_examples import PictureBatch, PictureExamples
from ngs.tasks.pictures.rendered_pictures import rendered_pictures
from ngs.tasks.pictures.scene_loss import Seeing
from ngs.tasks.pictures.scene_network import SCENE_NETWORKS, SceneMaps, SceneNetwork
from ngs.tasks.pictures.seen_scene import seen_objects
from ngs.tasks.run_folder import METRICS
from tests.experiments.training import finished, train
from tests.tasks.pictures.picture_folders import few, packed_pictures, short_config
from tests.tasks.pictures.scene_maps import made_targets, perfect_maps

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

GPU = "cuda"


def test_rendered_pictures():
    """The same scenes, cameras and lamps, so that no more than rounding tells the images apart."""
    here, there = few(), rendered_pictures(len(few()), 5, torch.device(GPU))
    numbers = np.arange(len(here))
    assert there.decoded(numbers).is_cuda and torch.equal(here.cameras, there.cameras)
    assert [scene.name for scene in here.scenes] == [scene.name for scene in there.scenes]
    assert (here.boxes - there.boxes).abs().max() <= 2
    assert (here.visible - there.visible).abs().max() <= 5
    apart = (here.decoded(numbers).int() - there.decoded(numbers).cpu().int()).abs()
    assert (apart <= 2).float().mean() > 0.999 and apart.float().mean() < 0.1


def test_images_of_two_devices_are_joined():
    pixels = few().decoded(np.arange(6))
    pictures = replace(few(), images=(*pixels[:2], *pixels[2:].to(GPU)))
    for numbers in ([5, 0, 3, 0], [0, 1], [4], []):
        found = pictures.decoded(np.array(numbers, dtype=np.int64))
        assert torch.equal(found.cpu(), pixels[numbers]), numbers
    examples = PictureExamples.of(few(), torch.device(GPU))
    assert examples.batch(np.array([1])).inputs.is_cuda, "pictures are kept elsewhere than the network"


def test_pictures_are_changed():
    pixels = few().decoded(np.arange(6))
    here, there = (Lighting()(each, torch.Generator().manual_seed(0)) for each in (pixels, pixels.to(GPU)))
    assert torch.allclose(here, there.cpu(), atol=1e-4)
    drawn = Lighting()(pixels.to(GPU), torch.Generator(GPU).manual_seed(0))
    assert drawn.is_cuda and drawn.min() >= 0 and drawn.max() <= 1


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_a_step_of_seeing(precision):
    examples = PictureExamples.of(few(), torch.device(GPU))
    torch.manual_seed(0)
    network = SceneNetwork(SCENE_NETWORKS["small"])
    before = [weight.detach().clone() for weight in network.parameters()]
    settings = Settings(batch_size=4, precision=precision, averaging=0.5)
    trainer = Trainer(network, [Lesson("scenes", examples, Seeing(), 1)], settings, augment=Lighting())
    (step,) = trainer
    assert step.loss.is_cuda and step.loss.isfinite()
    assert all(part.isfinite() for part in step.measures.values())
    after = list(network.parameters())
    assert any(not torch.equal(old, new.cpu()) for old, new in zip(before, after, strict=True))
    assert all(weight.isfinite().all() for weight in after)


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_of_seeing(seed):
    truth = made_targets(seed)
    random = torch.Generator().manual_seed(seed)
    maps = SceneMaps(*(torch.randn(each.shape, generator=random) for each in perfect_maps(truth)))
    there = SceneMaps(*(each.to(GPU) for each in maps))
    here, found = (
        Seeing()(each, PictureBatch(torch.zeros(0), targets))
        for each, targets in ((maps, truth), (there, truth.to(torch.device(GPU))))
    )
    assert torch.allclose(here.value, found.value.cpu(), rtol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_decoding_of_scenes(seed):
    maps = perfect_maps(made_targets(seed))
    here, there = seen_objects(maps), seen_objects(SceneMaps(*(each.to(GPU) for each in maps)))
    for one, other in zip(here, there, strict=True):
        assert len(one) == len(other) > 0 and torch.equal(one.jitters, other.jitters)
        order, others = one.columns.argsort(), other.columns.argsort()  # all are equally sure
        for name in ("scores", "boxes", "columns", "rows"):
            assert torch.allclose(getattr(one, name)[order], getattr(other, name)[others], atol=1e-4), name
        for name, probs in one.attributes.items():
            assert torch.allclose(probs[order], other.attributes[name][others], atol=1e-5), name


def test_a_run_that_sees_goes_on_after_a_checkpoint(tmp_path):
    """Imported images are decoded once and kept on the GPU beside the rendered ones."""
    config = short_config(packed_pictures(tmp_path))
    whole = finished(config, tmp_path / "whole")
    for event in train(config, tmp_path / "run"):
        if event.step == 3 and "validation" in event.row:
            break
    result = finished(config, tmp_path / "run", resume=True)
    assert (result["steps"], result["pictures"]) == (whole["steps"], whole["pictures"]) == (4, 4)
    losses = [
        [row["loss"] for row in read_rows(tmp_path / name / METRICS) if "loss" in row]
        for name in ("whole", "run")
    ]
    assert len(losses[0]) == 4 and losses[1] == pytest.approx(losses[0], rel=1e-2)
