"""The networks: shapes, sizes, and that no pixel is lost before the first halving."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ngs.networks.lenet import NETWORKS, SIDE, Bias, LeNet, PaperLeNet, Pixels

SYMBOLS = 14


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("side", [28, 32, SIDE])
def test_images_become_scores(name: str, side: int) -> None:
    network = NETWORKS[name](SYMBOLS, side=side)
    assert network(torch.rand(3, 1, side, side)).shape == (3, SYMBOLS)
    assert network.eval()(torch.rand(1, 1, side, side)).shape == (1, SYMBOLS)


def test_the_network_of_the_paper_has_its_parameters() -> None:
    """32 and 64 filters of 3x3, then 64 x 22 x 22 features, 128 hidden and 14 symbols."""
    sizes = {name: tuple(parameter.shape) for name, parameter in PaperLeNet(SYMBOLS).named_parameters()}
    assert [shape for name, shape in sizes.items() if name.endswith("weight")] == [
        (32, 1, 3, 3),
        (64, 32, 3, 3),
        (128, 64 * 22 * 22),
        (SYMBOLS, 128),
    ]


def test_the_network_of_the_paper_is_its_layers_one_behind_the_other() -> None:
    """As its authors wrote it, pixels in our order; both begin with the same numbers."""
    torch.manual_seed(0)
    ours = PaperLeNet(SYMBOLS).eval()
    torch.manual_seed(0)
    first, second = nn.Conv2d(1, 32, 3, padding=1), nn.Conv2d(32, 64, 3, padding=1)
    hidden, last = nn.Linear(64 * 22 * 22, 128), nn.Linear(128, SYMBOLS)
    plain = nn.Sequential(first, nn.ReLU(), second, nn.MaxPool2d(2), Pixels(), hidden, nn.ReLU(), last)
    ink = torch.rand(3, 1, SIDE, SIDE)
    assert torch.allclose(ours(ink), plain(ink), atol=1e-6)


def first_halving(network: nn.Sequential) -> int:
    return next(k for k, layer in enumerate(network) if isinstance(layer, nn.MaxPool2d))


@pytest.mark.parametrize("make", [PaperLeNet, LeNet])
def test_every_pixel_is_looked_at_before_the_first_halving(make: type[nn.Sequential]) -> None:
    """Each has some influence on what is pooled, whichever of four neighbours the pooling picks."""
    torch.manual_seed(0)
    network = make(SYMBOLS)
    before = nn.Sequential(*list(network)[: first_halving(network)])
    ink = torch.rand(1, 1, SIDE, SIDE, requires_grad=True)
    seen = before(ink)
    assert seen.shape[-2:] == (SIDE, SIDE)  # no stride yet
    kept = seen[..., : 2 * (SIDE // 2), : 2 * (SIDE // 2)]  # what the pooling has whole squares of
    kept.square().sum().backward()
    assert ink.grad is not None
    assert (ink.grad != 0).all()


@pytest.mark.parametrize("name", NETWORKS)
def test_every_pixel_can_change_a_score(name: str) -> None:
    """Over a few random images: the pooling passes on one of four, but not always the same."""
    torch.manual_seed(0)
    network = NETWORKS[name](SYMBOLS).eval()
    influence = torch.zeros(SIDE, SIDE)
    for _ in range(4):
        ink = torch.rand(4, 1, SIDE, SIDE, requires_grad=True)
        network(ink).square().sum().backward()
        assert ink.grad is not None
        influence += ink.grad.abs().sum((0, 1))
    # a row and a column at the border have no partner in the later halvings of the small one
    assert (influence[:-5, :-5] > 0).all()
    assert (influence > 0).float().mean() > 0.95


def test_layout_is_no_part_of_the_result() -> None:
    network = LeNet(SYMBOLS).eval()
    ink = torch.rand(2, 1, SIDE, SIDE)
    shuffled = ink.contiguous(memory_format=torch.channels_last)
    assert torch.equal(network(ink), network(shuffled))


def test_widths() -> None:
    def parameters(name: str) -> int:
        return sum(parameter.numel() for parameter in NETWORKS[name](SYMBOLS).parameters())

    assert parameters("small") < parameters("wide")
    assert parameters("small") < parameters("paper") // 10


def test_pixels_in_a_row_stay_where_they_are() -> None:
    features = torch.rand(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    rows = Pixels()(features)
    assert rows.data_ptr() == features.data_ptr()
    assert torch.equal(rows[1, :6], torch.cat([features[1, :, 0, 0], features[1, :, 0, 1]]))


def test_a_bias_behind_the_pooling_is_one_before_it() -> None:
    torch.manual_seed(0)
    plain = nn.Conv2d(2, 5, 3, padding=1, bias=False)
    bias = Bias(plain)
    features = torch.rand(3, 2, 9, 9)
    before = F.max_pool2d(F.conv2d(features, plain.weight, bias.bias, padding=1), 2)
    assert torch.allclose(bias(F.max_pool2d(plain(features), 2)), before)
    assert 0 < bias.bias.abs().max() <= (2 * 9) ** -0.5
