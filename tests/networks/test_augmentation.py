"""Changed handwriting: told by the generator, within the paper, and a share of it untouched."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from ngs.networks.augmentation import Handwriting

STILL = Handwriting(rotation=0, shear=0, scale=0, shift=0, elastic=0, untouched=0)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def images(number: int, seed: int = 1) -> Tensor:
    return torch.rand(number, 1, 45, 45, generator=seeded(seed))


def test_the_generator_tells_what_is_drawn() -> None:
    ink = images(20)
    change = Handwriting()
    assert torch.equal(change(ink, seeded(3)), change(ink, seeded(3)))
    assert not torch.equal(change(ink, seeded(3)), change(ink, seeded(4)))
    state = torch.get_rng_state()
    change(ink, seeded(3))
    assert torch.equal(torch.get_rng_state(), state)  # and nothing else


def test_each_image_is_changed_by_itself() -> None:
    same = images(1).expand(10, -1, -1, -1)
    changed = replace(Handwriting(), untouched=0.0)(same, seeded())
    assert len({each.sum().item() for each in changed}) == 10


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_share_stays_untouched(share: float) -> None:
    ink = images(2000)
    changed = replace(Handwriting(), untouched=share)(ink, seeded())
    same = (changed == ink).flatten(1).all(1)
    assert abs(same.float().mean().item() - share) < 0.04  # four times the chance of 2000 draws


def test_shape_type_and_range_stay() -> None:
    ink = images(50)
    changed = Handwriting()(ink, seeded())
    assert changed.shape == ink.shape and changed.dtype == ink.dtype
    assert changed.min() >= 0 and changed.max() <= 1
    assert Handwriting()(images(4)[..., :30], seeded()).shape == (4, 1, 45, 30)


def test_without_strength_it_is_the_identity() -> None:
    ink = images(20)
    assert torch.allclose(STILL(ink, seeded()), ink, atol=1e-4)


@pytest.mark.parametrize("name", ["rotation", "shear", "scale", "shift", "elastic"])
def test_every_strength_does_something(name: str) -> None:
    ink = images(20)
    changed = replace(STILL, **{name: 0.1})(ink, seeded())
    difference = (changed - ink).abs().flatten(1).mean(1)
    assert difference.min() > 1e-3 and difference.mean() > 0.05


def centre(ink: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The mass of each image, and how far its middle is to the right and below."""
    mass, places = ink.sum((1, 2, 3)), torch.arange(45.0) - 22
    return mass, (ink.sum((1, 2)) * places).sum(1) / mass, (ink.sum((1, 3)) * places).sum(1) / mass


def test_a_shift_moves_the_ink_and_keeps_it() -> None:
    """A dot in the middle goes at most as far as it is allowed to, to all sides."""
    ink = torch.zeros(400, 1, 45, 45)
    ink[:, :, 21:24, 21:24] = 1.0
    changed = replace(STILL, shift=0.2)(ink, seeded())
    mass, across, down = centre(changed)
    assert torch.allclose(mass, torch.full_like(mass, 9.0), atol=1e-3)
    for moved in (across, down):
        assert moved.abs().max() <= 0.2 * 22.5 + 0.01
        assert moved.min() < -3 and moved.max() > 3
        assert abs(moved.mean().item()) < 0.5


def test_a_rotation_keeps_distances() -> None:
    """A dot goes round the middle: as far from it as before, and no further than the angle allows."""
    ink = torch.zeros(200, 1, 45, 45)
    ink[:, :, 21:24, 37:40] = 1.0  # 16 pixels to the right of the middle
    changed = replace(STILL, rotation=0.3)(ink, seeded())
    _, across, down = centre(changed)
    distance = (across.square() + down.square()).sqrt()
    assert (distance - 16).abs().max() < 0.3
    angle = torch.atan2(down, across)
    assert angle.abs().max() < 0.31
    assert angle.min() < -0.25 and angle.max() > 0.25
