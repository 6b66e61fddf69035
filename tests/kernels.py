"""What tests of kernels share. They are compiled where there is a GPU, and interpreted elsewhere."""

from __future__ import annotations

import os

import pytest
import torch

from ngs.kernels import HAS_TRITON

needs_triton = pytest.mark.skipif(
    not HAS_TRITON and os.environ.get("NGS_TRITON") != "required",
    reason="needs Triton, which comes with PyTorch for GPUs; NGS_TRITON=required to fail without it",
)
needs_the_interpreter = pytest.mark.skipif(torch.cuda.is_available(), reason="here the kernels are compiled")
on_any_device = pytest.mark.usefixtures("kernels_on_any_device")
without_warnings = pytest.mark.filterwarnings("ignore::RuntimeWarning")
"""NumPy's, of what lanes that are masked or have no example compute."""
