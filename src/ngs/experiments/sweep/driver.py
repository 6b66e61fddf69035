"""The jobs of a sweep: each is done once, in an order in which needs come first, by an executor somewhere."""

import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import torch

from ngs.errors import NGSError
from ngs.experiments.environment import environment
from ngs.experiments.record import Record
from ngs.experiments.run import training
from ngs.experiments.sweep.store import Addressed, Store, addressed
from ngs.tasks.finding import find
from ngs.tasks.results.job import Job, Measurement, Progress, Trained
from ngs.tasks.run_folder import CONFIG, ENVIRONMENT, RESULT


def do(job: Job, folder: Path, needed: Sequence[Path]) -> Iterator[Progress]:
    """Do the job while iterated, or continue what an earlier attempt left in `folder`.

    `needed` are the folders of its needs. environment.json and then result.json are written last, each whole.
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
    """A change of a job's state; `text` tells its progress or how it failed."""

    entry: Addressed
    state: Literal["running", "found", "done", "failed"]
    text: str = ""


Events = Generator[Event, None, None]


def attempt(entry: Addressed, store: Store) -> Events:
    """Do the job while iterated, unless it is done. The last event says how it ended."""
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
    """A failure: the error in one line, then the traceback."""
    where = "".join(traceback.format_exception(error))
    return Event(entry, "failed", f"{type(error).__name__}: {' '.join(str(error).split())}\n\n{where}")


# Several jobs


class Executor(Protocol):
    """Does jobs somewhere."""

    @property
    def places(self) -> int:
        """The number of jobs it takes at a time."""

    def submit(self, entry: Addressed) -> None:
        """Begin a job; if this raises an error, the job has failed."""

    def events(self) -> Iterator[Event]:
        """Yield events of its jobs until one job ends or some time has passed."""

    def close(self) -> None:
        """Stop its jobs."""


def drive(jobs: Iterable[Job], store: Store, start: Callable[[], Executor]) -> Events:
    """Do the jobs and their needs that have no result yet, while iterated; yields what happens."""
    running: dict[str, Addressed] = {}
    failures: set[str] = set()
    with closing(start()) as executor:
        remaining = {entry.address: entry for entry in addressed(jobs, store.has)}
        while remaining:
            entry = _next(remaining, running) if len(running) < executor.places else None
            if entry is None:
                events = executor.events()
            elif store.has(entry.address):
                events = iter([Event(entry, "found")])
            elif bad := failures.intersection(entry.needs):
                places = ", ".join(str(store.at(need)) for need in sorted(bad))
                events = iter([Event(entry, "failed", f"what it needs has failed: {places}")])
            else:
                running[entry.address] = entry
                try:
                    executor.submit(entry)
                    continue
                except Exception as error:
                    events = iter([failed(entry, error)])
            for event in events:
                if event.state != "running":
                    name = event.entry.address
                    del remaining[name]
                    if event.state == "failed":
                        failures.add(name)
                    if running.pop(name, None):
                        store.note_error(name, event.text)
                yield event


def _next(remaining: Mapping[str, Addressed], running: Mapping[str, Addressed]) -> Addressed | None:
    """The next job to begin beside the running ones; None if all must wait.

    A job that must be alone waits until nothing runs; then all others wait for it.
    """
    if any(entry.job.alone for entry in running.values()):
        return None
    waiting = (entry for name, entry in remaining.items() if name not in running)
    ready = (entry for entry in waiting if remaining.keys().isdisjoint(entry.needs))
    entry = min(ready, key=lambda entry: entry.job.alone, default=None)
    return None if entry and entry.job.alone and running else entry
