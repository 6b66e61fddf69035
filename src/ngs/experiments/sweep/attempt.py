"""One job, done in this process: what it leaves in its folder, and what is told of it."""

from __future__ import annotations

import traceback
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import torch

from ngs.errors import NGSError
from ngs.experiments.environment import environment
from ngs.experiments.record import Record
from ngs.experiments.run import training
from ngs.experiments.sweep.store import Addressed, Store
from ngs.tasks.finding import find
from ngs.tasks.results.job import Job, Measurement, Progress, Trained
from ngs.tasks.run_folder import CONFIG, ENVIRONMENT, RESULT


def do(job: Job, folder: Path, needed: Sequence[Path]) -> Iterator[Progress]:
    """Do it, or go on with what an earlier attempt left in `folder`, as it is iterated.

    `needed` are the folders of what it needs. Last of all result.json is written, whole or not at all, and
    before that environment.json.
    """
    if isinstance(job, Trained):
        return training(find(job.task), job.settings, folder, resume=(folder / CONFIG).exists())
    return _measured(job, folder, needed)


def _measured(job: Measurement, folder: Path, needed: Sequence[Path]) -> Iterator[Progress]:
    result = yield from job.measure(folder, needed)
    record = Record(folder, writes=True)
    record.write(ENVIRONMENT, environment(torch.device(job.runs_on)))
    record.write(RESULT, result)
    yield Progress(1, 1, result)


class Event(NamedTuple):
    """What happens to a job. `text` says where it is while it is running, or how it failed."""

    entry: Addressed
    state: Literal["running", "found", "done", "failed"]
    text: str = ""


Events = Generator[Event, None, None]


def attempt(entry: Addressed, store: Store) -> Events:
    """Do the job as it is iterated, unless another process has. The last event says how it ended."""
    try:
        with store.writing(entry.address) as folder:
            found = store.has(entry.address)
            if not found:
                for progress in do(entry.job, folder, [store.at(need) for need in entry.needs]):
                    yield Event(entry, "running", f"step {progress.step} of {progress.steps}")
        if not store.has(entry.address):
            raise NGSError(f"it ended without writing {RESULT}")
    except (Exception, SystemExit) as error:
        yield failed(entry, error)
    else:
        yield Event(entry, "found" if found else "done")


def failed(entry: Addressed, error: BaseException) -> Event:
    """Tell that a job failed: what went wrong in one line, and below it where."""
    where = "".join(traceback.format_exception(error))
    return Event(entry, "failed", f"{type(error).__name__}: {' '.join(str(error).split())}\n\n{where}")
