"""Measures of seeing: objects found, their attributes, places and relations."""

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

AT_ONCE = 16  # pictures in a batch
OVERLAP = 0.5  # intersection over union from which on two boxes are of one object


@dataclass(frozen=True, eq=False)
class PictureOutcome:
    """The objects of a picture matched with those seen in it."""

    scene: Scene  # the true scene
    seen: SeenObjects
    matches: Mapping[int, int]  # true object -> object seen, of those that were found

    @property
    def missed(self) -> tuple[int, ...]:
        return tuple(k for k in range(len(self.scene.things)) if k not in self.matches)

    @property
    def false(self) -> tuple[int, ...]:
        """Objects seen that are not there."""
        return tuple(sorted(set(range(len(self.seen))) - set(self.matches.values())))

    @cached_property
    def wrong(self) -> dict[int, tuple[str, ...]]:
        """The wrong attributes of each object that was found."""
        values = self.seen.values
        return {
            true: tuple(a for a in ATTRIBUTES if values[a][seen] != getattr(self.scene.things[true], a))
            for true, seen in self.matches.items()
        }

    @cached_property
    def distances(self) -> list[float]:
        """The distance on the ground between each found object and its seen place."""
        places, things = self.seen.places.tolist(), self.scene.things
        return [dist(places[seen][:2], things[true].position[:2]) for true, seen in self.matches.items()]

    @cached_property
    def relations_right(self) -> int:
        """The number of right statements about relations between found objects."""
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
        exact = not self.missed and not self.false and not any(self.wrong.values())
        return exact and self.relations_right == _statements(len(self.scene.things))


def _statements(objects: int) -> int:
    """The number of statements that relate two objects."""
    return len(RELATIONS) * objects * (objects - 1)


def see_all(network: nn.Module, pictures: Pictures) -> list[SeenObjects]:
    """The objects that the network sees in each picture, in evaluation mode."""
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
    return [
        PictureOutcome(scene, each, matched(boxes[: len(scene.things)], each.boxes))
        for scene, boxes, each in zip(pictures.scenes, pictures.boxes, seen, strict=True)
    ]


def matched(boxes: Tensor, seen: Tensor) -> dict[int, int]:
    """Pairs of boxes [object, 4] and [seen, 4] that overlap enough, greedily from the closest."""
    overlap = overlaps(boxes, seen)
    pairs = (overlap >= OVERLAP).nonzero()
    order = overlap[pairs[:, 0], pairs[:, 1]].argsort(descending=True, stable=True)
    found: dict[int, int] = {}
    for true, each in pairs[order].tolist():
        if true not in found and each not in found.values():
            found[true] = each
    return found


def overlaps(some: Tensor, others: Tensor) -> Tensor:
    """[some, other]: intersection over union of boxes; 0 for an empty box."""
    upper_left = torch.maximum(some[:, None, :2], others[None, :, :2])
    lower_right = torch.minimum(some[:, None, 2:], others[None, :, 2:])
    both = (lower_right - upper_left).clamp(min=0).prod(-1)
    areas = [(each[:, 2:] - each[:, :2]).clamp(min=0).prod(-1) for each in (some, others)]
    return both / (areas[0][:, None] + areas[1] - both).clamp(min=1e-6)


def facts_of(rows: Sequence[PictureOutcome]) -> dict[str, float | int | None]:
    """Shares and errors for JSON; the examples are objects. A share of nothing is None.

    Relations are counted among all objects, or among those that were found. Position errors are distances
    on the ground of found objects: the mean and the 95% quantile.
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

    facts: Mapping[str, Any]  # those of `facts_of`, and `by_objects`

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
