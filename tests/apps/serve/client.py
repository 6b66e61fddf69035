"""A client of a playground that is loaded."""

from concurrent.futures import Future

from fastapi import FastAPI
from starlette.testclient import TestClient

from ngs.apps.serve.app import endpoints
from ngs.apps.serve.front import front
from ngs.apps.serve.guard import local
from ngs.apps.serve.playground import Playground


def connected(playground: Playground) -> TestClient:
    loaded: Future[FastAPI] = Future()
    loaded.set_result(endpoints(playground))
    return TestClient(front(playground.visitors, local, loaded), base_url="http://localhost")
