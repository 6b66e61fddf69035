"""A client of a playground that is loaded, and one that sends what it likes."""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

from fastapi import FastAPI
from starlette.testclient import TestClient

from ngs.apps.serve.app import endpoints
from ngs.apps.serve.front import front
from ngs.apps.serve.guard import names_of
from ngs.apps.serve.playground import Playground
from ngs.tasks.clevr.playground.asking_api import AskingView
from ngs.tasks.clevr.reading import QuestionReader
from ngs.tasks.hwf.playground.view import DrawingView

Messages = list[dict[str, Any]]


def connected(playground: Playground) -> TestClient:
    loaded: Future[FastAPI] = Future()
    loaded.set_result(endpoints(playground))
    return TestClient(front(playground.visitors, names_of("localhost"), loaded), base_url="http://localhost")


def drawing(playground: Playground) -> DrawingView:
    """The view that reads drawings."""
    view = playground.views["hwf"]
    assert isinstance(view, DrawingView)
    return view


def asking(reader: QuestionReader | None, **more: Any) -> Playground:
    """A playground in which this one reads questions."""
    playground = Playground(**more)
    view = playground.views["clevr"]
    assert isinstance(view, AskingView)
    view.reader = reader
    return playground


async def heard(
    app: Any,
    messages: Messages,
    headers: Iterable[tuple[bytes, bytes]] = (),
    enough: Callable[[Messages], bool] = lambda sent: False,
    **more: Any,
) -> Messages:
    """What an application sends to one who sends these messages, and goes away as soon as that is enough."""
    sent: Messages = []
    gone = asyncio.Event()

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop(0)
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)
        if enough(sent):
            gone.set()

    scope = {
        **{"type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": "/"},
        **{"query_string": b"", "headers": [(b"host", b"localhost"), *headers]},
        **{"asgi": {"version": "3.0", "spec_version": "2.3"}, "client": ("127.0.0.1", 1)},
        **{"server": ("localhost", 80), **more},
    }
    await asyncio.wait_for(app(scope, receive, send), 10)
    return sent


def body(sent: Messages) -> str:
    return b"".join(message.get("body", b"") for message in sent).decode()
