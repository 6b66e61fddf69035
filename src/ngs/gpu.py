"""How products are rounded on a GPU, how a process waits for one, and how numbers get there."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class Resident:
    """A constant that is needed where the data are: copied to each device once, since every copy waits."""

    def __init__(self, tensor: Tensor) -> None:
        self._copies = {tensor.device: tensor}

    def on(self, device: torch.device) -> Tensor:
        if device not in self._copies:
            with torch.inference_mode(False):  # or a copy made there could be of no use elsewhere
                self._copies[device] = next(iter(self._copies.values())).to(device)
        return self._copies[device]


def sent(arrays: Sequence[NDArray[np.int64]], device: torch.device) -> tuple[Tensor, ...]:
    """Arrays on a device, by one copy for all of them, which does not wait for the GPU."""
    flat = torch.from_numpy(np.concatenate(arrays))
    if device.type == "cuda":
        flat = flat.pin_memory()  # what may move in memory is copied when the GPU is done with all before
    return flat.to(device, non_blocking=True).split_with_sizes([len(array) for array in arrays])


def products_are_rounded() -> bool:
    return bool(torch.backends.cuda.matmul.fp32_precision == "tf32")


@contextmanager
def rounded_products() -> Iterator[None]:
    """Products of float32 matrices on a GPU round to ten bits (TF32), as PyTorch's convolutions do anyway."""
    before = torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    try:
        yield
    finally:
        torch.backends.cuda.matmul.fp32_precision = before


BLOCKING_SYNC = 4
"""CU_CTX_SCHED_BLOCKING_SYNC of the CUDA driver."""


def sleep_while_waiting() -> None:
    """Let this process sleep whenever it waits for a GPU, from now on.

    By default it asks again and again whether the GPU is done. That is quicker by some microseconds, but
    takes a core, and many processes that share a GPU take the cores from each other. Where there is no
    driver for GPUs, or one that does not know this, all stays as it is.
    """
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        initialize, count = driver.cuInit, driver.cuDeviceGetCount
        set_flags = driver.cuDevicePrimaryCtxSetFlags_v2
    except (OSError, AttributeError):
        return
    devices = ctypes.c_int()
    if initialize(0) == 0 and count(ctypes.byref(devices)) == 0:
        for device in range(devices.value):
            set_flags(device, BLOCKING_SYNC)
