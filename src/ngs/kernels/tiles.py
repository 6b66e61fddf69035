"""What the kernels for LSTMs share: the size of their tiles, and how gates are added up."""

from __future__ import annotations

import torch
import triton
from triton import language as tl

PLACES = 16  # rows of a matrix that the units for products take at least
LARGEST = 256  # hidden units, since a program keeps what it adds up for all of them in registers
BYTES_A_UNIT = 544
"""Of shared memory, in the largest kernel that takes rows through time: 133,120 for 256 units, 67,584 for
128, and a little to spare."""


def fits(hidden: int, device: torch.device) -> bool:
    """Whether hidden states are whole tiles, and those fit into the shared memory of a GPU."""
    whole = PLACES <= hidden <= LARGEST and hidden & (hidden - 1) == 0
    properties = torch.cuda.get_device_properties(device)
    shared = getattr(properties, "shared_memory_per_block_optin", properties.shared_memory_per_block)
    return whole and BYTES_A_UNIT * hidden <= int(shared)


@triton.jit
def tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def added(into, forget, fresh, out, states, weights, H: tl.constexpr, K: tl.constexpr):
    """The four gates [R, H] with the products of `states` [R, 1] -> H and `weights` [H, 4H] added."""
    unit, some = tl.arange(0, H), tl.arange(0, K)
    for c in range(0, H, K):
        part = tl.load(states + (c + some)[None, :])
        line = weights + (c + some)[:, None] * (4 * H) + unit[None, :]
        into = tl.dot(part, tl.load(line), into, input_precision="ieee")
        forget = tl.dot(part, tl.load(line + H), forget, input_precision="ieee")
        fresh = tl.dot(part, tl.load(line + 2 * H), fresh, input_precision="ieee")
        out = tl.dot(part, tl.load(line + 3 * H), out, input_precision="ieee")
    return into, forget, fresh, out
