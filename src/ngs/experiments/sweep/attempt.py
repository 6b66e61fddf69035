"""One job, done in this process."""

from __future__ import annotations

import traceback
from collections.abc import Generator
from typing import Literal, NamedTuple

from ngs.errors import NGSError
from ngs.experiments.doing import do
from ngs.experiments.sweep.store import Addressed, Store
from ngs.tasks.run_folder import RESULT


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
