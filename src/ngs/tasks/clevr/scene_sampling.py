"""Random scenes by the rules of CLEVR (Johnson et al. 2017): well apart, and no relation near a tie.

Only additions, products, quotients and square roots are used, one operation at a time: these are exact to
the last digit, so that the same seed gives the same scenes on every machine.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngs.errors import NGSError
from ngs.tasks.clevr.scenes import ATTRIBUTES, MOST_OBJECTS, Scene, Thing

FEWEST_OBJECTS = 3
RADIUS = {"small": 0.35, "large": 0.7}
REACH = 3.0  # objects stand in [-REACH, REACH]^2

DISTANCE = 0.25  # between any two objects, measured from edge to edge, at least
MARGIN = 0.4  # between any two centres, along each of the four directions, at least
EPSILON = 0.2  # an object is left of another if it is more than this far to the left

CAMERA = (7.48, -6.5, 5.34)
"""Where the camera of the released images stands on average; it looks at the origin."""
JITTER = 0.5  # how far it may be from there, in each coordinate
WIDTH, HEIGHT, FOCAL = 480, 320, 525.0
"""of the image, in pixels: released pixel coordinates are met to within their rounding"""

BLOCK = 128  # scenes that are sampled together
TRIES = 50  # places tried for an object before its scene is begun anew

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


class View(NamedTuple):
    """Axes of the camera, each float [scene, 3]."""

    camera: Floats
    forward: Floats  # from the camera to the origin
    right: Floats
    down: Floats
    behind: Floats  # `forward` on the ground plane


def scenes(number: int, random: np.random.Generator) -> tuple[Scene, ...]:
    """Scenes of 3 to 10 objects; asking for more leaves the first ones as they are.

    The number of objects and every attribute are uniform, and so are places that keep DISTANCE and MARGIN to
    the objects placed before. Each scene has its own camera, which gives the four directions on the ground
    plane. Objects may hide each other.
    """
    if number < 0:
        raise NGSError(f"{number} scenes were asked for; ask for none or more")
    blocks = (scene for _ in range(0, number, BLOCK) for scene in _block(random))
    return tuple(islice(blocks, number))


def _block(random: np.random.Generator) -> Iterator[Scene]:
    shape = (BLOCK, MOST_OBJECTS)
    counts = random.integers(FEWEST_OBJECTS, MOST_OBJECTS + 1, BLOCK)
    values = {name: random.integers(len(known), size=shape) for name, known in ATTRIBUTES.items()}
    rotations = 360 * random.random(shape)
    view = view_from(np.array(CAMERA) + JITTER * (2 * random.random((BLOCK, 3)) - 1))
    radii = np.array([RADIUS[size] for size in ATTRIBUTES["size"]])[values["size"]]
    places = np.concatenate([_places(counts, radii, view, random), radii[..., None]], axis=-1)
    things = _things(values, places, rotations, pixels(view, places))
    axes, related = directions(view), _related(view, places)
    for k, count in enumerate(counts.tolist()):
        yield Scene(
            things[k * MOST_OBJECTS :][:count],
            {
                name: tuple(frozenset(np.flatnonzero(row).tolist()) for row in table[k, :count, :count])
                for name, table in related.items()
            },
            {name: triple(axis[k].tolist()) for name, axis in axes.items()},
        )


def _things(
    values: Mapping[str, NDArray[np.int64]], places: Floats, rotations: Floats, seen: Floats
) -> tuple[Thing, ...]:
    """Those of all scenes, one behind the other, MOST_OBJECTS for each."""
    words = [[known[value] for value in values[name].flat] for name, known in ATTRIBUTES.items()]
    seen = np.concatenate([seen[..., :2].round(), seen[..., 2:]], axis=-1)
    position, pixel = (map(triple, table.reshape(-1, 3).tolist()) for table in (places, seen))
    return tuple(map(Thing, *words, position, rotations.ravel().tolist(), pixel))


def triple(numbers: Iterable[float]) -> tuple[float, float, float]:
    x, y, z = numbers
    return x, y, z


def _dot(a: Floats, b: Floats) -> Floats:
    product = a * b
    return np.asarray(product[..., 0] + product[..., 1] + product[..., 2])


def _unit(vectors: Floats) -> Floats:
    return vectors / np.sqrt(_dot(vectors, vectors))[..., None]


def view_from(camera: Floats) -> View:
    """What is right and what is down for a camera [scene, 3] that looks at the origin."""
    forward = _unit(-camera)
    level = forward * [1, 1, 0]
    behind = 0 - _unit(camera * [1, 1, 0])
    right = behind[:, [1, 0, 2]] * [1, -1, 1]
    down = behind * forward[:, 2:] - np.sqrt(_dot(level, level))[:, None] * [0, 0, 1]
    return View(camera, forward, right, down, behind)


def directions(view: View) -> dict[str, Floats]:
    # 0 - x: not -x, which makes -0.0 of 0
    return {"left": 0 - view.right, "right": view.right, "front": 0 - view.behind, "behind": view.behind}


def pixels(view: View, places: Floats) -> Floats:
    """[scene, object, 3]: column, row and depth of places [scene, object, 3] in a pinhole camera."""
    seen = places - view.camera[:, None]
    depth = _dot(seen, view.forward[:, None])
    column = WIDTH / 2 + FOCAL * _dot(seen, view.right[:, None]) / depth
    row = HEIGHT / 2 + FOCAL * _dot(seen, view.down[:, None]) / depth
    return np.stack([column, row, depth], -1)


def _related(view: View, places: Floats) -> dict[str, NDArray[np.bool_]]:
    """For each relation, bool [scene, k, i]: whether object i has it to object k."""
    offsets = places[:, None] - places[:, :, None]
    return {name: _dot(offsets, axis[:, None, None]) > EPSILON for name, axis in directions(view).items()}


def _places(counts: Counts, radii: Floats, view: View, random: np.random.Generator) -> Floats:
    """[scene, object, 2]: where the first `counts` objects of each scene stand."""
    places = np.zeros((*radii.shape, 2))
    unplaced = np.arange(len(counts))
    while len(unplaced):
        # Crowded scenes fail often: the fewer are left, the more attempts each has at once.
        rows = np.tile(unplaced, len(counts) // len(unplaced))
        found, done = _attempt(counts[rows], radii[rows], View(*(axis[rows] for axis in view)), random)
        placed, first = np.unique(rows[done], return_index=True)
        places[placed] = found[done][first]
        unplaced = np.setdiff1d(unplaced, placed)
    return places


def _attempt(
    counts: Counts, radii: Floats, view: View, random: np.random.Generator
) -> tuple[Floats, NDArray[np.bool_]]:
    """One object after the other, at the first of TRIES places that will do; and for which scenes all did."""
    places = np.zeros((*radii.shape, 2))
    done = np.ones(len(counts), dtype=bool)
    for k in range(MOST_OBJECTS):
        tried = REACH * (2 * random.random((len(counts), TRIES, 2)) - 1)
        apart = _apart(tried[:, :, None] - places[:, None, :k], radii[:, k, None] + radii[:, :k], view)
        apart = np.asarray(apart.all(2))
        places[:, k] = tried[np.arange(len(counts)), apart.argmax(1)]
        done &= apart.any(1) | (k >= counts)
    return places, done


def _apart(offsets: Floats, radii: Floats, view: View) -> NDArray[np.bool_]:
    """Whether two objects so far apart [scene, try, other, 2] keep DISTANCE and MARGIN."""
    x, y = offsets[..., 0], offsets[..., 1]
    reach = radii[:, None] + DISTANCE
    apart = x * x + y * y > reach * reach
    for axis in (view.right, view.behind):
        apart &= np.abs(x * axis[:, :1, None] + y * axis[:, 1:2, None]) > MARGIN
    return np.asarray(apart)
