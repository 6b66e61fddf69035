"""Scenes from above, drawn to be put into a page.

The camera's right is to the right and what is in front is below, so that a drawing shows the relations that
programs speak of. Objects have their true size, and the numbers that the tables of programs call them by.
"""

from collections.abc import Mapping
from math import cos, hypot, pi, radians, sin
from typing import Any

from markupsafe import Markup

from ngs.tasks.clevr.program_text import description
from ngs.tasks.clevr.scene_sampling import CAMERA, RADIUS
from ngs.tasks.clevr.scenes import COLORS, Scene, Thing
from ngs.tasks.report.sections import render

Point = tuple[float, float]

UNIT = 30.0  # pixels for a unit of length: a small object then has room for its number
MARGIN, LABEL = 1.1, 0.3
"""Around the outermost centres, for a large object and its rings; and below, for what stands there."""
FIRST_RING, NEXT_RING = 0.12, 0.09  # how far the first ring is from its object, and the next from the last

CORNERS = {"cube": 4, "cylinder": 6}
"""Cylinders get corners: from above they would look like spheres, which have none."""


def drawing(scene: Scene, rings: Mapping[str, frozenset[int]]) -> Markup:
    """The scene; `rings` are objects to be marked, each kind of ring by the name of its class."""
    places = seen_from_above(scene)
    left, right = min(x for x, _ in places) - MARGIN, max(x for x, _ in places) + MARGIN
    top, bottom = min(y for _, y in places) - MARGIN, max(y for _, y in places) + MARGIN + LABEL
    return render(
        "tasks/clevr/report/scene.svg",
        things=[_thing(scene, k, (x - left, y - top), rings) for k, (x, y) in enumerate(places)],
        width=_pixels(right - left),
        height=_pixels(bottom - top),
        middle=_pixels((right - left) / 2),
        baseline=_pixels(bottom - top - 0.12),
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


def _thing(scene: Scene, k: int, place: Point, rings: Mapping[str, frozenset[int]]) -> dict[str, Any]:
    thing = scene.things[k]
    radius = RADIUS[thing.size]
    around = [class_ for class_, objects in rings.items() if k in objects]
    outlines = {"thing": radius, "shine": 0.72 * radius} if thing.material == "metal" else {"thing": radius}
    return {
        "number": k + 1,
        "words": description(thing),
        "fill": COLORS[thing.color],
        "place": list(map(_pixels, place)),
        "rings": {c: _pixels(radius + FIRST_RING + j * NEXT_RING) for j, c in enumerate(around)},
        "outlines": {c: (_pixels(r), _corners(scene, thing, place, r)) for c, r in outlines.items()},
    }


def _corners(scene: Scene, thing: Thing, place: Point, radius: float) -> str:
    """The corners of a polygon of this radius, turned as the object is; none of what is round."""
    (x, y), (right, front) = place, _axes(scene)
    corners = CORNERS.get(thing.shape, 0)
    angles = [radians(thing.rotation) + pi * (2 * k + 1) / corners for k in range(corners)]
    directions = [(cos(angle), sin(angle)) for angle in angles]
    points = [(x + radius * _along(d, right), y + radius * _along(d, front)) for d in directions]
    return " ".join(f"{_pixels(a)},{_pixels(b)}" for a, b in points)


def _pixels(length: float) -> str:
    return f"{UNIT * length:.1f}"
