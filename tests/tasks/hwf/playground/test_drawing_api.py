"""Drawings over HTTP: read, corrected, learned from, and refused."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from fastapi.testclient import TestClient

from ngs.apps.serve.playground import Playground
from ngs.tasks.hwf.playground import drawing_api
from ngs.tasks.hwf.playground.correcting import Corrected
from ngs.tasks.hwf.playground.drawing_api import EXAMPLE, Learned
from ngs.tasks.hwf.playground.networks import Shared
from ngs.tasks.hwf.playground.reading import Reading
from tests.apps.serve.client import connected as client_of
from tests.apps.serve.client import drawing as reading
from tests.tasks.hwf.playground.drawings import BY_HAND, Strokes, strokes_of, trained

NOTHING = {"drawn": 0, "right_before": 0, "right_now": 0}


def playground(**networks: torch.nn.Module) -> Playground:
    made = Playground()
    reading(made).networks.update({name: Shared(network, 1.0) for name, network in networks.items()})
    return made


@pytest.fixture
def client() -> TestClient:
    return client_of(playground(trained=trained(), weak=trained(20)))


def drawing(strokes: Strokes, **more: Any) -> dict[str, Any]:
    return {"strokes": strokes, "width": 600, "height": 200, **more}


def test_read(client) -> None:
    answer = client.post("/api/read", json=drawing(BY_HAND["3*4"]))
    assert answer.status_code == 200, answer.text
    reading = Reading.model_validate(answer.json())
    assert (reading.formula, reading.value, len(reading.symbols)) == ("3*4", "12", 3)
    assert reading.tree.children[1].label == "4"
    assert client.post("/api/read", json=drawing(EXAMPLE)).json()["formula"] == "7+1"  # of the description


def test_the_named_network_reads(client) -> None:
    read = {
        name: client.post("/api/read", json=drawing(BY_HAND["3*4"], network=name)).json()["symbols"]
        for name in ("trained", "weak", "mine")
    }
    assert read["mine"] == read["trained"] != read["weak"]


def test_what_is_no_formula_is_no_error(client) -> None:
    answer = client.post("/api/read", json=drawing(strokes_of("34")))
    assert answer.status_code == 200
    assert answer.json()["formula"] is None and "odd" in answer.json()["message"]


def test_correct(client) -> None:
    answer = client.post("/api/correct", json=drawing(BY_HAND["3*4"], answer="7"))
    assert answer.status_code == 200, answer.text
    found = Corrected.model_validate(answer.json())
    assert (found.corrected, found.target, found.right, found.position) == ("3+4", "7", False, 1)
    assert found.steps[-1].kind == "accept" and found.exact
    assert sum(each.probability for each in found.posterior) <= 1 + 1e-9
    assert [each.corrected for each in found.posterior].count(True) == 1


def test_learn_score_and_reset(client) -> None:
    strokes = BY_HAND["3*4"]
    assert client.get("/api/score").json() == {"score": NOTHING}
    answer = client.post("/api/learn", json=drawing(strokes, answer="7", steps=8))
    assert answer.status_code == 200, answer.text
    found = Learned.model_validate(answer.json())
    assert found.found and len(found.probabilities) == len(found.losses) == 8
    assert found.probabilities[-1][1] > found.probabilities[0][0]
    assert found.before.formula == "3*4" and found.before != found.after
    assert found.score.model_dump() == {**NOTHING, "drawn": 1, "right_now": int(found.after.value == "7")}

    def read(name: str) -> Any:
        return client.post("/api/read", json=drawing(strokes, network=name)).json()

    assert read("mine") == found.after.model_dump(mode="json")
    assert read("trained") == found.before.model_dump(mode="json")
    again = client.post("/api/learn", json=drawing(strokes, answer="7", steps=1, network="mine")).json()
    assert again["score"]["drawn"] == 1  # the same drawing counts once
    assert again["before"] == found.after.model_dump(mode="json")
    other = client.post("/api/learn", json=drawing(BY_HAND["7+1"], answer="8", steps=1)).json()
    assert other["score"]["drawn"] == 2 and other["score"]["right_before"] == 1
    assert client.post("/api/reset").json() == {"score": NOTHING} == client.get("/api/score").json()
    assert read("mine") == read("trained")


def test_visitors_learn_apart() -> None:
    played = playground(trained=trained())
    one, other = client_of(played), client_of(played)
    one.post("/api/learn", json=drawing(BY_HAND["3*4"], answer="7", steps=2))
    assert one.get("/api/score").json()["score"]["drawn"] == 1
    assert other.get("/api/score").json()["score"]["drawn"] == 0
    mine = [
        each.post("/api/read", json=drawing(BY_HAND["3*4"], network="mine")).json() for each in (one, other)
    ]
    assert mine[0] != mine[1]


def test_an_unreachable_answer_teaches_nothing(client) -> None:
    found = client.post("/api/learn", json=drawing(BY_HAND["3*4"], answer="1000")).json()
    assert not found["found"] and found["probabilities"] == [] and found["before"] == found["after"]
    assert found["score"] == NOTHING


def test_learning_ends_in_time(client, monkeypatch) -> None:
    monkeypatch.setattr(drawing_api, "LEARN_SECONDS", 0.0)
    found = client.post("/api/learn", json=drawing(BY_HAND["3*4"], answer="7", steps=50)).json()
    assert len(found["losses"]) == 1


def test_a_visitor_learns_one_thing_at_a_time() -> None:
    played = playground(trained=trained())
    client = client_of(played)
    client.get("/api/score")
    visitor = played.visitors.visitor(client.cookies["ngs_visitor_80"])
    with visitor.lock:
        refused = client.post("/api/learn", json=drawing(BY_HAND["3*4"], answer="7"))
        assert refused.status_code == 409 and "wait" in refused.json()["error"]
        assert client.post("/api/reset").status_code == 409
    assert client.post("/api/reset").status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "why"),
    [
        ("read", drawing([]), "nothing is drawn"),
        ("read", drawing([[]]), "at least 1"),
        ("read", drawing([[[5, 5]]]), "write larger"),
        ("read", drawing([[[5, 5, 5]]]), "at most 2"),
        ("read", drawing([[[1e9, 5]]]), "less than or equal"),
        ("read", drawing([[["nan", 5]]]), "finite"),
        ("read", drawing([[[k % 600, 5] for k in range(20_001)]]), "20,001 points"),
        ("read", drawing([[[5, 5]]] * 201), "at most 200"),
        ("read", drawing(EXAMPLE, colour="red"), "colour"),
        ("read", drawing(EXAMPLE, network="best"), "network"),
        ("read", {**drawing(EXAMPLE), "width": 5000}, "width"),
        ("correct", drawing(EXAMPLE), "answer"),
        ("correct", drawing(EXAMPLE, answer="many"), "7/3"),
        ("correct", drawing(EXAMPLE, answer="1/0"), "7/3"),
        ("correct", drawing(EXAMPLE, answer="1" * 33), "32"),
        ("learn", drawing(EXAMPLE, answer="8", steps=0), "steps"),
        ("learn", drawing(EXAMPLE, answer="8", steps=51), "steps"),
        ("learn", drawing(strokes_of("34"), answer="8"), "2 symbols"),
    ],
)
def test_refusals(path, body, why, client) -> None:
    answer = client.post(f"/api/{path}", json=body)
    assert answer.status_code == 422
    assert list(answer.json()) == ["error"] and why in answer.json()["error"]


@pytest.mark.parametrize("path", ["read", "correct", "learn"])
def test_without_a_network(path) -> None:
    body = drawing(EXAMPLE) if path == "read" else drawing(EXAMPLE, answer="8")
    answer = client_of(playground()).post(f"/api/{path}", json=body)
    assert answer.status_code == 422 and "there is no trained network yet" in answer.json()["error"]


def test_many_visitors_at_once_are_each_answered_as_if_alone() -> None:
    """Two dozen drawings of eight visitors. How soon is for benchmarks/visitors.py to say."""
    played = playground(trained=trained())
    clients = [client_of(played) for _ in range(8)]
    drawings = [drawing(strokes_of(f"{k % 10}+{(7 * k) % 10}", seed=k)) for k in range(24)]

    def ask(k: int) -> Any:
        answer = clients[k % 8].post("/api/read", json=drawings[k])
        assert answer.status_code == 200, answer.text
        return answer.json()

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(ask, range(24)))
    assert together == [ask(k) for k in range(24)]
    assert len({reading["formula"] for reading in together}) > 6
