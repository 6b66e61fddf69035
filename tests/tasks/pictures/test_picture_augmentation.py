"""Pictures in another light: told by the generator, with every edge where it was."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from ngs.tasks.pictures.picture_augmentation import Lighting
from ngs.tasks.pictures.rendering.renderer import softened

STILL = Lighting(brightness=0, contrast=0, saturation=0, gain=0, gamma=0, shading=0, blur=0, noise=0)
ALWAYS = Lighting(untouched=0.0)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pictures(number: int, seed: int = 1) -> Tensor:
    """Grey, with a darker or lighter rectangle."""
    random = seeded(seed)
    made = torch.full((number, 3, 48, 64), 120, dtype=torch.uint8)
    tones = torch.randint(0, 256, (number, 3, 1, 1), dtype=torch.uint8, generator=random)
    made[:, :, 10:30, 20:50] = tones
    return made


def test_the_generator_tells_what_is_drawn() -> None:
    made, change, state = pictures(8), Lighting(), torch.get_rng_state()
    assert torch.equal(change(made, seeded(3)), change(made, seeded(3)))
    assert not torch.equal(change(made, seeded(3)), change(made, seeded(4)))
    assert torch.equal(torch.get_rng_state(), state)


def test_each_picture_is_changed_by_itself() -> None:
    changed = ALWAYS(pictures(1).expand(10, -1, -1, -1), seeded())
    assert len({each.sum().item() for each in changed}) == 10


def test_bytes_become_shares_of_the_brightest() -> None:
    made = pictures(16)
    changed = Lighting()(made, seeded())
    assert changed.shape == made.shape and changed.dtype == torch.float32
    assert changed.min() >= 0 and changed.max() <= 1
    assert torch.equal(changed, Lighting()(made.float() / 255, seeded()))


def test_without_strength_it_is_the_identity() -> None:
    made = pictures(8)
    assert torch.allclose(STILL(made, seeded()), made.float() / 255, atol=1e-5)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_share_stays_untouched(share: float) -> None:
    made = pictures(400)
    same = (replace(Lighting(), untouched=share)(made, seeded()) == made.float() / 255).flatten(1).all(1)
    assert abs(same.float().mean().item() - share) < 0.1  # four times the chance of 400 draws


def test_a_blurred_pixel_is_the_mean_of_nine() -> None:
    made = pictures(2).float()
    wide, weights = torch.nn.functional.pad(made, (1, 1, 1, 1), mode="replicate"), (1, 2, 1)
    wanted = torch.zeros_like(made)
    for i in range(3):
        for j in range(3):
            wanted += weights[i] * weights[j] / 16 * wide[..., i : i + 48, j : j + 64]
    assert torch.allclose(softened(made, 0.25), wanted)
    assert torch.equal(made, pictures(2).float()), "what is given stays as it is"


@pytest.mark.parametrize("seed", range(5))
def test_edges_stay_where_they_are(seed: int) -> None:
    """The sharpest change along a row is where the rectangle begins and ends."""
    made = torch.full((8, 3, 48, 64), 110, dtype=torch.uint8)
    made[:, :, 10:30, 20:50] = 190
    row = ALWAYS(made, seeded(seed)).mean(1)[:, 15:25].mean(1)  # [picture, column]
    steps = (row[:, 1:] - row[:, :-1]).abs()
    assert {tuple(sorted(each.topk(2).indices.tolist())) for each in steps} == {(19, 49)}
