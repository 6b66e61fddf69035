"""The rows of a run while it writes them, as server-sent events.

id: 4512                         bytes of metrics.jsonl up to here: where to go on after an interruption
data: {"step": 210, ...}         a row

event: restart                   the file was written anew, as a resumed run does: its rows follow from
data: {}                         the first on

event: state                     no row has come for a minute, or they come again
data: {"state": "stopped"}

event: done                      nothing more will come
data: {"state": "finished"}
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ngs.apps.serve.run_folders import RunFolder, row_of
from ngs.tasks.playground.limits import Slots
from ngs.tasks.run_folder import CONFIG, METRICS

AT_ONCE = 2**18
"""Bytes that are read at a time."""
OVER = ("finished", "gone")
"""States behind which nothing comes. A stopped run may be resumed."""
KEEP_ALIVE = ": still here\n\n"
AGAIN = "retry: 2000\n\n"
"""Milliseconds after which a browser comes back when a stream ends without `done`."""


@dataclass(frozen=True)
class Pace:
    """Of a stream, in seconds."""

    poll: float = 0.5
    keep_alive: float = 15.0
    longest: float = 600.0
    """after which the stream ends; a browser comes back for the rest by itself"""


@dataclass
class Follower:
    """Reads on in the metrics of a run, from so many bytes, or from where they end."""

    run: RunFolder
    offset: int | None
    file: int | None = None
    """which file it was when last seen: its inode"""

    def events(self) -> list[str]:
        """Of the whole lines to come; a file that is shorter, or another one, is read from its start."""
        try:
            with open(self.run.file(METRICS) or "", "rb") as file:
                now = os.fstat(file.fileno())
                start = now.st_size if self.offset is None else self.offset
                if now.st_size < start or self.file not in (None, now.st_ino):
                    self.offset, self.file = 0, now.st_ino
                    return [event({}, "restart")]
                file.seek(start)
                content = file.read(AT_ONCE)
        except OSError:  # there is none yet, or it is in the middle of being replaced
            self.offset = self.offset or 0
            return []
        lines = content[: content.rfind(b"\n") + 1].splitlines(keepends=True)
        if not lines and len(content) == AT_ONCE:  # no line of ours is that long
            lines = [content]
        ends = list(accumulate(map(len, lines), initial=start))
        self.offset, self.file = ends[-1], now.st_ino
        rows = zip(map(row_of, lines), ends[1:], strict=True)
        return [event(row, id=end) for row, end in rows if row is not None]


async def live_rows(run: RunFolder, after: int | None, pace: Pace) -> AsyncIterator[str]:
    """New rows of a run until it ends; those behind the first `after` bytes, or behind what is there now."""
    yield AGAIN
    begin = spoken = time.monotonic()
    told = "running"  # else nobody would follow it
    follower = Follower(run, after)
    while time.monotonic() < begin + pace.longest:
        # First the state: a run writes its last row before its result.
        state, before = await run_in_threadpool(_state, run), follower.offset
        events = await run_in_threadpool(follower.events)
        if events:
            spoken = time.monotonic()
            yield "".join(events)
        elif state in OVER and follower.offset == before:
            yield event({"state": state}, "done")
            return
        if state not in (told, *OVER):
            told = state
            yield event({"state": state}, "state")
        if time.monotonic() > spoken + pace.keep_alive:
            spoken = time.monotonic()
            yield KEEP_ALIVE
        if not events:
            await asyncio.sleep(pace.poll)


def _state(run: RunFolder) -> str:
    """Also "gone", where its folder was deleted."""
    return "gone" if run.file(CONFIG) is None else run.state


def event(data: Mapping[str, Any], name: str | None = None, id: int | None = None) -> str:
    head = ("" if name is None else f"event: {name}\n") + ("" if id is None else f"id: {id}\n")
    return f"{head}data: {json.dumps(data)}\n\n"


class EventStream(StreamingResponse):
    """Events that hold one of few places until they have been sent, or nobody listens."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[str], places: Slots) -> None:
        super().__init__(events, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self.places = places
        places.__enter__()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Here and not in the events: those may never begin.
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.places.release()
