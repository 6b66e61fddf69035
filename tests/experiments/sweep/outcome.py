"""What came of a sweep."""

from __future__ import annotations

from collections.abc import Iterable

from ngs.experiments.folder import RESULT
from ngs.experiments.sweep.event import Event
from ngs.experiments.sweep.store import CLAIMS, Store


def of(kind: type[Event], events: Iterable[Event]) -> list[int]:
    """The numbers of the jobs to which this happened, of those that have one."""
    numbers = [event.job.facts.get("number") for event in events if isinstance(event, kind)]
    return [number for number in numbers if number is not None]


def litter(store: Store) -> list[str]:
    """Claims, and folders without a result."""
    claims = [path.name for path in (store.root / CLAIMS).iterdir()]
    folders = [path for path in store.root.iterdir() if path.name != CLAIMS]
    return sorted(claims + [path.name for path in folders if not (path / RESULT).exists()])
