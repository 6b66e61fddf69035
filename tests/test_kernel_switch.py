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
def test_kernels_need_triton_and_a_gpu(triton: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngs.kernels, "HAS_TRITON", triton)
    monkeypatch.delenv("NGS_KERNELS", raising=False)
    assert ngs.kernels.available("lstm", torch.zeros(1).as_subclass(OnGPU)) == triton
    assert not ngs.kernels.available("lstm", torch.zeros(1))


@pytest.mark.parametrize(
    ("wanted", "lstm", "decoder"),
    [("off", False, False), ("lstm", True, False), ("decoder,lstm", True, True)],
)
def test_kernels_are_turned_off_by_name(
    wanted: str, lstm: bool, decoder: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ngs.kernels, "HAS_TRITON", True)
    monkeypatch.setenv("NGS_KERNELS", wanted)
    there = torch.zeros(1).as_subclass(OnGPU)
    assert (ngs.kernels.available("lstm", there), ngs.kernels.available("decoder", there)) == (lstm, decoder)
