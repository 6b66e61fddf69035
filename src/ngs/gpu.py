"""How products are rounded on a GPU, and how a process waits for one."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import torch


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


BLOCKING_SYNC = 4  # CU_CTX_SCHED_BLOCKING_SYNC of the CUDA driver


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
