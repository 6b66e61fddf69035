"""What tensors take at most while something is done, on a CPU or a GPU."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def peak_tensor_mb(action: Callable[[], object], device: torch.device) -> float:
    """The most that tensors took at once during `action`, beyond what they took before it.

    On a GPU by what PyTorch's allocator says; on a CPU, where it says nothing, by looking at the storage of
    every tensor that an operation makes. What an operation needs only inside itself is not seen there, nor
    are Python's own objects. (The memory of the process would not do: it never falls.)
    """
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        action()
        torch.cuda.synchronize(device)
        return (torch.cuda.max_memory_allocated(device) - before) / 2**20
    storages = _Storages()
    with storages:
        action()
    return storages.peak / 2**20


class _Storages(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes of storages that operations make, until they are freed."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes, self.peak = 0, 0
        self._alive: set[int] = set()
        """their addresses"""

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = {tensor.untyped_storage().data_ptr() for tensor in _tensors((args, kwargs))}
        result = function(*args, **(kwargs or {}))
        for tensor in _tensors(result):
            storage = tensor.untyped_storage()
            address, size = storage.data_ptr(), storage.nbytes()
            if size and address not in self._alive | given:  # or it is a view, or changed in place
                self._alive.add(address)
                self.bytes += size
                self.peak = max(self.peak, self.bytes)
                weakref.finalize(storage, self._freed, address, size).atexit = False
        return result

    def _freed(self, address: int, size: int) -> None:
        self._alive.discard(address)
        self.bytes -= size


def _tensors(values: Any) -> list[Tensor]:
    return [value for value in tree_leaves(values) if isinstance(value, Tensor)]
