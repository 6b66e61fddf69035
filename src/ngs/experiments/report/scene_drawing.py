"""Scenes from above, drawn to be put into a page.

The camera's right is to the right and what is in front is below, so that a drawing shows the relations that
programs speak of. Objects have their true size, and the numbers that the tables of programs call them by.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import cos, hypot, pi, radians, sin

from ngs.experiments.report.markup import Html, element
from ngs.tasks.clevr.program_text import description
from ngs.tasks.clevr.scene_sampling import CAMERA, RADIUS
from ngs.tasks.clevr.scenes import COLORS, Scene, Thing

Point = tuple[float, float]

UNIT = 30.0
"""Pixels for a unit of length: a small object then has room for its number."""
MARGIN, LABEL = 1.1, 0.3
"""Around the outermost centres, for a large object and its rings; and below, for what stands there."""
FIRST_RING, NEXT_RING = 0.12, 0.09
"""How far the first ring is from its object, and the next from the last."""

CORNERS = {"cube": 4, "cylinder": 6}
"""Cylinders get corners: from above they would look like spheres, which have none."""


def drawing(scene: Scene, rings: Mapping[str, frozenset[int]]) -> Html:
    """The scene; `rings` are objects to be marked, each kind of ring by the name of its class."""
    places = seen_from_above(scene)
    left, right = min(x for x, _ in places) - MARGIN, max(x for x, _ in places) + MARGIN
    top, bottom = min(y for _, y in places) - MARGIN, max(y for _, y in places) + MARGIN + LABEL
    names = ", ".join(f"{k}: {description(thing)}" for k, thing in enumerate(scene.things, 1))
    things = [_thing(scene, k, (x - left, y - top), rings) for k, (x, y) in enumerate(places)]
    width, height = _pixels(right - left), _pixels(bottom - top)
    return element(
        "svg",
        *things,
        element("text", "front", x=_pixels((right - left) / 2), y=_pixels(bottom - top - 0.12)),
        class_="scene",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        **{"aria-label": f"scene from above; {names}"},
    )


def seen_from_above(scene: Scene) -> list[Point]:
    """Where each object is: how far to the camera's right, and how far to the front."""
    right, front = _axes(scene)
    return [(_along(thing.position, right), _along(thing.position, front)) for thing in scene.things]


def _axes(scene: Scene) -> tuple[Point, Point]:
    """Right and front on the ground plane; those of the average camera where a scene does not say."""
    if "right" in scene.directions and "front" in scene.directions:
        return scene.directions["right"][:2], scene.directions["front"][:2]
    away = hypot(*CAMERA[:2])
    front = CAMERA[0] / away, CAMERA[1] / away
    return (-front[1], front[0]), front


def _along(position: tuple[float, ...], axis: Point) -> float:
    return position[0] * axis[0] + position[1] * axis[1]


def _thing(scene: Scene, k: int, place: Point, rings: Mapping[str, frozenset[int]]) -> Html:
    """Object k with its number; metal shines."""
    thing = scene.things[k]
    radius = RADIUS[thing.size]
    x, y = map(_pixels, place)
    around = [class_ for class_, objects in rings.items() if k in objects]
    radii = [_pixels(radius + FIRST_RING + j * NEXT_RING) for j in range(len(around))]
    drawn = [
        element("title", f"{k + 1}: {description(thing)}"),
        *(element("circle", cx=x, cy=y, r=r, class_=f"ring {c}") for r, c in zip(radii, around, strict=True)),
        _outline(scene, thing, place, radius, class_="thing", fill=COLORS[thing.color]),
        *[_outline(scene, thing, place, 0.72 * radius, class_="shine")] * (thing.material == "metal"),
        element("text", str(k + 1), x=x, y=y, dy=".35em", class_="number"),
    ]
    return element("g", *drawn)


def _outline(scene: Scene, thing: Thing, place: Point, radius: float, **attributes: str) -> Html:
    """A circle or a polygon of this radius, turned as the object is."""
    x, y = place
    if thing.shape not in CORNERS:
        return element("circle", cx=_pixels(x), cy=_pixels(y), r=_pixels(radius), **attributes)
    right, front = _axes(scene)
    corners = CORNERS[thing.shape]
    angles = [radians(thing.rotation) + pi * (2 * k + 1) / corners for k in range(corners)]
    directions = [(cos(angle), sin(angle)) for angle in angles]
    points = [(x + radius * _along(d, right), y + radius * _along(d, front)) for d in directions]
    return element("polygon", points=" ".join(f"{_pixels(a)},{_pixels(b)}" for a, b in points), **attributes)


def _pixels(length: float) -> str:
    return f"{UNIT * length:.1f}"
