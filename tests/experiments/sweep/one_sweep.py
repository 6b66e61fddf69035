"""A sweep in a process of its own: `python -m ... STORE LOG NUMBERS WORKERS SECONDS`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ngs.experiments.sweep.local import run_here
from ngs.experiments.sweep.store import Store
from tests.experiments.sweep.jobs import Sum

if __name__ == "__main__":
    root, log, numbers, workers, seconds = sys.argv[1:]
    jobs = [Sum(number, log, seconds=float(seconds)) for number in json.loads(numbers)]
    for event in run_here(jobs, Store(Path(root)), workers=int(workers), poll=0.05):
        print(type(event).__name__, event.job.facts["number"], flush=True)
