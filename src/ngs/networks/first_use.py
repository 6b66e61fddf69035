"""What a network waits for when it first meets a GPU: libraries that load, and kernels that are looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext

import torch
from torch import nn
from torch.nn.modules.dropout import _DropoutNd


def first_use(
    make: Callable[[], nn.Module],
    shape: Sequence[int],
    device: torch.device,
    precision: torch.dtype = torch.float32,
) -> None:
    """One pass forwards, in this precision, and one back, of a network that knows nothing, over inputs that
    show nothing: what they load stays loaded for the next. Dropout is left out, so that no random number is
    drawn."""
    with torch.device("meta"):  # where weights have a shape, and no values that somebody has to draw
        network = make()
    network.to_empty(device=device)
    with torch.no_grad():
        for tensor in (*network.parameters(), *network.buffers()):
            tensor.zero_()
    for layer in network.modules():
        if isinstance(layer, _DropoutNd):
            layer.eval()
    with torch.autocast(device.type, precision) if precision != torch.float32 else nullcontext():
        scores = network(torch.zeros(tuple(shape), device=device))
    scores.float().sum().backward()


@contextmanager
def used_meanwhile(
    make: Callable[[], nn.Module],
    shape: Sequence[int],
    device: torch.device,
    precision: torch.dtype = torch.float32,
) -> Iterator[None]:
    """`first_use` of a GPU while the body goes on, loading data for instance.

    Triton reads all of itself to know its version, and CUDA's libraries load what they need when it is
    needed: the first ten steps of a training took 1.2 to 1.5 s on H200s where the next ten take 0.06 s, and
    0.4 to 0.5 s after this (docs/benchmarks.md, beside ABLkit).
    """

    def use() -> None:
        with torch.cuda.device(device):  # a thread begins with the first GPU
            first_use(make, shape, device, precision)
            torch.cuda.current_stream().synchronize()

    with meanwhile(use) if device.type == "cuda" else nullcontext():
        yield


@contextmanager
def meanwhile(work: Callable[[], None]) -> Iterator[None]:
    """Work in a thread while the body goes on; it ends with both, and raises what the work raised. What the
    body raises comes first: then nobody hears of the work."""
    with ThreadPoolExecutor(1, "meanwhile") as thread:
        done = thread.submit(work)
        yield
        done.result()
