"""Drawings show where objects stand to each other, and what they are."""

import re
from collections import Counter
from dataclasses import replace
from itertools import combinations
from math import dist

import numpy as np
import pytest

from ngs.tasks.clevr.scene_drawing import drawing, seen_from_above
from ngs.tasks.clevr.scene_sampling import scenes
from ngs.tasks.clevr.scenes import ATTRIBUTES, COLORS, Scene
from tests.documents import Document

SCENES = scenes(8, np.random.default_rng(0))


def test_every_colour_is_known() -> None:
    assert tuple(COLORS) == ATTRIBUTES["color"]


@pytest.mark.parametrize("scene", SCENES)
def test_relations_can_be_seen(scene: Scene) -> None:
    """Right is to the right, and the front is below."""
    places = seen_from_above(scene)
    for k, (x, y) in enumerate(places):
        for other, (x_other, y_other) in enumerate(places):
            if other == k:
                continue
            assert (other in scene.relations["right"][k]) == (x_other > x)
            assert (other in scene.relations["front"][k]) == (y_other > y)


def test_distances_are_true_without_directions() -> None:
    for scene in SCENES:
        places = seen_from_above(replace(scene, directions={}))
        for j, k in combinations(range(len(places)), 2):
            true = dist(scene.things[j].position[:2], scene.things[k].position[:2])
            assert dist(places[j], places[k]) == pytest.approx(true)


def test_the_average_camera_is_near_each() -> None:
    for scene in SCENES:
        for own, average in zip(
            seen_from_above(scene), seen_from_above(replace(scene, directions={})), strict=True
        ):
            assert dist(own, average) < 0.5


@pytest.mark.parametrize("scene", SCENES)
def test_objects_are_drawn_as_they_are(scene: Scene) -> None:
    text = drawing(scene, {})
    fills = Counter(re.findall(r'class="thing" fill="(.*?)"', text))
    assert fills == Counter(COLORS[thing.color] for thing in scene.things)
    outlines = Counter(re.findall(r'<(\w+) [^>]*class="thing"', text))
    spheres = sum(thing.shape == "sphere" for thing in scene.things)
    assert outlines == Counter({"circle": spheres, "polygon": len(scene.things) - spheres})
    corners = Counter(len(points.split()) for points in re.findall(r'points="([^"]*)" class="thing"', text))
    shapes = Counter(thing.shape for thing in scene.things)
    assert corners == Counter({4: shapes["cube"], 6: shapes["cylinder"]})
    assert text.count('class="shine"') == sum(thing.material == "metal" for thing in scene.things)
    assert re.findall(r'class="number">(\d+)<', text) == [str(k + 1) for k in range(len(scene.things))]
    assert "ring" not in text


def test_rings_are_around_the_objects_that_are_meant() -> None:
    scene = SCENES[0]
    text = drawing(scene, {"read": frozenset({0, 2}), "true": frozenset({2})})
    groups = re.findall(r"<g>.*?</g>", text, re.DOTALL)
    assert [re.findall(r'class="ring (\w+)"', group) for group in groups[:3]] == [
        ["read"],
        [],
        ["read", "true"],
    ]


def test_nothing_is_drawn_outside() -> None:
    for scene in SCENES:
        everything = frozenset(range(len(scene.things)))
        text = drawing(scene, {name: everything for name in ("read", "fixed", "true")})
        assert Document(text).tags["svg"] == 1
        width, height = map(float, re.findall(r'viewBox="0 0 (\S+) (\S+)"', text)[0])
        for x, y, r in re.findall(r'cx="(\S+)" cy="(\S+)" r="(\S+)"', text):
            assert float(r) <= float(x) <= width - float(r)
            assert float(r) <= float(y) <= height - float(r)
