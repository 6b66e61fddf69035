"""How a job that is no training run ends: with what it ran on, and then its result."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ngs.experiments.environment import environment
from ngs.experiments.folder import ENVIRONMENT, RESULT
from ngs.experiments.record import Record


def finish(folder: Path, device: torch.device, result: Mapping[str, Any]) -> None:
    """Write both files; from then on the job is done."""
    record = Record(folder, writes=True)
    record.write(ENVIRONMENT, environment(device))
    record.write(RESULT, result)
