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

import asyncio
import os
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import accumulate

from fastapi.sse import ServerSentEvent
from starlette.concurrency import run_in_threadpool

from ngs.apps.serve.run_folders import RunFolder, row_of
from ngs.tasks.run_folder import CONFIG, METRICS

AT_ONCE = 2**18  # bytes that are read at a time
OVER = ("finished", "gone")  # states behind which nothing comes. A stopped run may be resumed.
RETRY = 2000  # milliseconds after which a browser comes back when a stream ends without `done`


@dataclass(frozen=True)
class Pace:
    """Of a stream, in seconds."""

    poll: float = 0.5
    longest: float = 600.0
    """after which the stream ends; a browser comes back for the rest by itself"""


@dataclass
class Follower:
    """Reads on in the metrics of a run, from so many bytes, or from where they end."""

    run: RunFolder
    offset: int | None
    file: int | None = None  # which file it was when last seen: its inode

    def events(self) -> list[ServerSentEvent]:
        """Of the whole lines to come; a file that is shorter, or another one, is read from its start."""
        try:
            with open(self.run.file(METRICS) or "", "rb") as file:
                now = os.fstat(file.fileno())
                start = now.st_size if self.offset is None else self.offset
                if now.st_size < start or self.file not in (None, now.st_ino):
                    self.offset, self.file = 0, now.st_ino
                    return [ServerSentEvent(data={}, event="restart")]
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
        return [ServerSentEvent(data=row, id=str(end)) for row, end in rows if row is not None]


async def live_rows(run: RunFolder, after: int | None, pace: Pace) -> AsyncIterator[ServerSentEvent]:
    """New rows of a run until it ends, after the first `after` bytes (None: from now on)."""
    yield ServerSentEvent(retry=RETRY)
    begin = time.monotonic()
    told = "running"  # else nobody would follow it
    follower = Follower(run, after)
    while time.monotonic() < begin + pace.longest:
        # First the state: a run writes its last row before its result.
        state, before = await run_in_threadpool(_state, run), follower.offset
        events = await run_in_threadpool(follower.events)
        for event in events:
            yield event
        if not events and state in OVER and follower.offset == before:
            yield ServerSentEvent(data={"state": state}, event="done")
            return
        if state not in (told, *OVER):
            told = state
            yield ServerSentEvent(data={"state": state}, event="state")
        if not events:
            await asyncio.sleep(pace.poll)


def _state(run: RunFolder) -> str:
    """Also "gone", where its folder was deleted."""
    return "gone" if run.file(CONFIG) is None else run.state
