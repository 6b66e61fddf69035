"""Kernels are used where there is a GPU and Triton, unless they are turned off."""

from __future__ import annotations

import pytest

import ngs.kernels
from ngs.kernels import NAMES, devices


@pytest.mark.parametrize(("triton", "where"), [(True, ("cuda",)), (False, ())])
def test_kernels_need_triton_and_a_gpu(
    triton: bool, where: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ngs.kernels, "HAS_TRITON", triton)
    assert devices(None) == dict.fromkeys(NAMES, where)


@pytest.mark.parametrize("wanted", [[], ["lstm"], ["decoder", "lstm"]])
def test_kernels_are_turned_off_by_name(wanted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngs.kernels, "HAS_TRITON", True)
    used = devices(",".join(wanted) or "off")
    assert [name for name in used if used[name]] == wanted


def test_a_kernel_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="NGS_KERNELS names lstms; give `off` or some of decoder,lstm"):
        devices("lstms")
