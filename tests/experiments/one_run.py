"""A run in a process of its own, so that test_resumed_runs.py can kill it: `python -m ... CONFIG FOLDER`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

from ngs.tasks.run_folder import configured
from tests.experiments.training import train

if __name__ == "__main__":
    torch.set_num_threads(1)
    config = configured(json.loads(sys.argv[1]), Path("the arguments"))
    for _ in train(config.settings, Path(sys.argv[2])):
        pass
