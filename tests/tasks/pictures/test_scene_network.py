"""The network that sees scenes: shapes, sizes, and what it says before it has learned anything."""

from __future__ import annotations

import pytest
import torch

from ngs.errors import ShapeError
from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.pictures.scene_network import (
    FIRST_PROBABILITY,
    SCENE_NETWORKS,
    VALUES,
    SceneNetwork,
    at_cells,
    by_attribute,
)


def network(size: str = "small", seed: int = 0) -> SceneNetwork:
    torch.manual_seed(seed)
    return SceneNetwork(SCENE_NETWORKS[size])


def pictures(number: int, height: int = 64, width: int = 96, seed: int = 0) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (number, 3, height, width), dtype=torch.uint8, generator=random)


@pytest.mark.parametrize("height, width", [(320, 480), (64, 96), (32, 32)])
def test_a_cell_is_four_pixels_wide(height: int, width: int) -> None:
    with torch.inference_mode():
        maps = network().eval()(pictures(2, height, width))
    rows, columns = height // 4, width // 4
    assert maps.centers.shape == (2, 1, rows, columns)
    assert maps.attributes.shape == (2, VALUES, rows, columns)
    assert maps.offsets.shape == (2, 2, rows, columns)
    assert maps.boxes.shape == (2, 4, rows, columns)
    assert maps.cameras.shape == (2, 3)
    assert all(each.dtype == torch.float32 and each.isfinite().all() for each in maps)


@pytest.mark.parametrize("shape", [(1, 3, 320, 470), (1, 1, 320, 480), (3, 320, 480), (1, 4, 64, 64)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match=r"must be \[picture, 3, height, width\].*multiples of 32"):
        network()(torch.zeros(shape))


def test_bytes_and_shares_are_the_same_picture() -> None:
    seen, made = network().eval(), pictures(2)
    with torch.inference_mode():
        of_bytes, of_floats = seen(made), seen(made.float() / 255)
    for one, other in zip(of_bytes, of_floats, strict=True):
        assert torch.allclose(one, other, atol=1e-4)


def test_pictures_do_not_disturb_each_other() -> None:
    seen, made = network().eval(), pictures(3)
    with torch.inference_mode():
        together, alone = seen(made), seen(made[1:2])
    for one, other in zip(together, alone, strict=True):
        assert torch.allclose(one[1:2], other, atol=1e-4)


def test_what_is_far_away_counts_too() -> None:
    """Through the coarsest features and the whole picture."""
    seen, made = network().eval(), pictures(1, 320, 480)
    changed = made.clone()
    changed[..., -64:, -64:] = 0
    with torch.inference_mode():
        one, other = seen(made), seen(changed)
    assert not torch.equal(one.attributes[..., 0, 0], other.attributes[..., 0, 0])
    assert not torch.equal(one.cameras, other.cameras)


@pytest.mark.parametrize("seed", range(3))
def test_at_first_nothing_is_seen(seed: int) -> None:
    maps = network(seed=seed)(pictures(2))
    assert abs(maps.centers.sigmoid().mean() - FIRST_PROBABILITY) < FIRST_PROBABILITY / 2
    assert maps.cameras.abs().max() < 0.5


def test_mixed_precision_ends_with_the_maps() -> None:
    with torch.autocast("cpu", torch.bfloat16):
        maps = network()(pictures(2))
    assert all(each.dtype == torch.float32 and each.isfinite().all() for each in maps)


@pytest.mark.parametrize("size, most", [("small", 2e6), ("full", 40e6)])
def test_weights_are_few(size: str, most: float) -> None:
    state = network(size).state_dict().values()
    assert sum(each.numel() * each.element_size() for each in state) < most


def test_values_are_cut_by_attribute() -> None:
    cut = by_attribute(torch.arange(VALUES), 0)
    assert {name: len(part) for name, part in cut.items()} == {a: len(v) for a, v in ATTRIBUTES.items()}
    assert torch.equal(torch.cat(list(cut.values())), torch.arange(VALUES))


def test_cells_are_numbered_row_after_row() -> None:
    maps = torch.arange(2 * 3 * 4 * 5).view(2, 3, 4, 5)
    said = at_cells(maps, torch.tensor([[7, 0], [19, 6]]))
    assert torch.equal(said[0, 0], maps[0, :, 1, 2]) and torch.equal(said[0, 1], maps[0, :, 0, 0])
    assert torch.equal(said[1, 0], maps[1, :, 3, 4]) and torch.equal(said[1, 1], maps[1, :, 1, 1])
