"""The report of a run that sees scenes: what is confused, and pictures with frames around mistakes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ngs.tasks.clevr.program_text import description
from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.pictures.picture_file import as_image
from ngs.tasks.pictures.pictures import Pictures
from ngs.tasks.pictures.preparation import load_scene_reader, test_part
from ngs.tasks.pictures.rendered_pictures import RENDERED
from ngs.tasks.pictures.scene_scores import PictureOutcome, SceneMetrics, outcomes, see_all
from ngs.tasks.report.report import Names, Report
from ngs.tasks.report.sections import Section, address_of, confusion_table
from ngs.tasks.run_folder import BEST, step_of
from ngs.tasks.trainable import Trainable

SHOWN_MISTAKES = 12
"""At most."""
QUALITY = 88
"""Of the JPEG of a picture."""


class Fault(NamedTuple):
    """What went wrong with an object, and the frame around it."""

    kind: str
    """true: missed; seen: not there; both: taken for something else"""
    what: str
    words: str
    frame: str
    """what the frame says"""
    box: Tensor

    @property
    def sides(self) -> dict[str, str]:
        left, top, right, bottom = self.box.tolist()
        sides = {"x": left, "y": top, "width": max(right - left, 0), "height": max(bottom - top, 0)}
        return {name: f"{side:.1f}" for name, side in sides.items()}


@dataclass(frozen=True, eq=False)
class Mistaken:
    """A picture in which not all was seen as it is."""

    name: str
    picture: Tensor
    """uint8 [3, height, width]"""
    boxes: Tensor
    """[object, 4] of what is there"""
    outcome: PictureOutcome

    @property
    def badges(self) -> list[tuple[str, str]]:
        wrong = sum(map(bool, self.outcome.wrong.values()))
        missed, false = len(self.outcome.missed), len(self.outcome.false)
        counts = [("warn", missed, "missed"), ("bad", false, "not there"), ("warn", wrong, "wrong")]
        return [(kind, f"{n} {name}") for kind, n, name in counts if n]

    @property
    def address(self) -> str:
        """Of the picture, which is in it."""
        return address_of(as_image(self.picture), "jpeg", quality=QUALITY)

    def faults(self) -> Iterator[Fault]:
        """Every object that was not seen as it is, and what is none."""
        seen, things = self.outcome.seen, self.outcome.scene.things
        for k in self.outcome.missed:
            words = description(things[k])
            yield Fault("true", "missed", words, words, self.boxes[k])
        for k in self.outcome.false:
            words = f"{self.taken_for(k)} ({float(seen.scores[k]):.0%} sure)"
            yield Fault("seen", "not there", words, self.taken_for(k), seen.boxes[k])
        for k, attributes in self.outcome.wrong.items():
            if attributes:
                other = self.outcome.matches[k]
                taken = self.taken_for(other)
                words = f"{description(things[k])}, taken for {taken}"
                yield Fault("both", f"wrong {' and '.join(attributes)}", words, taken, seen.boxes[other])

    def taken_for(self, k: int) -> str:
        """What object k of those seen is in words."""
        values = self.outcome.seen.values
        return " ".join(values[attribute][k] for attribute in ATTRIBUTES)


@dataclass(frozen=True, eq=False)
class SceneGallery:
    data: str
    """the name of the data set"""
    step: int
    """of the network"""
    scores: SceneMetrics
    confusions: Mapping[str, Tensor]
    """[true, seen] for each attribute, over the objects that were found"""
    mistaken: int
    """how many pictures are not wholly right"""
    shown: tuple[Mistaken, ...]


def faults(outcome: PictureOutcome) -> int:
    """How many objects were missed, made up, or are not what they were taken for."""
    return len(outcome.missed) + len(outcome.false) + sum(map(bool, outcome.wrong.values()))


def confusion(found: Sequence[PictureOutcome], attribute: str) -> Tensor:
    """How often each value [true, seen] of an attribute was taken for which."""
    values = ATTRIBUTES[attribute]
    counts = torch.zeros((len(values), len(values)), dtype=torch.int64)
    for outcome in found:
        seen = outcome.seen.values[attribute]
        for true, each in outcome.matches.items():
            own = getattr(outcome.scene.things[true], attribute)
            counts[values.index(own), values.index(seen[each])] += 1
    return counts


def _mistaken(pictures: Pictures, outcome: PictureOutcome, k: int) -> Mistaken:
    picture = pictures.decoded(np.array([k]))[0].cpu()
    return Mistaken(pictures.names[k], picture, pictures.boxes[k, : len(outcome.scene.things)], outcome)


class SceneReport(Report):
    """What is seen, what is confused, and pictures in which something was not seen as it is."""

    shown: SceneGallery
    folder: ClassVar[str] = "tasks/pictures/report"
    examples = "pictures"
    right = "objects found with all four attributes right"
    labels: ClassVar[Names] = {
        "precision": "of the objects seen are there",
        "relations": "pairwise relations right",
    }
    curves: ClassVar[Names] = {
        "objects_right": "objects",
        "found": "found",
        "relations": "relations",
        "pictures_right": "pictures",
    }

    @classmethod
    def read(cls, task: Trainable, folder: Path, settings: Any) -> SceneGallery:
        """Look at the test part anew, with the best network of a run."""
        data, pictures = test_part(folder, None, torch.device("cpu"))
        found = outcomes(pictures, see_all(load_scene_reader(folder).network, pictures))
        wrong = [k for k, each in enumerate(found) if not each.all_right]
        wrong.sort(key=lambda k: -faults(found[k]))
        return SceneGallery(
            data,
            step_of(folder / BEST, task.name),
            SceneMetrics.of(found),
            {attribute: confusion(found, attribute) for attribute in ATTRIBUTES},
            len(wrong),
            tuple(_mistaken(pictures, found[k], k) for k in wrong[:SHOWN_MISTAKES]),
        )

    @property
    def planned(self) -> str:
        config = self.config
        return f" of {config.steps + (config.rendered_steps if config.data != RENDERED else 0):,}"

    @property
    def counted(self) -> str:
        return f"{self.test.examples:,} objects"

    def more(self) -> Iterator[Section]:
        tables = {
            name: confusion_table(counts, ATTRIBUTES[name]) for name, counts in self.shown.confusions.items()
        }
        yield self.section("confusions", "Which attributes are confused", tables=tables)
        yield self.section("mistakes", "Mistakes")
