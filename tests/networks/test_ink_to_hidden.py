"""The kernels from ink to the hidden layer against PyTorch: compiled where there is a GPU, and in Triton's
interpreter elsewhere."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from ngs.gpu import rounded_products
from ngs.networks.lenet import PaperLeNet
from tests.kernels import DEVICE, needs_a_gpu, needs_triton, on_any_device

pytestmark = [needs_triton, on_any_device]
SIZES = [(0, 6, 16, 16), (3, 7, 16, 32), (2, 8, 32, 16)]
"""Images, their side, features and outputs."""


def half(tensor: Tensor) -> Tensor:
    """Rounded to half precision, with the gradient of what was not: as the kernels have it."""
    return tensor + (tensor.half().double() - tensor).detach()


def expected(ink: Tensor, weights: list[Tensor], kept: Tensor) -> Tensor:
    """In double precision, of numbers that are rounded where the kernels round them before a maximum: which
    of four is the largest should not depend on it."""
    first, b, second, c, third, d = weights
    features = half(F.relu(F.conv2d(half(ink.double()), half(first), b, padding=1)))
    halved = F.max_pool2d(F.conv2d(features, half(second), padding=1), 2) + c[:, None, None]
    return F.linear(halved.permute(0, 2, 3, 1).flatten(1) * kept, third, d)


def made(number: int, side: int, channels: int, outputs: int, hidden: int = 9) -> tuple[Tensor, list[Tensor]]:
    """Ink, and weights of about the size that networks begin with."""
    ink = torch.rand(number, 1, side, side) * (torch.rand(number, 1, side, side) < 0.4)
    shapes = (
        (channels, 1, 3, 3),
        (channels,),
        (outputs, channels, 3, 3),
        (outputs,),
        (hidden, outputs * (side // 2) ** 2),
        (hidden,),
    )
    scales = (0.3, 0.1, 0.06, 0.1, 0.05, 0.1)
    weights = [torch.randn(shape) * scale for shape, scale in zip(shapes, scales, strict=True)]
    return ink.to(DEVICE), [weight.to(DEVICE).requires_grad_() for weight in weights]


@pytest.mark.parametrize("dropped", [0, 64])
@pytest.mark.parametrize("scale", [1.0, 1e-9], ids=["large", "small"])
@pytest.mark.parametrize(
    "sizes, near",
    [*((sizes, 2e-3) for sizes in SIZES), pytest.param((330, 45, 32, 64), 1e-2, marks=needs_a_gpu)],
)
def test_values_and_gradients(
    sizes: tuple[int, int, int, int], near: float, scale: float, dropped: int
) -> None:
    """Also of gradients far below what half precision can hold. Among many, some of four pixels are so alike
    that another one is the largest after all."""
    from ngs.networks.kernels.ink_to_hidden import BYTE, InkToHidden, _bytes

    ink, weights = made(*sizes)
    shape = len(ink), weights[4].shape[1]
    torch.manual_seed(7)
    chance = _bytes(torch.empty(shape, device=DEVICE))[: shape[0] * shape[1]].view(shape)
    kept = (chance >= dropped).double() / (1 - dropped / BYTE)
    torch.manual_seed(7)
    here = InkToHidden.apply(ink, *weights, dropped)
    exact = [weight.detach().double().requires_grad_() for weight in weights]
    there = expected(ink, exact, kept)
    assert here.shape == there.shape and (here - there).norm() <= 1e-3 * there.norm()
    toward = scale * torch.randn_like(there)
    slopes = torch.autograd.grad(here, weights, toward.float())
    for weight, one, other in zip(weights, slopes, torch.autograd.grad(there, exact, toward), strict=True):
        assert one.shape == weight.shape and (one - other).norm() <= near * other.norm()


@pytest.mark.parametrize("smallest", [0.0, 1e-42, 1e-38])
def test_a_gradient_of_next_to_nothing(smallest: float) -> None:
    """Networks that have stopped learning have such: it must not become what is no number."""
    from ngs.networks.kernels.ink_to_hidden import InkToHidden

    ink, weights = made(*SIZES[1])
    hidden = InkToHidden.apply(ink, *weights, 0)
    for slope in torch.autograd.grad(hidden, weights, torch.full_like(hidden, smallest)):
        assert slope.abs().max() <= 1e3 * smallest


def test_what_is_no_number_stays() -> None:
    """So that the loss tells."""
    from ngs.networks.kernels.ink_to_hidden import InkToHidden

    ink, weights = made(*SIZES[1])
    hidden = InkToHidden.apply(ink, *weights, 0)
    toward = torch.ones_like(hidden)
    toward[0, 0] = torch.nan
    slopes = torch.autograd.grad(hidden, weights, toward)
    assert all(slope.isnan().any() for slope in slopes)
    with torch.no_grad():
        ink[0, 0, 2, 2] = torch.nan
        hidden = InkToHidden.apply(ink, *weights, 0)
    assert hidden[0].isnan().all() and hidden[1:].isfinite().all()


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 255 / 256])
def test_shares_that_bytes_can_tell_are_taken_where_there_is_room(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ngs.networks.kernels import ink_to_hidden

    ink = torch.zeros(1, 1, 45, 45)
    monkeypatch.setattr(ink_to_hidden, "room", lambda _: ink_to_hidden.ROOM)
    assert ink_to_hidden.takes(ink, share)
    assert not ink_to_hidden.takes(ink, 0.1) and not ink_to_hidden.takes(ink, 1.0)
    monkeypatch.setattr(ink_to_hidden, "room", lambda _: ink_to_hidden.ROOM - 1)
    assert not ink_to_hidden.takes(ink, share)


def test_as_many_are_dropped_as_should_be() -> None:
    from ngs.networks.kernels.ink_to_hidden import _bytes

    chance = _bytes(torch.empty(1001, 401, device=DEVICE))
    assert len(chance) >= 1001 * 401
    for share in (1 / 256, 1 / 4, 1 / 2):
        spread = (share * (1 - share) / len(chance)) ** 0.5
        assert abs((chance < 256 * share).double().mean().item() - share) < 5 * spread


@needs_a_gpu
def test_the_network_takes_the_kernels() -> None:
    """Where products may be rounded; its scores are those of its layers, up to that."""
    torch.manual_seed(0)
    network, ink = PaperLeNet(14).to(DEVICE), torch.rand(20, 1, 45, 45, device=DEVICE)
    with rounded_products():
        assert network._has_kernels_for(ink)
        assert network(ink).std(0).sum() > 0 and not torch.equal(network(ink), network(ink))  # dropout
        network.eval()
        rounded = network(ink)
    assert not network._has_kernels_for(ink)
    exact = network.double()(ink.double())
    assert (rounded - exact).norm() <= 2e-3 * exact.norm()
    assert not torch.equal(rounded, exact.float())


@needs_a_gpu
def test_the_network_learns_as_with_its_own_layers() -> None:
    """The same gradients, dropout aside."""
    torch.manual_seed(0)
    network, ink = PaperLeNet(14).to(DEVICE).eval(), torch.rand(64, 1, 45, 45, device=DEVICE)
    slopes = []
    for context in (rounded_products(), nullcontext()):
        with context:
            slopes.append(torch.autograd.grad(network(ink).square().mean(), list(network.parameters())))
    for one, other in zip(*slopes, strict=True):
        assert (one - other).norm() <= 3e-2 * other.norm()  # now and then another of four pixels is largest
