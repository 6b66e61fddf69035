"""What the network of a run sees wrongly in the pictures of the test part, for a page to show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.pictures.picture_examples import PictureExamples
from ngs.tasks.pictures.pictures import Pictures
from ngs.tasks.pictures.preparation import SceneMetrics, load_scene_reader, test_part
from ngs.tasks.pictures.scene_scores import PictureOutcome, outcomes, see_all
from ngs.tasks.pictures.seen_scene import values_of
from ngs.tasks.pictures.settings import TrainScenes
from ngs.tasks.run_folder import BEST, step_of
from ngs.tasks.trainable import Trainable

SHOWN_MISTAKES = 12
"""At most."""


@dataclass(frozen=True, eq=False)
class Mistaken:
    """A picture in which not all was seen as it is."""

    name: str
    picture: Tensor
    """uint8 [3, height, width]"""
    boxes: Tensor
    """[object, 4] of what is there"""
    outcome: PictureOutcome


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


def scene_gallery(folder: Path, task: Trainable, config: TrainScenes) -> SceneGallery:
    """Look at the test part anew, with the best network of a run."""
    device = torch.device("cpu")
    name, pictures = test_part(folder, None, device)
    examples = PictureExamples.of(pictures, device)
    found = outcomes(examples, see_all(load_scene_reader(folder).network, examples))
    wrong = sorted(
        (k for k, each in enumerate(found) if not each.all_right), key=lambda k: (-faults(found[k]), k)
    )
    return SceneGallery(
        name,
        step_of(folder / BEST, task.name),
        SceneMetrics.of(found),
        {attribute: confusion(found, attribute) for attribute in ATTRIBUTES},
        len(wrong),
        tuple(_mistaken(pictures, found[k], k) for k in wrong[:SHOWN_MISTAKES]),
    )


def faults(outcome: PictureOutcome) -> int:
    """How many objects were missed, made up, or are not what they were taken for."""
    return len(outcome.missed) + len(outcome.false) + sum(map(bool, outcome.wrong.values()))


def confusion(found: Sequence[PictureOutcome], attribute: str) -> Tensor:
    """How often each value [true, seen] of an attribute was taken for which."""
    values = ATTRIBUTES[attribute]
    counts = torch.zeros((len(values), len(values)), dtype=torch.int64)
    for outcome in found:
        seen = values_of(outcome.seen)[attribute]
        for true, each in outcome.matches.items():
            own = getattr(outcome.scene.things[true], attribute)
            counts[values.index(own), values.index(seen[each])] += 1
    return counts


def _mistaken(pictures: Pictures, outcome: PictureOutcome, k: int) -> Mistaken:
    picture = pictures.decoded(np.array([k]))[0].cpu()
    return Mistaken(pictures.names[k], picture, pictures.boxes[k, : len(outcome.scene.things)], outcome)
