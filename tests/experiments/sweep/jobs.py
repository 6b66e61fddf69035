"""Small jobs that leave a trace, each attempt a line in a log beside the store, and what came of a sweep."""

import json
import os
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ngs.experiments.sweep.driver import Event, do
from ngs.experiments.sweep.store import LOCKS, Store
from ngs.tasks.results.job import Job, Measurement, Measuring, Progress, Trained
from ngs.tasks.run_folder import CONFIG, ENVIRONMENT, RESULT, read_facts

BEFORE = "before.json"
"""What a training run wrote about its machine, before it is told again of the job."""


@dataclass(frozen=True)
class Sum(Measurement):
    """Adds its number to the results of what it needs, and takes its time."""

    number: int
    log: str
    needs: tuple[Job, ...] = ()
    alone: bool = False
    seconds: float = 0.0
    deaths: int = 0
    """this many attempts are killed in the middle"""
    error: str = ""
    """what it fails with"""
    exits: bool = False
    """whether it ends like a program"""

    @property
    def facts(self) -> dict[str, Any]:
        return {"number": self.number, "needs": [need.facts for need in self.needs]}

    def measure(self, folder: Path, needed: Sequence[Path]) -> Measuring:
        note(self.log, self.number, "began")
        (folder / "part.txt").write_text("half")
        yield Progress(1, 2, {})
        time.sleep(self.seconds)
        if attempts(self.log, self.number) <= self.deaths:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.error:
            raise RuntimeError(self.error)
        if self.exits:
            sys.exit("enough")
        parts = [json.loads((place / RESULT).read_text())["sum"] for place in needed]
        note(self.log, self.number, "ended")
        return {"sum": self.number + sum(parts)}


@dataclass(frozen=True)
class Mortal(Measurement):
    """A training run whose first life ends in the middle."""

    run: Trained

    @property
    def facts(self) -> dict[str, Any]:
        return self.run.facts

    def measure(self, folder: Path, needed: Sequence[Path]) -> Measuring:
        young = not (folder / CONFIG).exists()
        for progress in do(self.run, folder, needed):
            if young and progress.step >= 10:
                os.kill(os.getpid(), signal.SIGKILL)
            yield progress
        (folder / BEFORE).write_bytes((folder / ENVIRONMENT).read_bytes())
        return read_facts(folder / RESULT)


def note(log: str, number: int, what: str) -> None:
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"{number} {what}\n")  # one write at the end of a file: lines of processes do not mix


def lines(log: str) -> list[str]:
    return Path(log).read_text(encoding="utf-8").splitlines() if Path(log).exists() else []


def attempts(log: str, number: int) -> int:
    return lines(log).count(f"{number} began")


def ends(log: str) -> list[int]:
    """The numbers of the jobs that came to their end, in this order."""
    return [int(line.split()[0]) for line in lines(log) if line.endswith("ended")]


# What came of a sweep


def of(state: str, events: Iterable[Event]) -> list[int]:
    """The numbers of the jobs to which this happened, of those that have one."""
    numbers = [event.entry.job.facts.get("number") for event in events if event.state == state]
    return [number for number in numbers if number is not None]


def why(events: Iterable[Event]) -> dict[int, str]:
    """The errors of those that failed, by number."""
    return {event.entry.job.facts["number"]: event.text for event in events if event.state == "failed"}


def unfinished(store: Store) -> list[str]:
    """Folders without a result."""
    folders = [path for path in store.root.iterdir() if path.name != LOCKS]
    return sorted(path.name for path in folders if not (path / RESULT).exists())
