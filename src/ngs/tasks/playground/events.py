"""Server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ngs.tasks.playground.limits import Slots


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
