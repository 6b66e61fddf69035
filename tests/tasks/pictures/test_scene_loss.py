"""The loss of seeing: nothing for perfect maps, each part where it belongs, and small enough to follow."""

from dataclasses import replace
from math import ceil, exp, log

import pytest
import torch
from torch import Tensor

from ngs.learning.loop import Loss
from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.pictures import scene_loss
from ngs.tasks.pictures.picture_examples import PictureBatch
from ngs.tasks.pictures.scene_loss import SPREAD, UNASKED, SceneTargets, Seeing, focal_loss
from ngs.tasks.pictures.scene_network import SCENE_NETWORKS, STRIDE, SceneMaps, SceneNetwork
from ngs.tasks.pictures.seen_scene import seen_objects
from tests.tasks.pictures.scene_maps import made_targets, perfect_maps

PARTS = {"centers", *ATTRIBUTES, "offsets", "boxes", "camera"}


def loss(maps: SceneMaps, truth: SceneTargets) -> Loss:
    return Seeing()(maps, PictureBatch(torch.zeros(0), truth))


def random_maps(like: SceneMaps, seed: int) -> SceneMaps:
    random = torch.Generator().manual_seed(seed)
    return SceneMaps(*(torch.randn(each.shape, generator=random) for each in like))


@pytest.mark.parametrize("seed", range(4))
def test_perfect_maps_cost_nothing(seed: int) -> None:
    truth = made_targets(seed)
    found = loss(perfect_maps(truth), truth)
    assert found.value < 1e-4 and set(found.measures) == PARTS
    assert all(part < 1e-4 for part in found.measures.values()), found.measures


@pytest.mark.parametrize("part", sorted(PARTS - {"centers"}))
def test_a_mistake_counts_in_its_own_part(part: str) -> None:
    truth = made_targets(0)
    if part in ATTRIBUTES:
        wrong = truth.attributes.clone()
        wrong[..., list(ATTRIBUTES).index(part)] += 1
        other = {"attributes": wrong % torch.tensor([len(values) for values in ATTRIBUTES.values()])}
    else:
        other = {
            "boxes": {"boxes": truth.boxes + 4.0},
            "offsets": {"columns": truth.columns - truth.columns % 4},  # elsewhere in the same cell
            "camera": {"cameras": truth.cameras + 0.25},
        }[part]
    measures = loss(perfect_maps(truth), replace(truth, **other)).measures
    assert measures[part] > 0.1 and (part != "camera" or measures[part] == pytest.approx(0.25))
    assert all(each < 1e-4 for name, each in measures.items() if name != part), measures


@pytest.mark.parametrize("seed", range(3))
def test_the_focal_loss_is_that_of_a_loop_over_cells(seed: int) -> None:
    truth = made_targets(seed, height=64, width=96)
    logits = torch.randn(2, 16, 24, generator=torch.Generator().manual_seed(seed))
    total = 0.0
    for n in range(2):
        centers = [
            (int(truth.columns[n, k] / 4), int(truth.rows[n, k] / 4)) for k in range(5) if truth.shown[n, k]
        ]
        for i in range(16):
            for j in range(24):
                p = 1 / (1 + exp(-float(logits[n, i, j])))
                nearest = min((i - y) ** 2 + (j - x) ** 2 for x, y in centers)
                y = exp(-nearest / (2 * SPREAD**2))
                total -= (1 - p) ** 2 * log(p) if nearest == 0 else (1 - y) ** 4 * p**2 * log(1 - p)
    assert float(focal_loss(logits, truth)) == pytest.approx(total / int(truth.shown.sum()), rel=1e-4)


def test_what_hardly_shows_may_be_seen_or_not() -> None:
    truth = made_targets(1)
    seen, k = perfect_maps(truth), 0
    shown, hidden = truth.shown.clone(), truth.hidden.clone()
    shown[:, k], hidden[:, k] = False, True
    some = replace(truth, shown=shown, hidden=hidden)
    unseen = perfect_maps(some)
    assert loss(seen, some).value < 1e-4 and loss(unseen, some).value < 1e-4
    absent = replace(some, hidden=torch.zeros_like(hidden))
    assert loss(seen, absent).value > 1 and loss(unseen, absent).value < 1e-4
    assert loss(unseen, truth).value > 1


def test_around_what_hardly_shows_other_centers_are_still_asked() -> None:
    """The second object hardly shows, and the first one shows in the cell beside it."""
    truth = made_targets(1)
    shown, hidden, columns, rows = (
        each.clone() for each in (truth.shown, truth.hidden, truth.columns, truth.rows)
    )
    shown[:, 1], hidden[:, 1] = False, True
    columns[:, 1], rows[:, 1] = columns[:, 0] + STRIDE, rows[:, 0]
    beside = replace(truth, shown=shown, hidden=hidden, columns=columns, rows=rows)
    maps = perfect_maps(beside)
    x, y = int(columns[0, 1] / STRIDE), int(rows[0, 1] / STRIDE)
    for cells, asked in (((y, x - 1), True), ((y, x + 1), False), ((y, x + ceil(UNASKED)), True)):
        wrong = maps.centers.clone()
        wrong[(0, 0, *cells)] *= -1  # a centre that is missed, or one that is none
        cost = loss(maps._replace(centers=wrong), beside).measures["centers"]
        assert cost > 1 if asked else cost < 1e-4, (cells, cost)


def test_an_empty_picture_asks_only_for_nothing() -> None:
    truth = made_targets(0)
    empty = replace(truth, shown=torch.zeros_like(truth.shown))
    assert loss(perfect_maps(empty), empty).value < 1e-4
    found = loss(random_maps(perfect_maps(empty), 0), empty)
    assert found.value.isfinite() and found.measures["color"] == found.measures["boxes"] == 0


@pytest.mark.parametrize("seed", range(3))
def test_gradients_are_finite_and_reach_every_map(seed: int) -> None:
    truth = made_targets(seed)
    perfect = perfect_maps(truth)
    extreme = perfect._replace(centers=-50 * perfect.centers)
    for given, reached in ((random_maps(perfect, seed), SceneMaps._fields), (extreme, ("centers",))):
        maps = SceneMaps(*(each.requires_grad_() for each in given))
        value = loss(maps, truth).value
        value.backward()
        assert value.isfinite() and all(each.grad is not None and each.grad.isfinite().all() for each in maps)
        assert all(getattr(maps, name).grad.any() for name in reached)


def test_weights_say_how_much_each_part_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = made_targets(0)
    maps = random_maps(perfect_maps(truth), 0)
    weights = {**dict.fromkeys(scene_loss.WEIGHTS, 0), "attributes": 2, "boxes": 3}
    monkeypatch.setattr(scene_loss, "WEIGHTS", weights)
    found = loss(maps, truth)
    parts = found.measures
    wanted = 2 * sum(parts[name] for name in ATTRIBUTES) + 3 * parts["boxes"]
    assert torch.allclose(found.value, torch.as_tensor(wanted))


def painted(truth: SceneTargets, height: int, width: int) -> Tensor:
    """A rectangle for each object that shows, in a colour that its attributes tell."""
    images, tones = torch.full((len(truth), 3, height, width), 0.46), torch.tensor([0.2, 0.5, 0.8])
    for n, k in truth.shown.nonzero().tolist():
        left, upper, right, lower = truth.boxes[n, k].round().int().clamp(min=0).tolist()
        color = tones[truth.attributes[n, k, :3] % 3]
        images[n, :, upper:lower, left:right] = color[:, None, None]
    return images


def test_two_pictures_are_learned_by_heart() -> None:
    torch.manual_seed(0)
    height, width = 64, 96
    truth = made_targets(0, height=height, width=width)
    network, images = SceneNetwork(SCENE_NETWORKS["small"]), painted(truth, height, width)
    adam = torch.optim.AdamW(network.parameters(), 4e-3)
    for _ in range(60):
        adam.zero_grad()
        found = loss(network(images), truth)
        found.value.backward()
        adam.step()
    assert found.value < 1, found.measures
    for n, seen in enumerate(seen_objects(network(images))):
        order, shown = seen.columns.argsort(), truth.shown[n]
        assert len(seen) == shown.sum()
        assert torch.allclose(seen.columns[order], truth.columns[n, shown], atol=3)
        for k, name in enumerate(ATTRIBUTES):
            assert torch.equal(seen.attributes[name].argmax(1)[order], truth.attributes[n, shown, k])
