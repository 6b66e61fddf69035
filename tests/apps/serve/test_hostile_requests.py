"""Malformed, oversized and hostile requests, made up from the application's own description of itself.

Whatever is sent, the answer is 2xx or 4xx, a refusal says why as JSON, and it comes in time. The seed is in
the name of each test; another one is tried with NGS_FUZZ_SEED=8.
"""

import faulthandler
import json
import os
import shutil
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from ngs.apps.serve.app import endpoints
from ngs.apps.serve.playground import Playground
from ngs.tasks.hwf.playground.drawing_api import MOST_STEPS
from ngs.tasks.playground.limits import Limits
from ngs.tasks.playground.visitors import Visitors
from ngs.tasks.run_folder import CONFIG
from tests.apps.serve.client import asking, drawing
from tests.apps.serve.client import connected as client_of
from tests.apps.serve.made_runs import write_run
from tests.tasks.clevr.readers import random_reader

SEED = int(os.environ.get("NGS_FUZZ_SEED", "7"))
EXAMPLES = 60
"""Requests of each kind to each endpoint."""
SECONDS = 20.0
"""After which a request hangs, which ends the tests."""

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW")
JUNK: list[Any] = [
    *(None, True, 0, -1, 0.5, 2**63, -(10**400), 1e308, -1e308, float("nan"), float("inf")),
    *("", " ", "\x00", "\ud800", "x" * 1000, "𝟙𝟚", "7/0", "1e999"),
    *("../../etc/passwd", "<script>", "' OR 1=1"),
    *([], {}, [[]], [{}], {"": ""}, {"\ud800": 1}, {"__proto__": {}}, [[[0, 0]]] * 300),
]
BROKEN = [
    *(b"", b"{", b"nul", b"{]", b'{"a": 1,}', b"\xff\xfe", b"\x00", b'"' + b"a" * 1000, b"{}{}", b"NaN"),
    *(b"[" * 100_000, b'{"strokes": ' + b"[" * 50_000, b'{"a":' * 20_000, b"9" * 10_000, b"1e" + b"9" * 400),
    b'{"strokes":[[' + b"0," * 110_000 + b'0]],"width":600,"height":200}',
    *(b"x" * (Limits.body_bytes + 1), b"[" + b"0," * (Limits.body_bytes // 2) + b"0]"),
]
FORM = "application/x-www-form-urlencoded"
TYPES = ["application/json", "text/plain", FORM, "multipart/form-data", "\xff", ""]
NAMES = [
    *("..", ".", "%", "%2e%2e", "../../etc/passwd", "..\\..\\etc", "/etc/passwd", "a\x00b", "\n", "-1"),
    *("1e3", "12", "9" * 500, "NaN", "x" * 81, "x" * 5000, "über", "\U0001f600"),
]
WRITTEN = ["%00", "one%00", "one%0a", "%ff%fe", "C:%5Cwindows", "..%2fone", "d%C3%A9mo", "~", "*"]
"""Names as they stand in an address."""


@pytest.fixture(scope="module")
def playground(tmp_path_factory) -> Playground:
    root = tmp_path_factory.mktemp("playground")
    run = write_run(root / "runs" / "one")
    (root / "secret.json").write_text("a secret")
    for folder in (root, root / "runs"):
        shutil.copy(run / CONFIG, folder)  # which makes a run of neither
    made = asking(
        random_reader(0),
        runs_root=root / "runs",
        results=root / "results",
        visitors=Visitors(Limits(visitors=20)),
    )
    drawing(made).load(run)
    return made


@pytest.fixture(scope="module")
def client(playground) -> Iterator[TestClient]:
    # An error in a handler is raised here, with its traceback.
    with client_of(playground) as client:
        yield client


def described() -> dict[str, Any]:
    return endpoints(Playground()).openapi()


DESCRIBED = described()
ENDPOINTS = [(method.upper(), path) for path, ways in DESCRIBED["paths"].items() for method in ways]
WITH_BODY = [
    (method, path) for method, path in ENDPOINTS if "requestBody" in DESCRIBED["paths"][path][method.lower()]
]
fuzzed = settings(max_examples=EXAMPLES, database=None, deadline=None)


def ids(endpoint: tuple[str, str]) -> str:
    return f"{' '.join(endpoint)} seed {SEED}"


def test_the_description_has_what_there_is() -> None:
    assert len(ENDPOINTS) >= 16 and len(WITH_BODY) >= 5
    assert ("POST", "/api/read") in WITH_BODY and ("GET", "/api/status") in ENDPOINTS
    for method, path in ENDPOINTS:
        assert DESCRIBED["paths"][path][method.lower()]["summary"], path
    fields = [
        (name, field, facts)
        for name, schema in DESCRIBED["components"]["schemas"].items()
        for field, facts in schema.get("properties", {}).items()
        if name not in ("HTTPValidationError", "ValidationError")
    ]
    assert fields and not [(name, field) for name, field, facts in fields if not facts.get("description")]
    schemas = DESCRIBED["components"]["schemas"]
    assert all(schemas[name]["additionalProperties"] is False for name in ("Drawing", "Question", "Lesson"))
    assert schemas["Lesson"]["properties"]["steps"]["maximum"] == MOST_STEPS


@pytest.mark.parametrize("endpoint", WITH_BODY, ids=ids)
@seed(SEED)
@fuzzed
@given(data=st.data())
def test_bodies_that_are_nearly_as_described(client, endpoint, data) -> None:
    method, path = endpoint
    content = DESCRIBED["paths"][path][method.lower()]["requestBody"]["content"]
    body = data.draw(like(content["application/json"]["schema"]))
    sent = json.dumps(body).encode()
    answer(client, method, path, content=sent, headers={"content-type": "application/json"})


@pytest.mark.parametrize("endpoint", WITH_BODY, ids=ids)
@pytest.mark.parametrize("kind", TYPES)
def test_bodies_that_are_broken(client, endpoint, kind) -> None:
    method, path = endpoint
    for body in BROKEN:
        status = answer(client, method, path, content=body, headers={"content-type": kind.encode("latin-1")})
        assert 400 <= status < 500, (body[:40], status)


@pytest.mark.parametrize("endpoint", [each for each in ENDPOINTS if "{" in each[1]], ids=ids)
def test_names_that_lead_elsewhere(client, endpoint) -> None:
    """Nothing is there under any of them; `.` and `..` are taken out of an address before it is sent."""
    method, path = endpoint
    before, after = path.split("{")[0], path.split("}")[-1]
    every = {each for name in NAMES for each in (quote(name, safe=""), quote(quote(name, safe=""), safe=""))}
    for written in every | set(map(quote, NAMES)) | set(WRITTEN):
        status = answer(client, method, before + written + after)
        assert status >= 400 or written in (".", ".."), written


FORBIDDEN = [
    *("/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static//etc/passwd"),
    *("/static/%00", "/static/" + "x" * 5000, "//etc/passwd", "/docs", "/redoc", "/nowhere"),
    *("/api/runs/..%2f..%2fsecret.json", "/api/runs/one/report/../../../secret.json"),
]


@pytest.mark.parametrize("path", FORBIDDEN)
def test_files_that_are_not_for_everyone(client, path) -> None:
    assert answer(client, "GET", path) == 404


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=ids)
def test_methods_and_queries_that_nobody_expects(client, endpoint) -> None:
    path = endpoint[1].replace("{id}", "one")
    for method in METHODS:
        answer(client, method, path)
    for query in ("after=-1", "after=" + "9" * 500, "after=NaN", "x=%00", "=&&==", "%ff", "id[]=1"):
        answer(
            client,
            "GET",
            f"{path}?{query}",
            headers={"last-event-id": "9" * 500, "cookie": "ngs_visitor=;=,"},
        )


def answer(client: TestClient, method: str, path: str, **given: Any) -> int:
    """The status, after it was looked at what every answer must be."""
    shown = f"{method} {path[:100]} {str(given.get('content', ''))[:300]} (seed {SEED})"
    faulthandler.dump_traceback_later(SECONDS, exit=True)  # nothing else would end a request that hangs
    response = client.request(method, path, **given)
    faulthandler.cancel_dump_traceback_later()
    assert 200 <= response.status_code < 500, shown
    assert "content-security-policy" in response.headers, shown
    if response.status_code >= 400 and method != "HEAD":
        assert response.headers["content-type"] == "application/json", shown
        assert set(response.json()) == {"error"} and len(response.json()["error"]) > 10, shown
    assert "a secret" not in response.text
    return response.status_code


def like(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of a schema, of which here and there a part is anything else."""
    return st.integers(0, 39).flatmap(lambda k: st.sampled_from(JUNK) if k == 39 else proper(schema))


def proper(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    if "$ref" in schema:
        return proper(DESCRIBED["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "object":
            known = {name: like(part) for name, part in schema.get("properties", {}).items()}
            others = st.dictionaries(st.text(max_size=5), st.sampled_from(JUNK), max_size=1)
            return st.tuples(st.fixed_dictionaries(known), st.one_of(st.just({}), st.just({}), others)).map(
                lambda both: {**both[0], **both[1]}
            )
        case "array":
            return st.lists(
                like(schema["items"]),
                min_size=schema.get("minItems", 0),
                max_size=min(schema.get("maxItems", 6), 6),
            )
        case "integer":
            return st.integers(schema.get("minimum", -5), min(schema.get("maximum", 50), 50))
        case "number":
            return st.floats(schema.get("minimum", -1e3), schema.get("maximum", 1e3))
        case "string":
            words = st.sampled_from(["12", "-3", "7/3", "yes", "red", "How many cubes are there?"])
            return st.one_of(words, *map(st.just, schema.get("examples", [])), st.text(max_size=40))
    return st.sampled_from(JUNK)
