"""The visitors of the page, with separate data that are forgotten in time."""

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ngs.tasks.playground.limits import Limits


@dataclass(eq=False)
class Visitor:
    """The data of one visitor. Hold `lock` to change them: a visitor may press twice."""

    id: str
    kept: dict[type, Any] = field(default_factory=dict)  # by classes of the tasks
    lock: threading.Lock = field(default_factory=threading.Lock)


class Visitors:
    """Visitors by id, a random number that the server chooses."""

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
            # Prefer one without data: those without a cookie are new with every request.
            idle = next((id for id, (old, _) in self._seen.items() if not old.kept), next(iter(self._seen)))
            del self._seen[idle]
        return Visitor(secrets.token_urlsafe(16))

    def _forget_expired(self, now: float) -> None:
        while self._seen:
            visitor, last = next(iter(self._seen.values()))
            if now - last < self.limits.visitor_seconds:
                return
            del self._seen[visitor.id]


def visitor_of(visitors: Visitors, request: Request, response: Response) -> Visitor:
    """The visitor of a request by cookie; one without a cookie gets it with the response."""
    # With the port: to a browser, a cookie belongs to a host, and two playgrounds may be on one.
    _, port = request.scope.get("server") or ("", None)
    name = f"ngs_visitor_{port}" if port else "ngs_visitor"
    given = request.cookies.get(name)
    visitor = visitors.visitor(given)
    if visitor.id != given:
        response.set_cookie(name, visitor.id, httponly=True, samesite="strict", path="/")
    return visitor


async def current_visitor(request: Request, response: Response) -> Visitor:
    """A FastAPI dependency: the visitor of a request. `async` saves a thread: nothing is waited for."""
    return visitor_of(request.app.state.visitors, request, response)
