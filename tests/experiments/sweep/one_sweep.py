"""A sweep in a process of its own: `python -m ... STORE LOG SECONDS WORKERS`."""

import subprocess
import sys
from pathlib import Path

from ngs.experiments.sweep.local import run_here
from ngs.experiments.sweep.store import Store
from tests.experiments.sweep.jobs import Sum

ROOT = Path(__file__).parents[3]


def start(store: Store, log: str, *, workers: int) -> subprocess.Popen[str]:
    """Two jobs of a minute each, in another process."""
    command = [sys.executable, "-m", "tests.experiments.sweep.one_sweep", str(store.root), log, str(workers)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


if __name__ == "__main__":
    root, log, workers = sys.argv[1:]
    jobs = [Sum(number, log, seconds=60) for number in (1, 2)]
    for event in run_here(jobs, Store(Path(root)), workers=int(workers)):
        print(event.state, event.entry.job.facts["number"], flush=True)
