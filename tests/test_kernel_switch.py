"""Kernels are used where there is a GPU and Triton, unless they are turned off."""

from __future__ import annotations

import pytest
import torch

import ngs.kernels


class OnGPU(torch.Tensor):
    """What says of itself that it lies on a GPU."""

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        return True


@pytest.mark.parametrize("triton", [True, False])
def test_one_switch_for_all_kernels(triton: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngs.kernels, "HAS_TRITON", triton)
    there = torch.zeros(1).as_subclass(OnGPU)
    monkeypatch.delenv("NGS_KERNELS", raising=False)
    assert ngs.kernels.available(there) == triton
    assert not ngs.kernels.available(torch.zeros(1))
    monkeypatch.setenv("NGS_KERNELS", "off")
    assert not ngs.kernels.available(there)
