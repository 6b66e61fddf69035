"""Numbers that are sent to a device together arrive as they were, each for itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ngs.gpu import sent

DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")),
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("seed", range(3))
def test_arrays_arrive_as_they_were(seed: int, device: str) -> None:
    """Also those that the memory they came from is used for again meanwhile, and empty ones."""
    random = np.random.default_rng(seed)
    sizes = [0, *random.integers(1, 2000, 3), 0, 1]
    given = [[random.integers(-(2**62), 2**62, size) for size in sizes] for _ in range(20)]
    there = [sent(arrays, torch.device(device)) for arrays in given]
    for arrays, tensors in zip(given, there, strict=True):
        assert len(tensors) == len(arrays)
        for array, tensor in zip(arrays, tensors, strict=True):
            assert tensor.device.type == device and tensor.dtype == torch.int64
            assert np.array_equal(tensor.cpu().numpy(), array)
