"""Settings every test runs under."""

from __future__ import annotations

import torch
from hypothesis import settings

settings.register_profile("default", deadline=None, max_examples=200, print_blob=True, derandomize=False)
settings.load_profile("default")

torch.set_num_threads(1)  # the tensors are small, and the test processes share the cores
