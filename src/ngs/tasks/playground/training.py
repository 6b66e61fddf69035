"""Training a first network in a child process, so that the server stays quick."""

import subprocess
import sys
import threading
from contextlib import suppress
from itertools import chain, count
from pathlib import Path

from ngs.errors import NGSError
from ngs.tasks.playground.messages import Message, part
from ngs.tasks.playground.view import View
from ngs.tasks.run_folder import METRICS, read_rows

FOLDER = "playground"  # the run's, inside the folder of runs
STOP_SECONDS = 5.0


class Progress(Message):
    """A training in progress."""

    step: int = part("Steps done.", 70)
    steps: int = part("Steps in all.", 150)
    accuracy: float | None = part(
        "The share of right answers at the last validation, once there was one.", 0.97
    )


class AlreadyThere(NGSError):
    """A network is already there, or in training."""


class FirstTraining:
    """At most one training of a task with default settings at a time; its view loads the network."""

    def __init__(self, view: View) -> None:
        self.task, self.view = view.task, view
        self.folder = view.server.runs_root / FOLDER
        self.failure: str | None = None
        """why the last training ended without a network"""
        self._child: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        with self._lock:
            if self._child is not None:
                raise AlreadyThere("a network is being trained already; wait for it")
            if self.view.ready:
                raise AlreadyThere("there is a trained network already; use it")
            self.failure = None
            self.folder = self._free_folder()
            try:
                silent = subprocess.DEVNULL
                self._child = subprocess.Popen(
                    self.command(), stdin=silent, stdout=silent, stderr=subprocess.PIPE
                )
            except OSError as error:
                raise NGSError(f"no training can be started here: {error.strerror or error}") from None
        threading.Thread(target=self._wait, args=(self._child,), daemon=True).start()

    def command(self) -> list[str]:
        options = ["--out", str(self.folder), "--threads", "1"]
        return [sys.executable, "-m", "ngs.apps.cli", "train", self.task.name, *options]

    def _free_folder(self) -> Path:
        names = chain([FOLDER], (f"{FOLDER}-{number}" for number in count(2)))
        return next(folder for name in names if not (folder := self.view.server.runs_root / name).exists())

    def progress(self) -> Progress | None:
        """None if no training is in progress."""
        if self._child is None:
            return None
        rows = []
        with suppress(NGSError, OSError):  # no rows yet
            rows = read_rows(self.folder / METRICS)
        validated = [row["validation"][self.task.metrics.answers] for row in rows if "validation" in row]
        step = rows[-1]["step"] if rows else 0
        accuracy = validated[-1] if validated else None
        return Progress(step=step, steps=self.task.settings().steps, accuracy=accuracy)

    def stop(self) -> None:
        """Stop for good: the server ends."""
        if (child := self._child) is not None:
            child.terminate()
            try:
                child.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()

    def _wait(self, child: subprocess.Popen[bytes]) -> None:
        _, errors = child.communicate()
        try:
            if child.returncode:
                last = errors.decode(errors="replace").strip().splitlines()[-1:]
                self.failure = " ".join(["the training ended early", *last])
            else:
                self.view.load(self.folder)
        except Exception as error:  # the page shows any error
            self.failure = str(error) or type(error).__name__
        finally:
            self._child = None
