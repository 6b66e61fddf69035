"""Questions over HTTP: scenes to ask about, answers with their programs, corrections, and refusals."""

from collections.abc import Iterator
from functools import cache
from io import BytesIO
from typing import Any
from xml.etree import ElementTree

import pytest
from fastapi.testclient import TestClient
from PIL import Image

from ngs.grammar.constraint import AnyOrder
from ngs.tasks.clevr.embedded import embedded_scenes
from ngs.tasks.clevr.execution import execute, spoken
from ngs.tasks.clevr.playground.asked_scenes import SCENES, asked_scenes, misread
from ngs.tasks.clevr.program import MODULES, kind_of
from ngs.tasks.clevr.program_text import description
from ngs.tasks.clevr.reading import QuestionReader, understand
from ngs.tasks.clevr.scenes import ANSWERS
from tests.apps.serve.client import asking, connected
from tests.tasks.clevr.readers import random_reader

CUBES = "How many cubes are there?"


def client_of(reader: QuestionReader | None) -> TestClient:
    return connected(asking(reader))


@pytest.fixture(scope="module")
def client() -> TestClient:
    return client_of(random_reader(0))


@cache
def wrong_reader() -> tuple[QuestionReader, int, str, str]:
    """A reader, and a scene, question and true answer that one step of back-search sets right for it."""
    for seed in range(50):
        reader = random_reader(seed)
        for number, asked in enumerate(asked_scenes()):
            example = misread(asked, reader)
            if example is not None:
                given = {"scene": number, "question": example.question, "answer": example.answer}
                if client_of(reader).post("/api/ask/correct", json=given).json()["corrected"]:
                    return reader, number, example.question, example.answer
    raise AssertionError("every reader is right, or cannot be corrected")


def steps(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for argument in node["arguments"]:
        yield from steps(argument)


def program(node: dict[str, Any]) -> list[str]:
    return [step["module"] for step in steps(node)]


# Scenes


def test_a_dozen_scenes_are_those_of_the_embedded_data(client) -> None:
    listed = client.get("/api/scenes").json()
    assert [each["id"] for each in listed] == list(range(SCENES))
    assert [each["objects"] for each in listed] == [len(asked.scene.things) for asked in asked_scenes()]
    assert [asked_scenes()[k].scene for k in (0, 7)] == list(embedded_scenes(8)[::7])


@pytest.mark.parametrize("id", range(SCENES))
def test_a_scene_has_objects_and_examples(id, client) -> None:
    scene = client.get(f"/api/scenes/{id}").json()
    things = asked_scenes()[id].scene.things
    assert [each["number"] for each in scene["objects"]] == list(range(len(things)))
    assert [each["color"] for each in scene["objects"]] == [thing.color for thing in things]
    assert 3 <= len(scene["examples"]) <= 6 and len(set(scene["examples"])) == len(scene["examples"])
    assert len(scene["answers"]) == len(scene["examples"]) and set(scene["answers"]) <= set(ANSWERS)


def test_a_scene_from_above_has_a_group_for_each_object(client) -> None:
    scene, things = client.get("/api/scenes/1").json(), asked_scenes()[1].scene.things
    groups = ElementTree.fromstring(scene["above"]).findall("g")
    assert [group.findtext("title") for group in groups] == [
        f"{k}: {description(thing)}" for k, thing in enumerate(things, 1)
    ]


def test_the_picture_is_small_and_always_the_same(client) -> None:
    answer = client.get("/api/scenes/1/picture")
    assert answer.headers["content-type"] == "image/png" and answer.headers["cache-control"].startswith(
        "private"
    )
    image = Image.open(BytesIO(answer.content))
    assert image.size == (480, 320) and image.mode == "RGB" and len(answer.content) < 500_000
    assert client.get("/api/scenes/1/picture").content == answer.content
    assert client.get("/api/scenes/2/picture").content != answer.content
    assert client.get(f"/api/scenes/{SCENES}/picture").status_code == 404
    assert client.get("/api/scenes/one/picture").status_code == 422


def test_boxes_are_around_the_middles_of_objects(client) -> None:
    boxes, things = client.get("/api/scenes/1/boxes").json(), asked_scenes()[1].scene.things
    assert len(boxes) == len(things) and sum(box is not None for box in boxes) >= len(things) / 2
    for box, thing in zip(boxes, things, strict=True):
        if box is not None:  # a part of it may be hidden
            x, y = thing.pixel[0] / 480, thing.pixel[1] / 320
            assert abs(box["left"] + box["width"] / 2 - x) < 0.05, thing
            assert abs(box["top"] + box["height"] / 2 - y) < 0.1, thing
    assert client.get(f"/api/scenes/{SCENES}/boxes").status_code == 404


def test_examples_are_understood_and_their_answers_true() -> None:
    for asked in asked_scenes():
        kinds = [kind_of(example.program) for example in asked.examples]
        assert len(set(kinds)) == len(kinds)
        for example in asked.made_up:
            assert sorted(understand(example.question).modules) == sorted(example.program)
            assert spoken(execute(example.program, asked.scene)) == example.answer


def test_a_misread_question_is_offered_where_there_is_one() -> None:
    reader, number, question, answer = wrong_reader()
    scene = client_of(reader).get(f"/api/scenes/{number}").json()
    assert scene["misread"] == {"question": question, "answer": answer}
    asked = client_of(reader).post("/api/ask", json={"scene": number, "question": question}).json()
    assert asked["answer"] != answer
    assert client_of(None).get(f"/api/scenes/{number}").json()["misread"] is None


# Asking


def test_a_question_is_answered_with_its_program(client) -> None:
    asked = client.post("/api/ask", json={"scene": 0, "question": CUBES}).json()
    things = asked_scenes()[0].scene.things
    cubes = [k for k, thing in enumerate(things) if thing.shape == "cube"]
    assert (asked["answer"], asked["fault"]) == (str(len(cubes)), None)
    assert asked["probability"] == pytest.approx(1)
    count, filtered, scene = steps(asked["program"])
    assert [each["id"] for each in (count, filtered, scene)] == [0, 1, 2]
    assert (count["module"], count["value"], count["objects"]) == ("count", str(len(cubes)), None)
    assert (filtered["module"], filtered["objects"]) == ("filter_shape[cube]", cubes)
    assert (scene["module"], scene["objects"]) == ("scene", list(range(len(things))))
    assert {"phrase": "cubes", "module": "filter_shape[cube]"} in asked["understood"]
    assert asked["unseen"] == [] and asked["alternatives"] == []


@pytest.mark.parametrize("seed", range(3))
def test_the_tree_says_what_the_program_gives(seed) -> None:
    client = client_of(random_reader(seed))
    for number, asked in enumerate(asked_scenes()[:4]):
        for example in asked.examples:
            found = client.post("/api/ask", json={"scene": number, "question": example.question}).json()
            value = spoken(execute(program(found["program"]), asked.scene))
            assert found["answer"] == (value if isinstance(value, str) else None), example
            assert (found["fault"] is None) == isinstance(value, str)
            assert [each["id"] for each in steps(found["program"])] == list(range(len(example.program)))
            chances = [each["probability"] for each in found["alternatives"]]
            assert chances == sorted(chances, reverse=True) and len(chances) <= 5
            lines = [each["program"] for each in found["alternatives"]]
            assert " ".join(program(found["program"])) not in lines


def test_undefined_is_explained(client) -> None:
    colors = {thing.color for thing in asked_scenes()[0].scene.things}
    missing = next(color for color in ("gray", "yellow", "blue", "red") if color not in colors)
    question = f"What size is the {missing} thing?"
    asked = client.post("/api/ask", json={"scene": 0, "question": question}).json()
    assert asked["answer"] is None and asked["program"]["value"] == "undefined"
    assert asked["fault"] == f"the scene has no {missing} object, which `unique` looks for"
    unique = asked["program"]["arguments"][0]
    assert unique["objects"] is None and unique["arguments"][0]["objects"] == []


def test_a_program_that_does_not_type_check_is_told() -> None:
    readers = (random_reader(seed, AnyOrder(len(MODULES))) for seed in range(20))
    wrong = next(r for r in readers if r.read(CUBES).programs[0].program[0] == "scene")
    client = client_of(wrong)
    asked = client.post("/api/ask", json={"scene": 0, "question": CUBES}).json()
    assert asked["program"] is None and asked["fault"].startswith("the program does not type-check: ")
    given = {"scene": 0, "question": CUBES, "answer": "3"}
    corrected = client.post("/api/ask/correct", json=given).json()
    assert corrected["right"] is False and corrected["program"] is None


# Correcting


def test_a_right_answer_is_right(client) -> None:
    cubes = sum(thing.shape == "cube" for thing in asked_scenes()[0].scene.things)
    given = {"scene": 0, "question": CUBES, "answer": f" {cubes} "}
    found = client.post("/api/ask/correct", json=given).json()
    assert found["right"] and found["corrected"] == found["program"] and found["neighbours"] == []
    assert found["change"] is None and found["exact"] and found["evidence"] == pytest.approx(1)
    (only,) = found["posterior"]
    assert only["corrected"] and only["probability"] == pytest.approx(1)


def test_a_wrong_program_is_corrected() -> None:
    reader, number, question, answer = wrong_reader()
    given = {"scene": number, "question": question, "answer": answer}
    found = client_of(reader).post("/api/ask/correct", json=given).json()
    scene = asked_scenes()[number].scene
    assert not found["right"] and found["answer"] != answer
    assert spoken(execute(program(found["corrected"]), scene)) == answer
    (chosen,) = [each for each in found["neighbours"] if each["chosen"]]
    assert chosen["program"].split() == program(found["corrected"])
    assert chosen["right"] and chosen["change"] == found["change"]
    assert all(each["right"] == (each["answer"] == answer) for each in found["neighbours"])
    assert len(found["neighbours"]) == min(10, found["neighbours_in_all"])
    chances = [each["probability"] for each in found["neighbours"]]
    assert chances == sorted(chances, reverse=True)
    assert sum(each["corrected"] for each in found["posterior"]) <= 1
    assert sum(each["probability"] for each in found["posterior"]) <= 1 + 1e-6
    for each in found["posterior"]:
        assert spoken(execute(each["program"].split(), scene)) == answer


def test_where_nothing_gives_the_answer_nothing_is_corrected(client) -> None:
    given = {"scene": 0, "question": CUBES, "answer": "red"}
    found = client.post("/api/ask/correct", json=given).json()
    assert not found["right"] and found["corrected"] is None and found["change"] is None
    assert found["posterior"] == [] and found["evidence"] == 0 and found["exact"]


# What goes wrong


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("How many frobs are there?", "not in the dictionary: 'frobs'"),
        ("   ", "the question is empty"),
        ("How many red blue cubes are there?", "names 2 values of one attribute, color (red, blue)"),
        ("\0\U0001f600", "the question is empty"),
        ("", "question"),
        ("cube " * 61, "question"),
    ],
)
def test_questions_that_are_not_understood_are_refused(question, told, client) -> None:
    for path, more in (("/api/ask", {}), ("/api/ask/correct", {"answer": "2"})):
        refused = client.post(path, json={"scene": 0, "question": question, **more})
        assert refused.status_code == 422 and told in refused.json()["error"], refused.text


@pytest.mark.parametrize(
    "given",
    [
        {},
        [],
        {"scene": 0},
        {"scene": -1, "question": CUBES},
        {"scene": SCENES, "question": CUBES},
        {"scene": 10**30, "question": CUBES},
        {"scene": "../0", "question": CUBES},
        {"scene": 0, "question": 7},
        {"scene": 0, "question": CUBES, "more": 1},
        {"scene": 0, "question": CUBES, "answer": "maybe"},
        {"scene": 0, "question": CUBES, "answer": "x" * 33},
    ],
    ids=repr,
)
def test_faulty_requests_are_refused(given, client) -> None:
    refused = client.post("/api/ask/correct", json=given)
    assert refused.status_code == 422 and refused.json()["error"]


def test_without_a_reader_it_says_how_to_train_one() -> None:
    client = client_of(None)
    assert len(client.get("/api/scenes").json()) == SCENES
    for path, more in (("/api/ask", {}), ("/api/ask/correct", {"answer": "2"})):
        refused = client.post(path, json={"scene": 0, "question": CUBES, **more})
        assert refused.status_code == 409 and "ngs train clevr" in refused.json()["error"]
