"""What every request passes before it is looked at, and every answer on its way out.

A body is read here, whole, within a size and a time; so a handler never waits for one. A page from
elsewhere can neither ask under a name it made point here (DNS rebinding: `Host`) nor post in a visitor's
name (`Origin`).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ngs.apps.serve.limits import Limits

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
LONGEST_MESSAGE = 600
"""Characters: a message quotes what was sent, and that may be long."""
BUSY = "too many others are being served; try again in a moment"

Names = Callable[[str], bool]
"""Whether a host name is one of ours."""


def local(name: str) -> bool:
    """The names of one's own machine."""
    return name in ("localhost", "127.0.0.1", "::1")


def names_of(host: str, others: Iterable[str] = ()) -> Names:
    """The names that a server listening on `host` is asked by: its own, those of this machine, and `others`.

    One that listens everywhere is also asked by address. An address cannot be made to point elsewhere.
    """
    known = {host.lower(), *(name.lower() for name in others)}
    everywhere = host in ("0.0.0.0", "::")
    if everywhere:
        own = socket.gethostname().lower()
        known |= {own, f"{own}.local"}
    return lambda name: local(name) or name in known or (everywhere and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def refusal(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """The one form of all errors. A message may quote what cannot be written as UTF-8."""
    text = message.encode("utf-8", "backslashreplace").decode()
    if len(text) > LONGEST_MESSAGE:
        text = text[: LONGEST_MESSAGE - 1] + "…"
    return JSONResponse({"error": text}, status, headers)


class _Refused(Exception):
    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers or {}


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
        except _Refused as refused:
            # What was not read of the body would be taken for the next request.
            headers = {"Connection": "close", **refused.headers}
            await refusal(refused.status, refused.message, headers)(scope, receive, send_with_headers)
        finally:
            self.posts -= is_post

    def _check(self, method: str, headers: Headers) -> None:
        if self.posts > self.limits.posts:
            raise _Refused(503, BUSY, {"Retry-After": "1"})
        host = headers.get("host", "")
        name = _name_of(host)
        if not self.names(name):
            raise _Refused(
                400,
                f"the host is {name!r}, and this server has no such name; ask for localhost, or start "
                f"it with --name",
            )
        origin = headers.get("origin")
        if method not in ("GET", "HEAD") and origin is not None and _netloc(origin) != host.lower():
            raise _Refused(
                403, f"the request comes from a page of {origin}; only pages of {host} may send one"
            )

    async def _body(self, headers: Headers, receive: Receive) -> bytes | None:
        """All of a request's body, or None where the client has gone."""
        most = self.limits.body_bytes
        too_large = _Refused(413, f"the request is too large; at most {most:,} bytes are read: send less")
        told = headers.get("content-length", "0")
        if not told.isascii() or not told.isdigit() or len(told) > 15 or int(told) > most:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    if len(body) > most:
                        raise too_large
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            raise _Refused(
                408, f"the request did not arrive within {self.limits.body_seconds:g} s; send it again"
            ) from None


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body at once, then what comes: that the client goes."""
    told = False

    async def replayed() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


def _netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _name_of(host: str) -> str:
    """The name in a Host header, without its port: `localhost:8000`, `[::1]:8000`."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
