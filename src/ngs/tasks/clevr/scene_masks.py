"""One scene as bit masks: bit k of a set of objects is object k."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from ngs.tasks.clevr.question_phrases import NAMES, SHORTER
from ngs.tasks.clevr.scenes import ANSWERS, ATTRIBUTES, MOST_OBJECTS, RELATIONS, Scene, Thing, bits_of

SIZE = np.array([mask.bit_count() for mask in range(1 << MOST_OBJECTS)])
"""[mask]: how many objects are in the set"""

OBJECT = np.array([max(mask.bit_length() - 1, 0) for mask in range(1 << MOST_OBJECTS)])
"""[mask]: the object that alone is in the set"""

_NOT_NAMED = ~NAMES

Masks = NDArray[np.int64]


class SceneMasks:
    """Which objects answer to a description or stand in a relation."""

    def __init__(self, scene: Scene) -> None:
        things = scene.things
        self.all = (1 << len(things)) - 1
        by_attribute = [_by_value(things, attribute) for attribute in ATTRIBUTES]
        size, color, material, shape = (
            np.array([self.all, *masks]) for masks in map(dict.values, by_attribute)
        )
        self.described: Masks = (
            size[:, None, None, None] & color[:, None, None] & material[:, None] & shape
        ).ravel()
        """[description]"""
        self.values = {
            attribute: np.array([ANSWERS.index(getattr(thing, attribute)) for thing in things])
            for attribute in ATTRIBUTES
        }
        """attribute -> [object]: which of ANSWERS"""
        self.related: Mapping[str, tuple[int, ...]] = {
            f"relate[{name}]": tuple(map(bits_of, scene.relations[name])) for name in RELATIONS
        } | {
            f"same_{attribute}": tuple(
                masks[getattr(thing, attribute)] & ~(1 << k) for k, thing in enumerate(things)
            )
            for attribute, masks in zip(ATTRIBUTES, by_attribute, strict=True)
        }
        """module -> [object]: who stands so to the object"""
        self._concise: dict[int, NDArray[np.bool_]] = {}

    def concise(self, within: int) -> NDArray[np.bool_]:
        """bool [description]: whether, among these objects, fewer words would admit more."""
        if within not in self._concise:
            found = self.described & within
            self._concise[within] = ((found[SHORTER] != found[:, None]) | _NOT_NAMED).all(1)
        return self._concise[within]


def _by_value(things: Iterable[Thing], attribute: str) -> dict[str, int]:
    masks = dict.fromkeys(ATTRIBUTES[attribute], 0)
    for k, thing in enumerate(things):
        masks[getattr(thing, attribute)] |= 1 << k
    return masks
