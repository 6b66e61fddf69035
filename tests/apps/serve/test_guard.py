"""What the guard lets through, and what it refuses: hosts, origins, bodies too large or too slow."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.testclient import TestClient

from ngs.apps.serve.guard import LONGEST_MESSAGE, Guard, names_of, refusal
from ngs.tasks.playground.limits import Busy, Limits, Slots
from tests.apps.serve.client import Messages, heard

LIMITS = Limits(body_bytes=100, body_seconds=0.2)


async def echo(scope: Any, receive: Any, send: Any) -> None:
    body = await Request(scope, receive).body()
    await JSONResponse({"bytes": len(body)}, headers={"Cache-Control": "no-store"})(scope, receive, send)


LOCAL = names_of("localhost")
GUARDED = Guard(echo, LIMITS, LOCAL)


def client(host: str = "localhost:8000") -> TestClient:
    return TestClient(GUARDED, base_url=f"http://{host}")


OURS = ["localhost:8000", "127.0.0.1:1", "LOCALHOST", "[::1]:8000"]
OTHERS = ["evil.example", "evil.example:8000", "", "localhost.evil.example", "[", "a@b"]


@pytest.mark.parametrize("host", OURS + OTHERS)
def test_only_our_own_names_are_answered(host) -> None:
    response = client().get("/", headers={"host": host})
    assert response.status_code == (200 if host in OURS else 400)
    assert host in OURS or "--name" in response.json()["error"]


def test_a_server_goes_by_its_addresses_and_given_names() -> None:
    names = names_of("0.0.0.0", ["Demo.Example"])  # for everyone
    assert all(map(names, ["192.168.0.7", "::1", "demo.example", "localhost"]))
    assert not names("evil.example") and not names("")
    names = names_of("192.168.0.7")
    assert names("192.168.0.7") and names("localhost") and not names("192.168.0.8")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:9", "http://[", ""])
def test_other_pages_may_not_post(origin) -> None:
    response = client().post("/", content=b"1", headers={"origin": origin})
    assert response.status_code == 403 and "only pages of localhost:8000" in response.json()["error"]


def test_our_page_may_post_and_so_may_programs() -> None:
    assert client().post("/", content=b"1", headers={"origin": "http://localhost:8000"}).json() == {
        "bytes": 1
    }
    assert client().post("/", content=b"1").json() == {"bytes": 1}
    assert client().get("/", headers={"origin": "http://evil.example"}).status_code == 200


def test_a_body_is_read_up_to_its_limit() -> None:
    assert client().post("/", content=b"x" * 100).json() == {"bytes": 100}
    response = client().post("/", content=b"x" * 101)
    assert response.status_code == 413 and "at most 100 bytes" in response.json()["error"]
    assert response.headers["connection"] == "close"


@pytest.mark.parametrize("length", ["101", "9" * 40, "-1", "1e3", "²"])
def test_a_length_is_believed_when_it_is_bad(length) -> None:
    sent = asked([{"type": "http.request", "body": b"x"}], [(b"content-length", length.encode())])
    assert sent[0]["status"] == 413


def test_a_body_without_a_length_is_counted_as_it_comes() -> None:
    endless = [{"type": "http.request", "body": b"x" * 30, "more_body": True}] * 50
    messages = list(endless)
    sent = asked(messages)
    assert sent[0]["status"] == 413
    assert len(messages) == len(endless) - 4, "it went on reading"


def test_a_body_in_pieces_arrives_whole() -> None:
    piece = {"type": "http.request", "body": b"x" * 30, "more_body": True}
    sent = asked([piece, piece, {"type": "http.request", "body": b"x"}])
    assert json.loads(sent[1]["body"]) == {"bytes": 61}


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    sent = asked([{"type": "http.request", "body": b"x", "more_body": True}])
    assert sent[0]["status"] == 408 and "0.2 s" in json.loads(sent[1]["body"])["error"]


def test_more_posts_than_can_wait_are_sent_away_and_the_others_served() -> None:
    release = asyncio.Event()
    statuses: list[int] = []

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await release.wait()
        await JSONResponse({})(scope, receive, send)

    guard = Guard(slow, Limits(posts=2), LOCAL)

    async def ask(method: str) -> None:
        start, _ = await heard(guard, [{"type": "http.request"}], method=method)
        statuses.append(start["status"])
        assert start["status"] == 200 or (b"retry-after", b"1") in start["headers"]

    async def ask_all() -> None:
        asking = [asyncio.ensure_future(ask(method)) for method in ("POST", "POST", "POST", "GET")]
        await asyncio.sleep(0.01)
        assert statuses == [503]
        release.set()
        await asyncio.gather(*asking)
        await ask("POST")

    asyncio.run(ask_all())
    assert statuses == [503, 200, 200, 200, 200]


def test_who_has_gone_gets_no_answer() -> None:
    assert asked([{"type": "http.disconnect"}]) == []


def test_every_answer_has_strict_headers_and_may_have_its_own() -> None:
    for response in (client().get("/"), client("evil.example").get("/")):
        policy = response.headers["content-security-policy"]
        assert policy.startswith("default-src 'self'; img-src 'self' data:; style-src 'self'")
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in response.headers
    assert client().get("/").headers["cache-control"] == "no-store"


def test_a_message_can_be_sent_whatever_it_quotes() -> None:
    response: Response = refusal(422, "\ud800" + "x" * 10_000)
    text = json.loads(response.body)["error"]
    assert text.startswith("\\ud800xx") and len(text) == LONGEST_MESSAGE


def test_slots_are_for_so_many_and_are_given_back() -> None:
    slots = Slots(2, 0.01)
    with slots, slots, pytest.raises(Busy, match="2 others"), slots:
        pass
    with pytest.raises(KeyError), slots:
        raise KeyError
    with slots, slots:
        pass


def asked(messages: Messages, headers: Iterable[tuple[bytes, bytes]] = ()) -> Messages:
    """What the guard sends to one who sends these messages, and then nothing."""
    return asyncio.run(heard(GUARDED, messages, headers))
