"""Scenes: objects with attributes, and where they stand to each other (Johnson et al. 2017, CLEVR)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "size": ("small", "large"),
    "color": ("gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"),
    "material": ("rubber", "metal"),
    "shape": ("cube", "sphere", "cylinder"),
}
"""In the order in which CLEVR's programs filter."""

RELATIONS = ("left", "right", "front", "behind")

COLORS: Mapping[str, str] = {
    "gray": "#575757",
    "red": "#ad2323",
    "blue": "#2a4bd7",
    "green": "#1d6914",
    "brown": "#814a19",
    "purple": "#8126c0",
    "cyan": "#29d0d0",
    "yellow": "#ffee33",
}
"""As they look in the images of CLEVR."""

MOST_OBJECTS = 10

ANSWERS: tuple[str, ...] = (
    *(str(number) for number in range(MOST_OBJECTS + 1)),
    *("yes", "no"),
    *(value for values in ATTRIBUTES.values() for value in values),
)


@dataclass(frozen=True)
class Thing:
    """One object."""

    size: str
    color: str
    material: str
    shape: str
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """on the ground plane, the third coordinate up"""
    rotation: float = 0.0  # in degrees
    pixel: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """column and row in the image, and distance from the camera"""

    @property
    def attributes(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in ATTRIBUTES}


@dataclass(frozen=True)
class Scene:
    """Objects and the four relations between them."""

    things: tuple[Thing, ...]
    relations: Mapping[str, tuple[frozenset[int], ...]]
    """`relations["left"][k]`: the objects left of object k"""
    directions: Mapping[str, tuple[float, float, float]]
    """unit vectors on the ground plane, as the camera sees them; may be empty"""
    name: str = ""


def bits_of(objects: Iterable[int]) -> int:
    """A set of objects as a bit mask: bit k is object k."""
    return sum(1 << k for k in objects)


@cache
def objects_in(bits: int) -> frozenset[int]:
    """The objects whose bit is set: one of at most 1024 sets, which all scenes share."""
    return frozenset(k for k in range(bits.bit_length()) if bits >> k & 1)
