"""Starting a sweep in another process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from ngs.experiments.sweep.store import Store

ROOT = Path(__file__).parents[3]


def start(
    store: Store, log: str, numbers: list[int], *, workers: int, seconds: float
) -> subprocess.Popen[str]:
    arguments = [str(store.root), log, json.dumps(numbers), str(workers), str(seconds)]
    command = [sys.executable, "-m", "tests.experiments.sweep.one_sweep", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
