"""Objects that a network sees: the peaks of its map of centres, and what the other maps say there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from ngs.tasks.pictures.scene_network import STRIDE, SceneMaps, at_cells, by_attribute

THRESHOLD = 0.3
"""Peaks below this probability are no objects."""
MOST_PEAKS = 20
"""looked at in a picture: twice as many as there can be objects, so that too many can be noticed"""
NEAREST = 8.0
"""Pixels between the centres of two objects, at least: in 1,000 released scenes none are nearer than 19. Of
neighbouring cells that half precision makes equally high, only one is an object."""


@dataclass(frozen=True, eq=False)
class SeenObjects:
    """What is seen in one picture, the surest first, on the CPU."""

    scores: Tensor
    """[object]: probability that there is one"""
    boxes: Tensor
    """[object, 4]: left, upper, right and lower side of what shows of it, in pixels"""
    columns: Tensor
    """[object]: where its centre is, seen or hidden, in pixels"""
    rows: Tensor
    """[object]"""
    attributes: Mapping[str, Tensor]
    """probabilities [object, value] for each attribute, the values as in ATTRIBUTES"""
    camera: Tensor
    """[3]: as in `SceneMaps.cameras`"""

    def __len__(self) -> int:
        return len(self.scores)


@torch.no_grad()
def seen_objects(maps: SceneMaps, threshold: float = THRESHOLD) -> list[SeenObjects]:
    """The objects in each picture: cells that no neighbour exceeds, surer than the threshold."""
    scores, cells = _peaks(maps.centers)
    width = maps.centers.shape[-1]
    x, y = cells % width + 0.5, cells // width + 0.5
    across, down = at_cells(maps.offsets, cells).unbind(-1)
    columns, rows = STRIDE * (x + across), STRIDE * (y + down)
    left, upper, right, lower = at_cells(maps.boxes, cells).unbind(-1)
    boxes = STRIDE * torch.stack([x - left, y - upper, x + right, y + lower], -1)
    found = (scores > threshold) & ~_again(columns, rows)
    logits = by_attribute(at_cells(maps.attributes, cells), -1)
    probs = {name: values.softmax(-1).cpu() for name, values in logits.items()}
    found, cameras = found.cpu(), maps.cameras.cpu()
    scores, boxes, columns, rows = scores.cpu(), boxes.cpu(), columns.cpu(), rows.cpu()

    def picture(k: int, kept: Tensor) -> SeenObjects:
        attributes = {name: values[k, kept] for name, values in probs.items()}
        return SeenObjects(
            scores[k, kept], boxes[k, kept], columns[k, kept], rows[k, kept], attributes, cameras[k]
        )

    return [picture(k, kept) for k, kept in enumerate(found)]


def _peaks(centers: Tensor) -> tuple[Tensor, Tensor]:
    """Probabilities and cells of the highest peaks, each [picture, peak], highest first."""
    highest = F.max_pool2d(centers, 3, stride=1, padding=1)
    peaks = centers.masked_fill(centers < highest, -torch.inf).flatten(1)
    logits, cells = peaks.topk(min(MOST_PEAKS, peaks.shape[1]))
    return logits.sigmoid(), cells


def _again(columns: Tensor, rows: Tensor) -> Tensor:
    """bool [picture, peak]: whether a higher peak has the same centre."""
    places = torch.stack([columns, rows], -1)
    near = torch.cdist(places, places) < NEAREST
    return near.tril(-1).any(-1)
