"""Middleware for every request and response.

A body is read here, whole, within a size and a time, so no handler waits for one. Other sites can neither
send requests under a name that they made point here (DNS rebinding: `Host`) nor post as a visitor (`Origin`).
"""

import asyncio
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ngs.tasks.playground.limits import Limits

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; style-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'self'; object-src 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Cache-Control": "no-cache",
}
"""Of every answer that does not bring its own."""
ALONE = {
    # It has styles and pictures of its own, no scripts, and links to its own sections only.
    "Content-Security-Policy": "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox",
    "Cache-Control": "no-cache",
}
"""Of a page that needs nothing else: a report, a result."""
LONGEST_MESSAGE = 600  # characters: a message quotes what was sent, and that may be long
BUSY = "too many others are being served; try again in a moment"

Names = Callable[[str], bool]  # whether a host name is one of ours


def names_of(host: str, others: Iterable[str] = ()) -> Names:
    """The names of a server listening on `host`: its own, those of this machine, and `others`.

    One that listens everywhere is also reached by any address, which cannot be made to point elsewhere.
    """
    known = {"localhost", "127.0.0.1", "::1", *(name.lower() for name in (host, *others))}
    everywhere = host in ("0.0.0.0", "::")
    if everywhere:
        own = socket.gethostname().lower()
        known |= {own, f"{own}.local"}
    return lambda name: name in known or (everywhere and _is_address(name))


def _is_address(name: str) -> bool:
    with suppress(ValueError):
        return bool(ip_address(name))
    return False


def refusal(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """The one form of all errors. A message may quote what cannot be written as UTF-8."""
    text = message.encode("utf-8", "backslashreplace").decode()
    if len(text) > LONGEST_MESSAGE:
        text = text[: LONGEST_MESSAGE - 1] + "…"
    return JSONResponse({"error": text}, status, headers)


class Guard:
    """ASGI middleware: hosts, origins, bodies and headers."""

    def __init__(self, app: ASGIApp, limits: Limits, names: Names) -> None:
        self.app, self.limits, self.names = app, limits, names
        self.posts = 0
        """on their way, from the first byte to the last"""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # lifespan; there are no websockets
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        is_post = scope["method"] == "POST"
        self.posts += is_post
        try:
            self._check(scope["method"], Headers(scope=scope))
            body = await self._body(Headers(scope=scope), receive)
            if body is not None:
                await self.app(scope, _replay(body, receive), send_with_headers)
        except HTTPException as refused:
            # What was not read of the body would be taken for the next request.
            headers = {"Connection": "close", **(refused.headers or {})}
            await refusal(refused.status_code, refused.detail, headers)(scope, receive, send_with_headers)
        finally:
            self.posts -= is_post

    def _check(self, method: str, headers: Headers) -> None:
        if self.posts > self.limits.posts:
            raise HTTPException(503, BUSY, {"Retry-After": "1"})
        host, origin = headers.get("host", ""), headers.get("origin")
        name = _split(f"//{host}").hostname or ""
        if not self.names(name):
            known = "this server has no such name; ask for localhost, or start it with --name"
            raise HTTPException(400, f"the host is {name!r}, and {known}")
        is_ours = origin is None or (_split(origin).netloc.lower() or None) == host.lower()
        if method not in ("GET", "HEAD") and not is_ours:
            only = f"only pages of {host} may send one"
            raise HTTPException(403, f"the request comes from a page of {origin}; {only}")

    async def _body(self, headers: Headers, receive: Receive) -> bytes | None:
        """All of a request's body, or None where the client has gone."""
        most = self.limits.body_bytes
        message = f"the request is too large; at most {most:,} bytes are read: send less"
        too_large = HTTPException(413, message)
        told = headers.get("content-length", "0")
        if not told.isascii() or not told.isdigit() or len(told) > 15 or int(told) > most:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                while True:
                    read = await receive()
                    if read["type"] == "http.disconnect":
                        return None
                    body += read.get("body", b"")
                    if len(body) > most:
                        raise too_large
                    if not read.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            message = f"the request did not arrive within {self.limits.body_seconds:g} s; send it again"
            raise HTTPException(408, message) from None


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body at once, then what comes: that the client goes."""
    waiting = [body]

    async def replayed() -> Message:
        if not waiting:
            return await receive()
        return {"type": "http.request", "body": waiting.pop(), "more_body": False}

    return replayed


def _split(address: str) -> SplitResult:
    """The parts of `http://localhost:8000` or `//[::1]:8000`; empty ones of what is no address."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")
