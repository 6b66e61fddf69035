"""Limits of the playground: sizes of requests, and jobs at once."""

import threading
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Upper limits. The defaults are for a laptop with two cores."""

    body_bytes: int = 256_000  # of a request
    body_seconds: float = 10.0  # until a request's body must have arrived
    visitors: int = 500  # known at once
    visitor_seconds: float = 1800.0  # until a visitor is forgotten after the last request
    jobs: int = 4  # that run at once
    learners: int = 1  # jobs that train, for seconds: the other core is for those who draw
    job_wait_seconds: float = 2.0  # for a job to end
    threads: int = 12  # that compute or wait; each keeps about 2 MB of memory for good
    posts: int = 100  # requests at once that compute or wait for a thread
    streams: int = 100  # pages that watch a curve at once


class Busy(Exception):
    """All places are taken. Not the user's mistake, so no NGSError: 503, try again."""


class Slots(threading.BoundedSemaphore):
    """At most `count` at once: `with slots: ...` waits `seconds` for one to be free, then raises Busy."""

    def __init__(self, count: int, seconds: float) -> None:
        super().__init__(count)
        self.count, self.seconds = count, seconds

    def __enter__(self, blocking: bool = True, timeout: float | None = None) -> bool:
        if not self.acquire(blocking, self.seconds if timeout is None else timeout):
            raise Busy(f"{self.count} others are being served; try again in a moment")
        return True
