"""`ngs serve` as a person starts it, with runs that were really trained."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ngs.experiments.config import TrainCLEVR, TrainHWF
from ngs.experiments.run import train

HANDWRITING = TrainHWF(steps=100, validate_every=45, lengths=(1, 3))
"""Reads nearly everything; its first validation leaves the weak network. Short formulas take less time."""
QUESTIONS = TrainCLEVR(steps=30, validate_every=30, batch_size=32, fraction=0.1)
"""Answers about half of the questions: some are wrong, to be corrected."""


def trained_runs(folder: Path) -> Path:
    """A folder with a run of each task."""
    for name, config in {"handwriting": HANDWRITING, "questions": QUESTIONS}.items():
        for _ in train(config, folder / name):
            pass
    return folder


@contextmanager
def serving(runs: Path, results: Path) -> Iterator[str]:
    """The address of a server, while it runs."""
    command = [sys.executable, "-m", "ngs.apps.cli", "serve", "--port", "0"]
    command += ["--runs", str(runs), "--results", str(results)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as server:
        try:
            yield _address(server)
        finally:
            server.terminate()
            server.wait(10)


def _address(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    said = []
    for line in server.stdout:
        said.append(line)
        if found := re.search(r"http://[\w.:\[\]]+/", line):
            return found[0]
    raise AssertionError(f"the server ended without an address: {''.join(said)}")
