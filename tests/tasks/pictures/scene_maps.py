"""Maps of a network that sees all there is, written cell by cell."""

import torch

from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.pictures.scene_loss import SceneTargets
from ngs.tasks.pictures.scene_network import STRIDE, VALUES, SceneMaps

SURE = 20.0
"""a logit"""


def perfect_maps(truth: SceneTargets, height: int = 320, width: int = 480) -> SceneMaps:
    """What is to be said of the objects that show, in the 3x3 cells around their centres."""
    number, rows, columns = len(truth), height // STRIDE, width // STRIDE
    centers = torch.full((number, 1, rows, columns), -SURE)
    attributes = torch.zeros(number, VALUES, rows, columns)
    offsets, boxes = torch.zeros(number, 2, rows, columns), torch.zeros(number, 4, rows, columns)
    for n, k in truth.shown.nonzero().tolist():
        x, y = float(truth.columns[n, k]) / STRIDE, float(truth.rows[n, k]) / STRIDE
        left, upper, right, lower = (truth.boxes[n, k] / STRIDE).tolist()
        centers[n, 0, int(y), int(x)] = SURE
        for i in range(max(int(y) - 1, 0), min(int(y) + 2, rows)):
            for j in range(max(int(x) - 1, 0), min(int(x) + 2, columns)):
                u, v = j + 0.5, i + 0.5
                offsets[n, :, i, j] = torch.tensor([x - u, y - v])
                boxes[n, :, i, j] = torch.tensor([u - left, v - upper, right - u, lower - v])
                first = 0
                for values, value in zip(ATTRIBUTES.values(), truth.attributes[n, k].tolist(), strict=True):
                    attributes[n, first : first + len(values), i, j] = -SURE
                    attributes[n, first + value, i, j] = SURE
                    first += len(values)
    return SceneMaps(centers, attributes, offsets, boxes, truth.cameras)


def made_targets(seed: int, number: int = 2, height: int = 320, width: int = 480) -> SceneTargets:
    """Truths of which nothing hangs together: up to five objects, one in each of five columns."""
    random = torch.Generator().manual_seed(seed)

    def uniform(*shape: int) -> torch.Tensor:
        return torch.rand(number, *shape, generator=random)

    columns = (torch.arange(5) + 0.2 + 0.6 * uniform(5)) * width / 5
    rows = (0.1 + 0.8 * uniform(5)) * height
    sizes = 0.05 * height + 0.1 * height * uniform(5, 4)
    boxes = torch.stack([columns, rows, columns, rows], -1) + sizes * torch.tensor([-1, -1, 1, 1])
    values = [(uniform(5) * len(known)).long() for known in ATTRIBUTES.values()]
    there = torch.arange(5) < 2 + (4 * uniform(1)).long()
    return SceneTargets(
        columns,
        rows,
        boxes,
        torch.stack(values, -1),
        shown=there,
        hidden=torch.zeros_like(there),
        cameras=2 * uniform(3) - 1,
    )
