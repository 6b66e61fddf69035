"""The front of the playground: its page, and its endpoints as soon as PyTorch and the networks are loaded.

Until then requests of the page wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from ngs.apps.serve.guard import Guard, Names, refusal
from ngs.tasks.playground.visitors import Visitors, visitor_of

if TYPE_CHECKING:  # what takes long to load
    from fastapi import FastAPI

STATIC = Path(__file__).parent / "static"
NOT_LOADED = "the playground could not be loaded; look at what `ngs serve` says, and start it again"


def front(visitors: Visitors, names: Names, endpoints: Future[FastAPI]) -> Starlette:
    """The whole application; it answers only where it is asked by one of `names`."""

    async def page(request: Request) -> FileResponse:
        """With a cookie, before anything is requested."""
        answer = FileResponse(STATIC / "index.html")
        visitor_of(visitors, request, answer)
        return answer

    async def asked(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if not endpoints.done():  # shielded: who gives up waiting does not end the loading
                await asyncio.shield(asyncio.wrap_future(endpoints))
            app = endpoints.result()
        except Exception:  # whatever it was, who began the loading tells it
            raise HTTPException(503, NOT_LOADED) from None
        await app(scope, receive, send)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = visitors.limits.threads
        yield
        if endpoints.done() and endpoints.exception() is None:
            endpoints.result().state.stop()

    return Starlette(
        routes=[Route("/", page), Mount("/static", StaticFiles(directory=STATIC)), Mount("/", asked)],
        middleware=[Middleware(Guard, limits=visitors.limits, names=names)],
        exception_handlers={HTTPException: refused},
        lifespan=lifespan,
    )


def refused(request: Request, error: Exception) -> Response:
    """What there is not, in the form of all refusals."""
    assert isinstance(error, HTTPException)
    message = error.detail
    if message == "Not Found":
        message = f"there is no {request.url.path} here; see /api/openapi.json for what there is"
    elif message == "Method Not Allowed":
        message = f"{request.method} is not for {request.url.path}; see /api/openapi.json for what is"
    return refusal(error.status_code, message, dict(error.headers or {}))
