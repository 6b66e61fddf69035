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
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ngs.apps.serve.run_folders import RunFolder, row_of
from ngs.experiments.folder import CONFIG
from ngs.experiments.record import METRICS

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


UNHURRIED = Pace()


@dataclass(frozen=True)
class Place:
    """Where a reader is in a file."""

    offset: int
    """in bytes"""
    file: int | None = None
    """which file it was when last seen: its inode"""


@dataclass(frozen=True)
class News:
    """What a look at the file brought."""

    place: Place
    rows: tuple[tuple[int, dict[str, Any]], ...] = ()
    """each with the bytes up to its end"""
    restarted: bool = False


def news_of(path: Path | None, place: Place) -> News:
    """The whole lines behind `place`; a file that is shorter, or another one, is read from its start."""
    if path is None:
        return News(place)
    try:
        with path.open("rb") as file:
            now = os.fstat(file.fileno())
            if now.st_size < place.offset or place.file not in (None, now.st_ino):
                return News(Place(0, now.st_ino), restarted=True)
            file.seek(place.offset)
            content = file.read(AT_ONCE)
    except OSError:  # it may be in the middle of being replaced
        return News(place)
    lines = content[: content.rfind(b"\n") + 1].splitlines(keepends=True)
    if not lines and len(content) == AT_ONCE:  # no line of ours is that long
        lines = [content]
    rows = tuple(_with_ends(lines, place.offset))
    return News(Place(place.offset + sum(map(len, lines)), now.st_ino), rows)


def _with_ends(lines: list[bytes], start: int) -> Iterator[tuple[int, dict[str, Any]]]:
    for line in lines:
        start += len(line)
        if (row := row_of(line)) is not None:
            yield start, row


def size_of(path: Path | None) -> int:
    try:
        return 0 if path is None else path.stat().st_size
    except OSError:
        return 0


async def live_rows(run: RunFolder, after: int | None, pace: Pace) -> AsyncIterator[str]:
    """New rows of a run until it ends; those behind the first `after` bytes, or behind what is there now."""
    yield AGAIN
    begin = spoken = time.monotonic()
    told = "running"  # else nobody would follow it
    place = Place(await run_in_threadpool(lambda: size_of(run.file(METRICS))) if after is None else after)
    while time.monotonic() < begin + pace.longest:
        # First the state: a run writes its last row before its result.
        state = await run_in_threadpool(_state, run)
        news = await run_in_threadpool(lambda place: news_of(run.file(METRICS), place), place)
        if text := "".join(_events(news)):
            spoken = time.monotonic()
            yield text
        if state in OVER and news.place.offset == place.offset and not news.restarted:
            yield _event({"state": state}, "done")
            return
        if state not in (told, *OVER):
            told = state
            yield _event({"state": state}, "state")
        place = news.place
        if time.monotonic() > spoken + pace.keep_alive:
            spoken = time.monotonic()
            yield KEEP_ALIVE
        if not news.rows:
            await asyncio.sleep(pace.poll)


def _state(run: RunFolder) -> str:
    """Also "gone", where its folder was deleted."""
    return "gone" if run.file(CONFIG) is None else run.state


def _events(news: News) -> Iterator[str]:
    if news.restarted:
        yield _event({}, "restart")
    for end, row in news.rows:
        yield _event(row, id=end)


def _event(data: Mapping[str, Any], name: str | None = None, id: int | None = None) -> str:
    head = ("" if name is None else f"event: {name}\n") + ("" if id is None else f"id: {id}\n")
    return f"{head}data: {json.dumps(data)}\n\n"


class EventStream(StreamingResponse):
    """Events that hold something (one of few places) until they have been sent, or nobody listens."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[str], held: ExitStack) -> None:
        super().__init__(events, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self.held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Here and not in the events: those may never begin.
        with self.held:
            await super().__call__(scope, receive, send)
