"""One job done in this process, if nobody else does it."""

from __future__ import annotations

import traceback
from collections.abc import Generator

from ngs.experiments.folder import RESULT
from ngs.experiments.sweep.claim import Claim
from ngs.experiments.sweep.event import Began, Done, Event, Failed, Found, Waiting, WentOn
from ngs.experiments.sweep.store import Addressed, Store


def attempt(entry: Addressed, store: Store) -> Generator[Event, None, None]:
    """Do it as it is iterated. The last event is Done, Found, Waiting or Failed, told when all is written."""
    claim = store.claim(entry.address)
    if claim is None:
        yield Waiting(entry.job)
        return
    with claim:
        end: Event = Found(entry.job)
        if not store.has(entry.address):
            store.forget_error(entry.address)
            yield Began(entry.job)
            end = yield from _do(entry, store, claim)
    yield end


def _do(entry: Addressed, store: Store, claim: Claim) -> Generator[Event, None, Event]:
    folder = store.at(entry.address)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for progress in entry.job.do(folder, [store.at(need) for need in entry.needs]):
            if not claim.held:
                return Waiting(entry.job)
            yield WentOn(entry.job, progress)
    except Exception as error:
        return failed(entry, store, text_of(error))
    if not store.has(entry.address):
        return failed(entry, store, f"it ended without writing {RESULT}")
    return Done(entry.job)


def text_of(error: Exception) -> str:
    """What went wrong in one line, and below it where."""
    where = "".join(traceback.format_exception(error))
    return f"{type(error).__name__}: {' '.join(str(error).split())}\n\n{where}"


def failed(entry: Addressed, store: Store, error: str) -> Failed:
    """The event, with the error kept beside what the attempt left."""
    store.note_error(entry.address, error)
    return Failed(entry.job, error)
