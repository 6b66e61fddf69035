"""Learning to see objects: the loss of a network's maps, given what is true of each picture.

    L = focal loss of centres + 0.5 cross entropies of attributes
        + |offsets - true| + 0.2 |boxes - true| + |camera - true|

The focal loss is the penalty-reduced one of Law and Deng (2018), over the cells of a picture,

    - 1/N sum of  (1 - p)^2 log p               where an object's centre is
                  (1 - y)^4 p^2 log (1 - p)     elsewhere

with y = exp(-d^2 / 2 SPREAD^2) for a cell at distance d of the nearest centre, and N objects. All else is
asked in the 3x3 cells around a centre, each weighted with its y, since a neighbour may be the peak.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ngs.learning.loop import Loss
from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.pictures.picture_examples import PictureBatch, SceneTargets
from ngs.tasks.pictures.scene_network import STRIDE, SceneMaps, at_cells, by_attribute

SPREAD = 1.0  # standard deviation of y around a centre, in cells
UNASKED = 2.5  # cells this near to a hidden object do not count


WEIGHTS: Mapping[str, float] = {"centers": 1, "attributes": 0.5, "offsets": 1, "boxes": 0.2, "camera": 1}
"""The weight of each part of the loss."""


class Seeing(nn.Module):
    """The loss above, each part of it a measure.

    All but the camera is a mean over the objects of a batch; processes that share a batch take the mean over
    their own objects.
    """

    def forward(self, maps: SceneMaps, batch: PictureBatch) -> Loss:
        truth = batch.targets
        cells, x, y, weights = _around(truth, maps.centers.shape[-2:])

        def mean(losses: Tensor) -> Tensor:
            return (losses * weights).sum() / weights.sum().clamp(min=1e-6)

        offsets, distances, values = (
            at_cells(each, cells) for each in (maps.offsets, maps.boxes, maps.attributes)
        )
        columns, rows, boxes, labels = (  # of an object for each of the nine cells around it
            each.repeat_interleave(9, 1)
            for each in (truth.columns, truth.rows, truth.boxes, truth.attributes.long())
        )
        left, upper, right, lower = (boxes / STRIDE).unbind(-1)
        place = torch.stack([columns / STRIDE - x, rows / STRIDE - y], -1)
        sides = torch.stack([x - left, y - upper, right - x, lower - y], -1)
        logits = by_attribute(values, -1)
        attributes = {
            name: mean(F.cross_entropy(logits[name].transpose(1, 2), labels[..., k], reduction="none"))
            for k, name in enumerate(ATTRIBUTES)
        }
        parts = {
            "centers": focal_loss(maps.centers[:, 0], truth),
            "offsets": mean((offsets - place).abs().mean(-1)),
            "boxes": mean((distances - sides).abs().mean(-1)),
            "camera": (maps.cameras - truth.cameras).abs().mean(),
        }
        value = WEIGHTS["attributes"] * torch.stack(list(attributes.values())).sum()
        for name, part in parts.items():
            value = value + WEIGHTS[name] * part
        return Loss(value, {name: part.detach() for name, part in (attributes | parts).items()})


def focal_loss(logits: Tensor, truth: SceneTargets) -> Tensor:
    """The focal loss of centres, given logits [picture, row, column]; see above."""
    height, width = logits.shape[1:]
    x, y = _cell(truth.columns)[..., None], _cell(truth.rows)[..., None]
    across = (torch.arange(width, device=logits.device) - x) ** 2  # [picture, object, column]
    down = (torch.arange(height, device=logits.device) - y) ** 2
    near = (-across / (2 * SPREAD**2)).exp()[:, :, None] * (-down / (2 * SPREAD**2)).exp()[..., None]
    likeness = (near * truth.shown[..., None, None]).amax(1)
    beside = across[:, :, None] + down[..., None] < UNASKED**2
    asked = ~(beside & truth.hidden[..., None, None]).any(1)
    p, positive = logits.sigmoid(), likeness == 1
    found = (1 - p) ** 2 * F.logsigmoid(logits)
    free = (1 - likeness) ** 4 * p**2 * F.logsigmoid(-logits) * asked
    return -torch.where(positive, found, free).sum() / truth.shown.sum().clamp(min=1)


def _cell(pixels: Tensor) -> Tensor:
    return (pixels / STRIDE).floor()


def _around(truth: SceneTargets, shape: torch.Size) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The 3x3 cells around each object's centre, nine for each object, each [picture, place].

    Their numbers, row after row; their centres x and y, in cells; and their weights, zero for what does not
    count.
    """
    height, width = shape
    steps = torch.arange(-1, 2, device=truth.columns.device)
    right, down = steps.repeat(3), steps.repeat_interleave(3)
    x = (_cell(truth.columns)[..., None] + right).flatten(1)
    y = (_cell(truth.rows)[..., None] + down).flatten(1)
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    weights = (-(right**2 + down**2) / (2 * SPREAD**2)).exp() * truth.shown[..., None]
    cells = (y.clamp(0, height - 1) * width + x.clamp(0, width - 1)).long()
    return cells, x + 0.5, y + 0.5, weights.flatten(1) * inside
