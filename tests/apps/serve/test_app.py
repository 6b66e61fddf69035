"""The application as a whole: its page, its description, the form of all refusals, and how it is loaded."""

import threading
from concurrent.futures import Future
from dataclasses import fields
from pathlib import Path

import pytest
from fastapi import APIRouter, FastAPI
from starlette.testclient import TestClient

from ngs.apps.serve.app import endpoints
from ngs.apps.serve.front import STATIC, front
from ngs.apps.serve.guard import names_of
from ngs.apps.serve.playground import Playground
from ngs.tasks.finding import find
from ngs.tasks.playground.limits import Limits
from ngs.tasks.playground.view import Server, View
from ngs.tasks.playground.visitors import Visitors
from ngs.tasks.task import Task
from tests.apps.serve.client import connected as client_of
from tests.apps.serve.client import drawing
from tests.apps.serve.made_runs import DIGIT_SUMS, write_run

DRAWING = {"strokes": [[[20, 25], [65, 23], [40, 98]]], "width": 600, "height": 200}


@pytest.fixture
def playground(tmp_path) -> Playground:
    made = Playground(runs_root=tmp_path / "runs", visitors=Visitors(Limits(jobs=1, job_wait_seconds=0.05)))
    drawing(made).load(write_run(tmp_path / "runs" / "one"))
    return made


def test_who_opens_the_page_is_known_from_then_on(playground) -> None:
    client = client_of(playground)
    page = client.get("/")
    assert (
        page.headers["content-type"].startswith("text/html")
        and page.content == (STATIC / "index.html").read_bytes()
    )
    assert list(page.cookies) == ["ngs_visitor_80"]
    assert "set-cookie" not in client.get("/api/score").headers
    assert len(playground.visitors) == 1


def test_the_files_of_the_page_are_served_and_nothing_from_elsewhere(playground) -> None:
    client = client_of(playground)
    for file in STATIC.rglob("*"):
        if file.is_file():
            found = client.get(f"/static/{file.relative_to(STATIC)}")
            assert found.content == file.read_bytes()
            assert found.headers["cache-control"] == "no-cache"  # asked for again, so that updates are seen
    assert client.get("/docs").status_code == 404


def test_it_describes_itself(playground) -> None:
    described = client_of(playground).get("/api/openapi.json").json()
    assert described["info"]["title"] == "NGS playground" and "cookie" in described["info"]["description"]
    assert {"/api/status", "/api/read", "/api/ask", "/api/runs"} <= described["paths"].keys()


def test_mistakes_are_the_askers(playground) -> None:
    client = client_of(playground)
    for status, response, said in [
        (422, client.post("/api/read", json={**DRAWING, "strokes": []}), "nothing is drawn"),
        (422, client.post("/api/read", json={**DRAWING, "network": "best"}), "body.network"),
        (422, client.post("/api/read", content=b"{"), "not as needed"),
        (404, client.get("/api/nothing"), "there is no /api/nothing"),
        (405, client.put("/api/read"), "PUT is not for /api/read"),
        (404, client.get("/static/nothing.js"), "there is no /static/nothing.js"),
        (413, client.post("/api/read", content=b"x" * 256_001), "too large"),
    ]:
        assert response.status_code == status and said in response.json()["error"], response.text


def test_when_all_slots_are_taken_one_is_asked_to_try_again(playground) -> None:
    """While one learns, others wait to learn but not to read."""
    client, lesson = client_of(playground), {**DRAWING, "answer": "7", "steps": 1}
    for slots, path, sent in (
        (playground.server.jobs, "read", DRAWING),
        (playground.server.learners, "learn", lesson),
    ):
        with slots:
            refused = client.post(f"/api/{path}", json=sent)
            assert refused.status_code == 503 and refused.headers["retry-after"] == "1"
            assert "try again" in refused.json()["error"]
            assert path == "read" or client.post("/api/read", json=DRAWING).status_code == 200
        assert client.post(f"/api/{path}", json=sent).status_code == 200


def test_the_shared_networks_stay_as_they_are(playground) -> None:
    client = client_of(playground)
    networks = {name: shared.network for name, shared in drawing(playground).networks.items()}
    before = {
        name: {key: value.clone() for key, value in network.state_dict().items()}
        for name, network in networks.items()
    }
    for name in ("trained", "weak", "mine"):
        learned = client.post("/api/learn", json={**DRAWING, "network": name, "answer": "7", "steps": 2})
        assert learned.status_code == 200 and learned.json()["found"], learned.text
    for name, network in networks.items():
        assert all(value.equal(before[name][key]) for key, value in network.state_dict().items())
        assert not network.training and not any(value.grad is not None for value in network.parameters())


class Tea(View):
    tab, otherwise = "tea", "there is no tea"
    ready = True

    def load(self, run: Path) -> None: ...

    def router(self) -> APIRouter:
        router = APIRouter(prefix="/api/tea")
        router.get("", summary="Tea")(lambda: {"runs": str(self.server.runs_root)})
        return router


class TeaTask(Task):
    def playground(self, server: Server) -> Tea:
        return Tea(self, server)


def test_a_task_of_ones_own_may_have_a_view(tmp_path) -> None:
    plain = find(str(DIGIT_SUMS))
    shown = TeaTask(**{each.name: getattr(plain, each.name) for each in fields(plain)})
    for task, views in ((plain, set()), (shown, {"tea"})):
        client = client_of(Playground(tmp_path, tasks=[task]))
        assert client.get("/api/status").json()["views"].keys() == {"draw", "ask"} | views
        assert (client.get("/api/tea").status_code == 200) == bool(views)
    assert client.get("/api/tea").json() == {"runs": str(tmp_path)}


# While it is loading


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
