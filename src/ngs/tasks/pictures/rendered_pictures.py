"""Pictures that need no download: sampled scenes, rendered from a seed."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import IntEnum
from math import atan2, cos, sin

import numpy as np
import torch
from torch import Tensor

from ngs.tasks.clevr.scene_sampling import scenes as sample_scenes
from ngs.tasks.clevr.scenes import Scene, Thing
from ngs.tasks.pictures.camera import drawn_cameras, project
from ngs.tasks.pictures.pictures import Pictures
from ngs.tasks.pictures.rendering.renderer import boxes, instances, render
from ngs.tasks.pictures.seen_scene import official_directions
from ngs.tasks.pictures.settings import RENDERED as RENDERED  # what this data set is called

RENDERING = 1
"""To be increased when the sampler, cameras, lamps or renderer change pictures by more than rounding."""
TEST_PICTURES = 60

PIXELS_TO_STAY = 150
"""Of an object that show: what is hidden more is taken out of the scene. CLEVR has none of these either."""

AT_ONCE, AT_ONCE_CUDA = 8, 256  # pictures rendered together


class Purpose(IntEnum):
    """The use of pictures. Each use has its own random numbers, whatever the seed."""

    TRAINING = 1
    TEST = 2
    FILES = 3  # for `ngs data render`; they may be imported as a data set later


SCENES, CAMERAS, LAMPS = range(1, 4)  # each is drawn from its own random numbers


def rendered_test_pictures(device: torch.device) -> Pictures:
    """The test pictures, the same each time."""
    return rendered_pictures(TEST_PICTURES, 0, device, Purpose.TEST)


def digest_of_rendered(number: int) -> str:
    """A digest of the settings: pixels differ in the last digit between devices."""
    facts = (RENDERED, RENDERING, number, TEST_PICTURES, PIXELS_TO_STAY)
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def rendered_pictures(
    number: int, seed: int, device: torch.device, purpose: Purpose = Purpose.TRAINING
) -> Pictures:
    """Pictures with their images on the device; scenes, cameras and lamps are drawn from the seed.

    All is drawn on the CPU, picture after picture: images differ only by rounding between devices and batch
    sizes, and the first ones do not depend on the number.
    """
    cameras = drawn_cameras(number, _generator(purpose, CAMERAS, seed))
    lamps = _generator(purpose, LAMPS, seed)
    made = photographed(drawn_scenes(number, seed, purpose), cameras.to(device), lamps)
    scenes, images, around, visible = zip(*made, strict=True)
    names = tuple(scene.name for scene in scenes)
    return Pictures(images, scenes, names, cameras, torch.stack(around).cpu(), torch.stack(visible).cpu())


def photographed(
    scenes: Sequence[Scene], cameras: Tensor, lamps: torch.Generator
) -> Iterator[tuple[Scene, Tensor, Tensor, Tensor]]:
    """Each scene without hidden objects, its picture, and the boxes and visible pixels of its objects."""
    at_once = AT_ONCE_CUDA if cameras.is_cuda else AT_ONCE
    for first in range(0, len(scenes), at_once):
        places = cameras[first : first + at_once]
        seen = list(_as_seen(scenes[first : first + at_once], places))
        made = render(seen, places, lamps)
        yield from zip(seen, made.images, *boxes(made.instances), strict=True)


def _as_seen(scenes: Sequence[Scene], cameras: Tensor) -> Iterator[Scene]:
    """The scenes without hidden objects, with the pixel positions of the others."""
    visible = boxes(instances(scenes, cameras))[1].tolist()
    for scene, camera, counts in zip(scenes, cameras.cpu(), visible, strict=True):
        seen = without_others(scene, [k for k in range(len(scene.things)) if counts[k] >= PIXELS_TO_STAY])
        places = torch.tensor([thing.position for thing in seen.things]).reshape(1, -1, 3)
        pixels = project(camera[None], places)[0].tolist()
        things = (replace(thing, pixel=tuple(p)) for thing, p in zip(seen.things, pixels, strict=True))
        yield replace(seen, things=tuple(things))


def drawn_scenes(number: int, seed: int, purpose: Purpose) -> list[Scene]:
    random = np.random.default_rng([purpose, SCENES, seed])
    sampled = sample_scenes(number, random)
    return [replace(as_released(each), name=f"{RENDERED}_{k:06d}.png") for k, each in enumerate(sampled)]


def _generator(purpose: Purpose, drawn: int, seed: int) -> torch.Generator:
    (state,) = np.random.SeedSequence([purpose, drawn, seed]).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(state >> 1))


def without_others(scene: Scene, kept: Sequence[int]) -> Scene:
    """The scene with only these objects, renumbered."""
    number = {old: new for new, old in enumerate(kept)}
    relations = {
        name: tuple(frozenset(number[i] for i in rows[k] if i in number) for k in kept)
        for name, rows in scene.relations.items()
    }
    return replace(scene, things=tuple(scene.things[k] for k in kept), relations=relations)


def as_released(scene: Scene) -> Scene:
    """The scene turned about the origin, so that its directions are those of all released scenes.

    In the release, directions are those of the average camera; `scene_sampling` takes those of each scene's
    own camera. Turning keeps distances and relations.
    """
    own, released = scene.directions["right"], official_directions()["right"]
    angle = atan2(released[1], released[0]) - atan2(own[1], own[0])

    def turned(thing: Thing) -> Thing:
        x, y, z = thing.position
        return replace(thing, position=(x * cos(angle) - y * sin(angle), x * sin(angle) + y * cos(angle), z))

    return replace(scene, things=tuple(map(turned, scene.things)), directions=official_directions())
