"""LSTMs by kernels of our own and by PyTorch's."""

from contextlib import nullcontext
from copy import deepcopy
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from ngs.gpu import rounded_products
from ngs.networks.pointer import Recurrent, recurrent, recurrent_to_ends

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
SHAPES = [(256, 64, 42, 2), (128, 100, 24, 2), (256, 1, 24, 2), (64, 37, 7, 3), (16, 5, 1, 1)]
"""hidden units, rows, times, layers"""
NO_POWER = (96, 5, 7, 2)
"""which the kernels leave to PyTorch"""


def lengths(rows: int, time: int) -> Tensor:
    counts = torch.randint(1, time + 1, (rows,))
    counts[16:32] = (time + 1) // 2  # rows that one program has to itself end before the others
    counts[0] = time
    return counts


def behind(counts: Tensor, time: int) -> Tensor:
    return torch.arange(time, device=counts.device) >= counts[:, None]


def example(rows: int, time: int, number: int, layers: int, hidden: int) -> tuple[Tensor, Recurrent]:
    states = torch.rand(2, layers, rows, hidden) * 2 - 1
    return torch.randn(rows, time, number), (states[0], states[1])


def test_rows_end_where_they_end() -> None:
    """Each is as if it were alone."""
    torch.manual_seed(0)
    lstm = nn.LSTM(6, 16, 2, batch_first=True)
    inputs, _ = example(5, 7, 6, 2, 16)
    counts = lengths(5, 7)
    outputs, last = recurrent_to_ends(lstm, inputs, behind(counts, 7))
    assert not outputs[behind(counts, 7)].any()
    for row, count in enumerate(counts.tolist()):
        alone, end = lstm(inputs[row : row + 1, :count])
        assert torch.allclose(outputs[row, :count], alone[0], atol=1e-6)
        for here, there in zip(last, end, strict=True):
            assert torch.allclose(here[:, row], there[:, 0], atol=1e-6)


def compared(
    shape: tuple[int, int, int, int], *, ragged: bool, ends_matter: bool
) -> list[tuple[Tensor, Tensor]]:
    """Values and gradients on the GPU and on the CPU."""
    hidden, rows, time, layers = shape
    torch.manual_seed(0)
    here = nn.LSTM(24, hidden, layers, batch_first=True)
    there = deepcopy(here).cuda()
    inputs, state = example(rows, time, 24, layers, hidden)
    counts = lengths(rows, time)
    slopes = torch.randn(rows, time, hidden), *torch.randn(2, layers, rows, hidden)
    sides = []
    for lstm, device in ((here, "cpu"), (there, "cuda")):
        leaves = [each.detach().to(device).requires_grad_() for each in (inputs, *state)]
        if ragged:
            outputs, last = recurrent_to_ends(lstm, leaves[0], behind(counts, time).to(device))
        else:
            outputs, last = recurrent(lstm, leaves[0], (leaves[1], leaves[2]))
        made = [outputs, *last]
        loss = sum(
            (each * slope.to(device)).sum()
            for each, slope in list(zip(made, slopes, strict=True))[: None if ends_matter else 1]
        )
        given = leaves[:1] if ragged else leaves
        gradients = torch.autograd.grad(loss, [*given, *lstm.parameters()])
        sides.append([each.detach().cpu() for each in (*made, *gradients)])
    return list(zip(*sides, strict=True))


def error(here: Tensor, there: Tensor) -> float:
    return float(((here - there).abs().max() / here.abs().max().clamp(min=1e-6)).detach())


@needs_gpu
@pytest.mark.parametrize("ends_matter", [True, False])
@pytest.mark.parametrize("ragged", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_kernels_give_what_the_lstm_gives(
    shape: tuple[int, int, int, int], ragged: bool, ends_matter: bool
) -> None:
    assert all(error(*pair) < 1e-4 for pair in compared(shape, ragged=ragged, ends_matter=ends_matter))


@needs_gpu
@pytest.mark.parametrize("ragged", [True, False])
def test_rounded_kernels_are_near(ragged: bool) -> None:
    with rounded_products():
        for shape in [*SHAPES, NO_POWER]:
            assert all(error(*pair) < 1e-2 for pair in compared(shape, ragged=ragged, ends_matter=True))


@needs_gpu
def test_kernels_say_the_same_again() -> None:
    """Were a thread to read what another has yet to write, some run would differ."""
    torch.manual_seed(0)
    lstm = nn.LSTM(24, 256, 2, batch_first=True).cuda()
    inputs = torch.randn(2000, 42, 24, device="cuda")
    counts = lengths(2000, 42)
    padding = behind(counts.cuda(), 42)
    for products in (rounded_products, nullcontext):
        runs = []
        for _ in range(5):
            with products():
                outputs, last = recurrent_to_ends(lstm, inputs, padding)
                loss = outputs.square().sum() + last[1].sum()
                runs.append([outputs, *torch.autograd.grad(loss, list(lstm.parameters()))])
        for one, other in pairwise(runs):
            assert torch.equal(one[0], other[0])
            assert all(error(*pair) < 1e-4 for pair in zip(one, other, strict=True))


@needs_gpu
def test_dropout_is_between_layers_and_for_training() -> None:
    torch.manual_seed(0)
    lstm = nn.LSTM(8, 32, 2, batch_first=True, dropout=0.5).cuda()
    inputs = torch.randn(5, 7, 8, device="cuda")
    zeros = torch.zeros(2, 5, 32, device="cuda")
    first, second = (recurrent(lstm, inputs, (zeros, zeros)) for _ in range(2))
    assert torch.equal(first[1][0][0], second[1][0][0]) and not torch.equal(first[0], second[0])
    lstm.eval()
    assert torch.equal(recurrent(lstm, inputs, (zeros, zeros))[0], recurrent(lstm, inputs, (zeros, zeros))[0])


@needs_gpu
def test_no_rows() -> None:
    lstm = nn.LSTM(8, 32, 2, batch_first=True).cuda()
    inputs = torch.zeros(0, 7, 8, device="cuda", requires_grad=True)
    zeros = torch.zeros(2, 0, 32, device="cuda")
    outputs, last = recurrent(lstm, inputs, (zeros, zeros))
    assert outputs.shape == (0, 7, 32) and last[0].shape == last[1].shape == (2, 0, 32)
    outputs.sum().backward()  # type: ignore[no-untyped-call]
    assert lstm.weight_hh_l1.grad is not None and not lstm.weight_hh_l1.grad.any()
