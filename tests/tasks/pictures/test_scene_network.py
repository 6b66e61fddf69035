"""The network that sees scenes: shapes, sizes, and what it says before it has learned anything."""

import pytest
import torch

from ngs.errors import ShapeError
from ngs.tasks.pictures.scene_network import CHANNELS, FIRST_PROBABILITY, SCENE_NETWORKS, SceneNetwork


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
    for name, channels in CHANNELS.items():
        assert getattr(maps, name).shape == (2, channels, height // 4, width // 4)
    assert maps.cameras.shape == (2, 3)
    assert all(each.dtype == torch.float32 and each.isfinite().all() for each in maps)


@pytest.mark.parametrize("shape", [(1, 3, 320, 470), (1, 1, 320, 480), (3, 320, 480), (1, 4, 64, 64)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match=r"must be \[picture, 3, height, width\].*multiples of 32"):
        network()(torch.zeros(shape))


def test_pictures_are_seen_by_themselves_as_bytes_or_as_shares() -> None:
    seen, made = network().eval(), pictures(3)
    with torch.inference_mode():
        together, of_floats, alone = seen(made), seen(made.float() / 255), seen(made[1:2])
    for one, other, single in zip(together, of_floats, alone, strict=True):
        assert torch.allclose(one, other, atol=1e-4) and torch.allclose(one[1:2], single, atol=1e-4)


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
