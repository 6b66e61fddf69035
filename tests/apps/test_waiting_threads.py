"""How threads wait on a CPU is settled before PyTorch is loaded, or by whoever has said something."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = "import ngs.apps, os, sys; print(os.environ['GOMP_SPINCOUNT'], 'torch' in sys.modules)"


@pytest.mark.parametrize("said, kept", [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7")])
def test_threads_spin_for_a_moment(said: dict[str, str], kept: str) -> None:
    unsaid = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    command = [sys.executable, "-c", PROGRAM]
    result = subprocess.run(command, env=unsaid | said, capture_output=True, text=True, check=True)
    assert result.stdout.split() == [kept, "False"]
