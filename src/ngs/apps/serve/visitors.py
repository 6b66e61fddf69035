"""Who is on the page: what each visitor drew and taught, apart from all others, and forgotten in time."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from ngs.apps.serve.limits import Limits
from ngs.apps.serve.messages import Message, part

if TYPE_CHECKING:  # what takes long to load
    from torch import nn

    from ngs.apps.serve.learning import Drawn


class Score(Message):
    """Of what a visitor drew with an answer."""

    drawn: int = part("Drawings.", 3, default=0)
    right_before: int = part("Read rightly when they were drawn.", 1, default=0)
    right_now: int = part("Read rightly by the visitor's own network.", 3, default=0)


@dataclass(eq=False)
class Visitor:
    """What is kept of one visitor. Hold `lock` to change it: a visitor may press twice."""

    id: str
    drawn: deque[Drawn]
    """examples with answers, the latest last"""
    network: nn.Module | None = None
    """the visitor's own copy, once something was learned"""
    score: Score = field(default_factory=Score)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Visitors:
    """Visitors by their ids. An id is a random number that only we give out, never a visitor's choice."""

    def __init__(self, limits: Limits | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits, self._clock = limits or Limits(), clock
        self._seen: OrderedDict[str, tuple[Visitor, float]] = OrderedDict()
        """with the time of the last request, the longest ago first"""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._seen)

    def visitor(self, id: str | None) -> Visitor:
        """The visitor with this id, or a new one with another id."""
        now = self._clock()
        with self._lock:
            self._forget_expired(now)
            known = self._seen.get(id or "")
            visitor = known[0] if known else self._new()
            self._seen[visitor.id] = (visitor, now)
            self._seen.move_to_end(visitor.id)
        return visitor

    def _new(self) -> Visitor:
        if len(self._seen) >= self.limits.visitors:
            # Rather one who has nothing to lose: those without a cookie come anew with every request.
            idle = next((id for id, (old, _) in self._seen.items() if not old.drawn), next(iter(self._seen)))
            del self._seen[idle]
        return Visitor(secrets.token_urlsafe(16), deque(maxlen=self.limits.drawn))

    def _forget_expired(self, now: float) -> None:
        while self._seen:
            visitor, last = next(iter(self._seen.values()))
            if now - last < self.limits.visitor_seconds:
                return
            del self._seen[visitor.id]


def visitor_of(visitors: Visitors, request: Request, response: Response) -> Visitor:
    """Who sent a request, by cookie; one without gets a new one with the response."""
    # With the port: to a browser, a cookie belongs to a host, and two playgrounds may be on one.
    _, port = request.scope.get("server") or ("", None)
    name = f"ngs_visitor_{port}" if port else "ngs_visitor"
    given = request.cookies.get(name)
    visitor = visitors.visitor(given)
    if visitor.id != given:
        response.set_cookie(name, visitor.id, httponly=True, samesite="strict", path="/")
    return visitor


async def current_visitor(request: Request, response: Response) -> Visitor:
    """A FastAPI dependency: who sent a request.

    `async` only to be spared the way through a thread: nothing is waited for.
    """
    return visitor_of(request.app.state.playground.visitors, request, response)
