"""What the processes of one run must agree on. With a single process, all of this is the identity."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor


def together() -> int:
    """How many processes train one network."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def mean_over_processes(value: Tensor) -> Tensor:
    if together() == 1:
        return value
    total = value.detach().clone()
    dist.all_reduce(total)
    return total / together()


def gathered(rows: Tensor) -> Tensor:
    """The rows of all processes, one process behind the other; each has equally many."""
    if together() == 1:
        return rows
    parts = [torch.empty_like(rows) for _ in range(together())]
    dist.all_gather(parts, rows.contiguous())
    return torch.cat(parts)
