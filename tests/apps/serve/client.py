"""A client of a playground that is loaded."""

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
