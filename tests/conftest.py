"""Settings every test runs under."""

from __future__ import annotations

import os

import torch
from hypothesis import settings

settings.register_profile("default", deadline=None, max_examples=200, print_blob=True, derandomize=False)
settings.load_profile("default")

torch.set_num_threads(1 if "PYTEST_XDIST_WORKER" in os.environ else 2)  # workers share the cores
