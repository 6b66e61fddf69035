"""The report of a run that sees scenes: what is confused, and pictures with frames around mistakes."""

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
QUALITY = 88  # of a JPEG


class Fault(NamedTuple):
    """A mistake about an object, and the frame around it."""

    kind: str  # true: missed; seen: not there; both: confused
    what: str
    words: str
    frame: str  # the words at the frame
    box: Tensor

    @property
    def sides(self) -> dict[str, str]:
        left, top, right, bottom = self.box.tolist()
        sides = {"x": left, "y": top, "width": max(right - left, 0), "height": max(bottom - top, 0)}
        return {name: f"{side:.1f}" for name, side in sides.items()}


@dataclass(frozen=True, eq=False)
class Mistaken:
    """A picture with mistakes."""

    name: str
    picture: Tensor  # uint8 [3, height, width]
    boxes: Tensor  # [object, 4]: of the true objects
    outcome: PictureOutcome

    @property
    def badges(self) -> list[tuple[str, str]]:
        wrong = sum(map(bool, self.outcome.wrong.values()))
        missed, false = len(self.outcome.missed), len(self.outcome.false)
        counts = [("warn", missed, "missed"), ("bad", false, "not there"), ("warn", wrong, "wrong")]
        return [(kind, f"{n} {name}") for kind, n, name in counts if n]

    @property
    def address(self) -> str:
        return address_of(as_image(self.picture), "jpeg", quality=QUALITY)

    def faults(self) -> Iterator[Fault]:
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
        """The attributes of object k of those seen, in words."""
        values = self.outcome.seen.values
        return " ".join(values[attribute][k] for attribute in ATTRIBUTES)


@dataclass(frozen=True, eq=False)
class SceneGallery:
    data: str  # the name of the data set
    step: int  # of the network
    scores: SceneMetrics
    confusions: Mapping[str, Tensor]  # [true, seen] for each attribute of the objects that were found
    mistaken: int  # the number of pictures with a mistake
    shown: tuple[Mistaken, ...]


def faults(outcome: PictureOutcome) -> int:
    """The number of objects that were missed, made up or confused."""
    return len(outcome.missed) + len(outcome.false) + sum(map(bool, outcome.wrong.values()))


def confusion(found: Sequence[PictureOutcome], attribute: str) -> Tensor:
    """Counts [true, seen] of the values of an attribute."""
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
    """Accuracy, confusions and pictures with mistakes."""

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
        """The best network's view of the test part."""
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
