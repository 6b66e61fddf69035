"""The page is there before the endpoints are, and what it asks meanwhile waits for them."""

import threading
from concurrent.futures import Future

from fastapi import FastAPI
from starlette.testclient import TestClient

from ngs.apps.serve.app import endpoints
from ngs.apps.serve.front import front
from ngs.apps.serve.guard import names_of
from ngs.apps.serve.playground import Playground
from ngs.tasks.playground.visitors import Visitors
from tests.apps.serve.client import drawing


def opened(loading: Future[FastAPI], visitors: Visitors) -> TestClient:
    app = front(visitors, names_of("localhost"), loading)
    return TestClient(app, base_url="http://localhost")


def test_the_page_comes_at_once_and_its_questions_wait() -> None:
    loading: Future[FastAPI] = Future()
    visitors = Visitors()
    with opened(loading, visitors) as client:
        assert client.get("/").status_code == client.get("/static/js/main.js").status_code == 200
        playground = Playground(visitors=visitors)
        threading.Timer(0.2, lambda: loading.set_result(endpoints(playground))).start()
        assert not loading.done()
        score = client.get("/api/score")
        assert loading.done() and score.status_code == 200
        assert "set-cookie" not in score.headers and len(visitors) == 1  # the visitor is the one of the page
        assert client.get("/api/nothing").json()["error"].startswith("there is no /api/nothing")


def test_what_could_not_be_loaded_is_said() -> None:
    loading: Future[FastAPI] = Future()
    with opened(loading, Visitors()) as client:
        threading.Timer(0.2, lambda: loading.set_exception(RuntimeError("torn"))).start()
        for _ in range(2):  # while it is loading, and later
            answer = client.get("/api/status")
            assert answer.status_code == 503 and "could not be loaded" in answer.json()["error"]
        assert client.get("/").status_code == 200


def test_a_training_ends_with_the_server(tmp_path) -> None:
    loading: Future[FastAPI] = Future()
    playground = Playground(runs_root=tmp_path)
    loading.set_result(endpoints(playground))
    stopped: list[bool] = []
    drawing(playground).training.stop = lambda: stopped.append(True)  # type: ignore[method-assign]
    with opened(loading, playground.visitors):
        assert not stopped
    assert stopped
