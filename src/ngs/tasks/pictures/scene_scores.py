"""How well a network sees scenes: objects found, their attributes, where they stand, and their relations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from ngs.errors import NGSError
from ngs.tasks.clevr.scenes import ATTRIBUTES, RELATIONS, Scene
from ngs.tasks.pictures.picture_examples import PictureExamples
from ngs.tasks.pictures.seen_objects import SeenObjects, seen_objects
from ngs.tasks.pictures.seen_scene import places_of, relations_of, values_of

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
        values = values_of(self.seen)
        return {
            true: tuple(a for a in ATTRIBUTES if values[a][seen] != getattr(self.scene.things[true], a))
            for true, seen in self.matches.items()
        }

    @cached_property
    def distances(self) -> list[float]:
        """How far each object that was found stands, on the ground, from where it is seen."""
        places = places_of(self.seen)[:, :2]
        true = torch.tensor([thing.position[:2] for thing in self.scene.things]).view(-1, 2)
        pairs = torch.tensor(list(self.matches.items()), dtype=torch.int64).view(-1, 2)
        distances: list[float] = (places[pairs[:, 1]] - true[pairs[:, 0]]).norm(dim=1).tolist()
        return distances

    @cached_property
    def relations_right(self) -> int:
        """Of the statements that one object found stands so to another, or not."""
        seen = relations_of(places_of(self.seen))
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


@dataclass(frozen=True)
class SceneScores:
    """Counts over some pictures."""

    pictures: int
    pictures_right: int
    """nothing missed, nothing false, every attribute and relation right"""
    objects: int
    seen: int
    found: int
    """seen where there is one"""
    objects_right: int
    """found, with all attributes right"""
    attributes_right: Mapping[str, int]
    """of the objects found"""
    relations: int
    """statements about two objects"""
    relations_found: int
    """those about two objects found"""
    relations_right: int
    position_error: float | None
    """mean distance on the ground of objects found from where they stand; None where none is found"""
    position_error_95: float | None
    """95% of them are nearer"""

    @property
    def accuracy(self) -> float:
        """The share of objects that are found with all attributes right; 0 where there are none."""
        return self.objects_right / max(self.objects, 1)

    def as_facts(self) -> dict[str, object]:
        """For JSON. Relations are right among all objects, or among those that are found.

        A share of nothing is None: neither all nor nothing was right.
        """
        return {
            "pictures": self.pictures,
            "pictures_right": _share(self.pictures_right, self.pictures),
            "objects": self.objects,
            "objects_right": _share(self.objects_right, self.objects),
            "found": _share(self.found, self.objects),
            "precision": _share(self.found, self.seen),
            "false": _share(self.seen - self.found, self.seen),
            **{name: _share(right, self.found) for name, right in self.attributes_right.items()},
            "relations": _share(self.relations_right, self.relations),
            "relations_of_found": _share(self.relations_right, self.relations_found),
            "position_error": self.position_error,
            "position_error_95": self.position_error_95,
        }


def _share(some: int, of: int) -> float | None:
    return some / of if of else None


def see_all(network: nn.Module, examples: PictureExamples) -> list[SeenObjects]:
    """What the network sees in each picture, in evaluation mode."""
    if not len(examples):
        raise NGSError("there are no pictures to look at; give at least one")
    was_training = network.training
    network.eval()
    found = []
    with torch.inference_mode():
        for first in range(0, len(examples), AT_ONCE):
            batch = examples.batch(np.arange(first, min(first + AT_ONCE, len(examples))))
            found += seen_objects(network(batch.inputs))
    network.train(was_training)
    return found


def outcomes(examples: PictureExamples, seen: Iterable[SeenObjects]) -> list[PictureOutcome]:
    """What became of each picture, given what is seen in it."""
    pictures = zip(examples.pictures.scenes, examples.pictures.boxes, seen, strict=True)
    return [
        PictureOutcome(scene, each, matched(boxes[: len(scene.things)], each.boxes))
        for scene, boxes, each in pictures
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


def scores_of(found: Iterable[PictureOutcome]) -> SceneScores:
    rows = list(found)
    distances = torch.tensor([distance for row in rows for distance in row.distances])
    wrong = [attributes for row in rows for attributes in row.wrong.values()]
    return SceneScores(
        pictures=len(rows),
        pictures_right=sum(row.all_right for row in rows),
        objects=sum(len(row.scene.things) for row in rows),
        seen=sum(len(row.seen) for row in rows),
        found=len(wrong),
        objects_right=sum(not attributes for attributes in wrong),
        attributes_right={name: sum(name not in attributes for attributes in wrong) for name in ATTRIBUTES},
        relations=sum(_statements(len(row.scene.things)) for row in rows),
        relations_found=sum(_statements(len(row.matches)) for row in rows),
        relations_right=sum(row.relations_right for row in rows),
        position_error=float(distances.mean()) if len(distances) else None,
        position_error_95=float(distances.quantile(0.95)) if len(distances) else None,
    )


@dataclass(frozen=True)
class SceneMetrics:
    """The scores of all pictures, and of those with each number of objects."""

    total: SceneScores
    by_objects: Mapping[int, SceneScores]

    @classmethod
    def of(cls, found: Sequence[PictureOutcome]) -> SceneMetrics:
        numbers = sorted({len(each.scene.things) for each in found})
        groups = {n: [each for each in found if len(each.scene.things) == n] for n in numbers}
        return cls(scores_of(found), {n: scores_of(group) for n, group in groups.items()})

    @property
    def accuracy(self) -> float:
        """The share of objects that are found with all attributes right."""
        return self.total.accuracy

    def as_facts(self) -> dict[str, object]:
        """For JSON; the examples are objects."""

        def facts(scores: SceneScores) -> dict[str, object]:
            return {"examples": scores.objects, **scores.as_facts()}

        by_objects = {str(number): facts(scores) for number, scores in self.by_objects.items()}
        return {**facts(self.total), "by_objects": by_objects}
