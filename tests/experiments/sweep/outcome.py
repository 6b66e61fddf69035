"""What came of a sweep."""

from __future__ import annotations

from collections.abc import Iterable

from ngs.experiments.sweep.driver import Event
from ngs.experiments.sweep.store import LOCKS, Store
from ngs.tasks.run_folder import RESULT


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
