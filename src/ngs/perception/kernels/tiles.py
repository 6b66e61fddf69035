"""What the kernels for LSTMs share: the size of their tiles, and a function."""

from __future__ import annotations

import torch
import triton
from triton import language as tl

from ngs.gpu import room

PLACES = 16
"""Rows of a matrix that the units for products take at least."""
LARGEST = 256
"""Hidden units, since a program keeps what it adds up for all of them in registers."""
BYTES_A_UNIT = 544
"""Of shared memory, in the largest kernel: 133,120 for 256 units, 67,584 for 128, and a little to spare."""


def fits(hidden: int, device: torch.device) -> bool:
    """Whether hidden states are whole tiles, and a GPU has room for those."""
    whole = PLACES <= hidden <= LARGEST and hidden & (hidden - 1) == 0
    return whole and BYTES_A_UNIT * hidden <= room(device)


@triton.jit
def tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1
