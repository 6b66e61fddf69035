"""Pictures of scenes: what shows where, in which colour, and against released masks and images."""

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.ndimage import find_objects

from ngs.errors import NGSError
from ngs.tasks.clevr import scene_sampling
from ngs.tasks.clevr.scenes import ATTRIBUTES, Scene
from ngs.tasks.pictures.camera import drawn_cameras, project
from ngs.tasks.pictures.rendering.renderer import boxes, developed, instances, render
from tests.tasks.clevr.official_files import published
from tests.tasks.pictures.picture_folders import released
from tests.tasks.pictures.rendering.still_lifes import ONE_CAMERA, seeded, still_life, thing

SMALL: Any = {"height": 80, "width": 120}


@cache
def sampled(seed: int) -> tuple[tuple[Scene, ...], torch.Tensor]:
    return scene_sampling.scenes(3, np.random.default_rng(seed)), drawn_cameras(3, seeded(seed))


# What shows


def test_a_sphere_shows_as_the_disc_it_is() -> None:
    shown = instances([still_life(thing("sphere"))], ONE_CAMERA)
    depth = ONE_CAMERA.norm() - 0.7 * 0.48  # its centre is 0.7 above the ground, along the view 0.48 of that
    radius = 525 * 0.7 / depth
    assert (shown == 1).sum().item() == pytest.approx(torch.pi * radius.square().item(), rel=0.03)
    middle = project(ONE_CAMERA, torch.tensor([[[0, 0, 0.7]]]))[0, 0]
    (box,), (visible,) = boxes(shown)
    assert (box[0, :2] + box[0, 2:]).div(2).tolist() == pytest.approx(middle[:2].tolist(), abs=1)
    assert visible[0] == (shown == 1).sum() and visible[1:].sum() == 0 and (box[1:] == 0).all()


def test_what_is_in_front_hides_what_is_behind() -> None:
    front, back = thing("cube", 0.9, -0.78), thing("sphere", size="small")
    hidden = boxes(instances([still_life(back, front)], ONE_CAMERA))[1][0]
    alone = boxes(instances([still_life(back)], ONE_CAMERA))[1][0]
    assert hidden[0] == 0 < alone[0]


@pytest.mark.parametrize("seed", range(2))
def test_boxes_are_those_of_looking_pixel_by_pixel(seed: int) -> None:
    shown = instances(*sampled(seed), **SMALL)
    for picture, around, visible in zip(shown, *boxes(shown), strict=True):
        for k, place in enumerate(find_objects(picture.numpy(), 10)):
            rows, columns = place or (slice(0, 0), slice(0, 0))
            assert around[k].tolist() == [columns.start, rows.start, columns.stop, rows.stop]
            assert visible[k] == (picture == k + 1).sum()


@pytest.mark.parametrize("seed", range(2))
def test_a_smaller_picture_shows_the_same(seed: int) -> None:
    scenes, cameras = sampled(seed)
    large, small = instances(scenes, cameras), instances(scenes, cameras, height=160, width=240)
    assert (large[:, ::2, ::2] == small).float().mean() > 0.98


def test_released_masks_are_met() -> None:
    """Theirs are sharp-edged: cubes lose up to three pixels at their corners."""
    scenes, known = zip(*released()[:12], strict=True)
    shown = instances(scenes, torch.tensor([each["camera_location"] for each in known]))
    overlaps: dict[str, list[float]] = {shape: [] for shape in ATTRIBUTES["shape"]}
    for scene, picture in zip(scenes, shown, strict=True):
        mask = torch.from_numpy(np.array(Image.open(published() / "masks" / scene.name)))
        for k, each in enumerate(scene.things, 1):
            both, either = ((mask == k) & (picture == k)).sum(), ((mask == k) | (picture == k)).sum()
            overlaps[each.shape].append((both / either).item())
    for shape, least in {"sphere": 0.98, "cylinder": 0.96, "cube": 0.92}.items():
        assert np.mean(overlaps[shape]) > least and min(overlaps[shape]) > 0.8


# Colours


def test_the_same_seed_gives_the_same_picture_alone_or_among_others() -> None:
    scenes, cameras = sampled(0)
    together = render(scenes, cameras, seeded(), **SMALL)
    alone = render(scenes[:1], cameras[:1], seeded(), **SMALL)
    assert torch.equal(together.images[:1], alone.images)
    assert torch.equal(together.instances, instances(scenes, cameras, **SMALL))
    other = render(scenes, cameras, seeded(1), **SMALL)
    assert torch.equal(together.instances, other.instances)
    assert (together.images.float() - other.images.float()).abs().mean() > 1, "the lamps have moved"


@pytest.mark.parametrize("material", ATTRIBUTES["material"])
def test_every_colour_looks_like_itself(material: str) -> None:
    """Each colour's mean is the nearest to the true one among those of all colours."""
    names = ATTRIBUTES["color"]
    scenes = [still_life(thing("cube", color=name, material=material)) for name in names]
    made = render(scenes, ONE_CAMERA.expand(8, 3), seeded(), **SMALL)
    pixels = [made.images[k][:, made.instances[k] == 1].float() for k in range(8)]
    hues = torch.stack([each.mean(1) / each.mean() for each in pixels])
    assert [hues[names.index(name)].argmax() for name in ("red", "green", "blue")] == [0, 1, 2]
    assert (hues[names.index("gray")] - 1).abs().max() < 0.1
    means = torch.stack([each.mean(1) for each in pixels])
    apart = torch.cdist(means, means)
    assert (apart + 1e3 * torch.eye(8)).min() > 15


def test_metal_shines_and_mirrors() -> None:
    balls = [still_life(thing("sphere", material=material)) for material in ATTRIBUTES["material"]]
    made = render(balls, ONE_CAMERA.expand(2, 3), seeded())
    rubber, metal = (made.images[k][:, made.instances[k] == 1].float() for k in (0, 1))
    assert metal.amax() > 240 > 200 > rubber.amax(), "a lamp's mirror image"
    assert metal.std(1).mean() > 1.5 * rubber.std(1).mean()
    beside = still_life(thing("sphere", material="metal"), thing("cube", 1.1, 1.2, color="cyan"))
    mirrored = render([beside], ONE_CAMERA, seeded())
    changed = (mirrored.images[0].float() - made.images[1].float()).abs().sum(0)
    assert ((changed > 20) & (mirrored.instances[0] == 1)).sum() > 50, "the cube shows in the ball"


def test_solids_throw_shadows() -> None:
    cylinder = still_life(thing("cylinder"))
    empty, full = (
        render([scene], ONE_CAMERA, seeded(4)).images[0].float() for scene in (still_life(), cylinder)
    )
    darker = (empty - full).mean(0)[instances([cylinder], ONE_CAMERA)[0] == 0]
    assert (darker > 5).float().mean() > 0.01 and (darker < -5).float().mean() < 0.01


def test_light_becomes_srgb() -> None:
    light = torch.tensor([-1.0, 0.0, 0.002, 0.2140, 1.0, 7.0]).view(1, 1, 1, 6)
    assert developed(light).flatten().tolist() == [0, 0, 7, 127, 255, 255]


def test_pictures_have_the_colours_of_released_ones() -> None:
    folder = published()
    wanted = sorted((folder / "images" / "real").glob("*.png"))[:4]
    if not wanted:
        pytest.skip(f"needs images/real, which is not in {folder}")
    scenes, known = zip(*(released()[int(path.stem[-6:])] for path in wanted), strict=True)
    made = render(scenes, torch.tensor([each["camera_location"] for each in known]), seeded())
    real = np.stack([np.array(Image.open(path).convert("RGB")) for path in wanted])
    apart = (torch.from_numpy(real).permute(0, 3, 1, 2).float() - made.images.float()).abs().mean(1)
    assert apart[made.instances == 0].mean() < 10, "grey levels on the ground"
    assert apart[made.instances > 0].mean() < 16, "and on objects"


# Borders


def test_no_scenes_and_no_objects_are_fine() -> None:
    none = render([], torch.zeros(0, 3), seeded(), **SMALL)
    assert none.images.shape == (0, 3, 80, 120) and none.instances.shape == (0, 80, 120)
    empty = render([still_life()], ONE_CAMERA, seeded(), **SMALL)
    assert empty.instances.sum() == 0 and 80 < empty.images.float().mean() < 180


def test_what_cannot_be_drawn_is_refused() -> None:
    crowd = still_life(*(thing("sphere", 0.1 * k) for k in range(11)))
    with pytest.raises(NGSError, match="'still life' has 11 objects; at most 10 are drawn"):
        instances([crowd], ONE_CAMERA)
    with pytest.raises(NGSError, match="2 scenes and 1 cameras"):
        render([still_life(), still_life()], ONE_CAMERA, seeded())
