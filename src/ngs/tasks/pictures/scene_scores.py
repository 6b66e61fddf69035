"""How well a network sees scenes: objects found, their attributes, where they stand, and their relations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import dist
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ngs.errors import NGSError
from ngs.tasks.clevr.scenes import ATTRIBUTES, RELATIONS, Scene
from ngs.tasks.pictures.pictures import Pictures
from ngs.tasks.pictures.seen_scene import SceneReader, SeenObjects, relations_of

AT_ONCE = 16
"""Pictures looked at in one go."""
OVERLAP = 0.5
"""Share of two boxes' union that must be in both, for them to be of one object."""


@dataclass(frozen=True, eq=False)
class PictureOutcome:
    """What became of one picture."""

    scene: Scene
    """the true one"""
    seen: SeenObjects
    matches: Mapping[int, int]
    """which of the objects seen each object is that was found"""

    @property
    def missed(self) -> tuple[int, ...]:
        """Objects that were not found."""
        return tuple(k for k in range(len(self.scene.things)) if k not in self.matches)

    @property
    def false(self) -> tuple[int, ...]:
        """Objects seen that are none."""
        return tuple(sorted(set(range(len(self.seen))) - set(self.matches.values())))

    @cached_property
    def wrong(self) -> dict[int, tuple[str, ...]]:
        """For each object that was found, which attributes are not its own."""
        values = self.seen.values
        return {
            true: tuple(a for a in ATTRIBUTES if values[a][seen] != getattr(self.scene.things[true], a))
            for true, seen in self.matches.items()
        }

    @cached_property
    def distances(self) -> list[float]:
        """How far each object that was found stands, on the ground, from where it is seen."""
        places, things = self.seen.places.tolist(), self.scene.things
        return [dist(places[seen][:2], things[true].position[:2]) for true, seen in self.matches.items()]

    @cached_property
    def relations_right(self) -> int:
        """Of the statements that one object found stands so to another, or not."""
        seen = relations_of(self.seen.places)
        return sum(
            (other in self.scene.relations[name][one]) == (seen_other in seen[name][seen_one])
            for name in RELATIONS
            for one, seen_one in self.matches.items()
            for other, seen_other in self.matches.items()
            if one != other
        )

    @property
    def all_right(self) -> bool:
        """Nothing missed, nothing false, and every attribute and relation right."""
        exact = not self.missed and not self.false and not any(self.wrong.values())
        return exact and self.relations_right == _statements(len(self.scene.things))


def _statements(objects: int) -> int:
    """How many statements relate an object to another."""
    return len(RELATIONS) * objects * (objects - 1)


def see_all(network: nn.Module, pictures: Pictures) -> list[SeenObjects]:
    """What the network sees in each picture, in evaluation mode."""
    if not len(pictures):
        raise NGSError("there are no pictures to look at; give at least one")
    was_training = network.training
    network.eval()
    found = []
    for first in range(0, len(pictures), AT_ONCE):
        some = np.arange(first, min(first + AT_ONCE, len(pictures)))
        found += SceneReader(network).see(pictures.decoded(some))
    network.train(was_training)
    return found


def outcomes(pictures: Pictures, seen: Iterable[SeenObjects]) -> list[PictureOutcome]:
    """What became of each picture, given what is seen in it."""
    return [
        PictureOutcome(scene, each, matched(boxes[: len(scene.things)], each.boxes))
        for scene, boxes, each in zip(pictures.scenes, pictures.boxes, seen, strict=True)
    ]


def matched(boxes: Tensor, seen: Tensor) -> dict[int, int]:
    """Pairs of boxes [object, 4] and [seen, 4] that overlap enough, the closest first, each used once."""
    overlap = overlaps(boxes, seen)
    pairs = (overlap >= OVERLAP).nonzero()
    order = overlap[pairs[:, 0], pairs[:, 1]].argsort(descending=True, stable=True)
    found: dict[int, int] = {}
    for true, each in pairs[order].tolist():
        if true not in found and each not in found.values():
            found[true] = each
    return found


def overlaps(some: Tensor, others: Tensor) -> Tensor:
    """[some, other]: the area in both of two boxes, as a share of that in either; 0 for an empty box."""
    upper_left = torch.maximum(some[:, None, :2], others[None, :, :2])
    lower_right = torch.minimum(some[:, None, 2:], others[None, :, 2:])
    both = (lower_right - upper_left).clamp(min=0).prod(-1)
    areas = [(each[:, 2:] - each[:, :2]).clamp(min=0).prod(-1) for each in (some, others)]
    return both / (areas[0][:, None] + areas[1] - both).clamp(min=1e-6)


def facts_of(rows: Sequence[PictureOutcome]) -> dict[str, float | int | None]:
    """For JSON: how much of what is in some pictures was seen as it is; the examples are objects.

    A share of nothing is None: neither all nor nothing was right. Relations are right among all objects, or
    among those that are found. Position errors are distances on the ground of objects found from where they
    stand: the mean, and what 95% of them do not exceed.
    """
    wrong = [attributes for row in rows for attributes in row.wrong.values()]
    objects, seen, found = (
        sum(len(row.scene.things) for row in rows),
        sum(len(row.seen) for row in rows),
        len(wrong),
    )
    related = sum(row.relations_right for row in rows)
    distances = torch.tensor([distance for row in rows for distance in row.distances])
    return {
        "examples": objects,
        "pictures": len(rows),
        "pictures_right": _share(sum(row.all_right for row in rows), len(rows)),
        "objects": objects,
        "objects_right": _share(wrong.count(()), objects),
        "found": _share(found, objects),
        "precision": _share(found, seen),
        "false": _share(seen - found, seen),
        **{name: _share(sum(name not in attributes for attributes in wrong), found) for name in ATTRIBUTES},
        "relations": _share(related, sum(_statements(len(row.scene.things)) for row in rows)),
        "relations_of_found": _share(related, sum(_statements(len(row.matches)) for row in rows)),
        "position_error": float(distances.mean()) if found else None,
        "position_error_95": float(distances.quantile(0.95)) if found else None,
    }


def _share(some: int, of: int) -> float | None:
    return some / of if of else None


@dataclass(frozen=True)
class SceneMetrics:
    """The scores of all pictures, and of those with each number of objects."""

    facts: Mapping[str, Any]
    """as `facts_of` tells them, and `by_objects`"""

    @classmethod
    def of(cls, found: Sequence[PictureOutcome]) -> SceneMetrics:
        numbers = sorted({len(each.scene.things) for each in found})
        groups = {n: [each for each in found if len(each.scene.things) == n] for n in numbers}
        by_objects = {str(n): facts_of(group) for n, group in groups.items()}
        return cls({**facts_of(found), "by_objects": by_objects})

    @property
    def accuracy(self) -> float:
        """The share of objects that are found with all attributes right; 0 where there are none."""
        return self.facts["objects_right"] or 0.0

    def as_facts(self) -> dict[str, Any]:
        return dict(self.facts)
