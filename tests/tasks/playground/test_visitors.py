"""Visitors are apart from each other, few, and forgotten in time."""

import threading

from fastapi import Depends, FastAPI
from starlette.testclient import TestClient

from ngs.tasks.playground.limits import Limits
from ngs.tasks.playground.visitors import Visitor, Visitors, current_visitor

LIMITS = Limits(visitors=3, visitor_seconds=60)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_visitor_comes_again() -> None:
    visitors = Visitors(LIMITS)
    first = visitors.visitor(None)
    assert visitors.visitor(first.id) is first
    assert visitors.visitor(None) is not first


def test_nobody_chooses_an_id() -> None:
    visitors = Visitors(LIMITS)
    ids = {visitors.visitor("me").id for _ in range(10)} | {visitors.visitor("").id}
    assert len(ids) == 11 and "me" not in ids and all(len(id) >= 20 for id in ids)


def test_a_visitor_is_forgotten_some_time_after_the_last_request() -> None:
    clock = Clock()
    visitors = Visitors(LIMITS, clock)
    busy, idle = visitors.visitor(None), visitors.visitor(None)
    clock.now = 59.0
    assert visitors.visitor(busy.id) is busy
    clock.now = 61.0
    assert visitors.visitor(busy.id) is busy
    assert len(visitors) == 1
    assert visitors.visitor(idle.id) is not idle


def test_of_too_many_those_go_first_who_have_nothing_to_lose() -> None:
    visitors = Visitors(LIMITS)
    drew, idle, later = (visitors.visitor(None) for _ in range(3))
    drew.kept[str] = "an example"
    newest = visitors.visitor(None)
    assert len(visitors) == 3
    assert visitors.visitor(drew.id) is drew and visitors.visitor(later.id) is later
    assert visitors.visitor(newest.id) is newest
    assert visitors.visitor(idle.id) is not idle


def test_of_too_many_who_all_drew_the_longest_idle_goes() -> None:
    visitors = Visitors(LIMITS)
    all_three = [visitors.visitor(None) for _ in range(3)]
    for each in all_three:
        each.kept[str] = "an example"
    visitors.visitor(all_three[0].id)
    visitors.visitor(None)
    assert visitors.visitor(all_three[0].id) is all_three[0]
    assert visitors.visitor(all_three[1].id) is not all_three[1]


def test_many_threads_at_once() -> None:
    visitors = Visitors(Limits(visitors=20))
    regular = visitors.visitor(None)
    regular.kept[str] = "an example"
    lost: list[Visitor] = []

    def come() -> None:
        for _ in range(200):
            visitors.visitor(None)
            if (found := visitors.visitor(regular.id)) is not regular:
                lost.append(found)

    threads = [threading.Thread(target=come) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not lost and len(visitors) == 20


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites() -> None:
    app = FastAPI()
    app.state.visitors = Visitors(LIMITS)

    @app.get("/who")
    def who(visitor: Visitor = Depends(current_visitor)) -> str:  # noqa: B008
        return visitor.id

    client = TestClient(app)
    first = client.get("/who")
    told = first.headers["set-cookie"]
    assert f"ngs_visitor_80={first.json()}" in told and "HttpOnly" in told and "SameSite=strict" in told
    again = client.get("/who")
    assert again.json() == first.json() and "set-cookie" not in again.headers
    assert TestClient(app).get("/who").json() != first.json()
    elsewhere = client.get("http://testserver:8001/who")  # another playground on the same host
    assert "ngs_visitor_8001=" in elsewhere.headers["set-cookie"]
    assert client.get("/who").json() == first.json()
