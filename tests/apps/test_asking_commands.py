"""`ngs ask`, and `ngs explain` with a question, run as a user runs them."""

import gzip
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from ngs.grammar.constraint import AnyOrder
from ngs.tasks.clevr import asking_commands, packed
from ngs.tasks.clevr.embedded import embedded, embedded_scenes
from ngs.tasks.clevr.program import MODULES
from ngs.tasks.clevr.program_text import description
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf.settings import TrainHWF
from tests.apps.commands import done, misused, ngs, refused
from tests.experiments.training import as_facts, finished
from tests.tasks.clevr.official_files import scene, thing
from tests.tasks.clevr.readers import random_reader, some_questions

BIG_SPHERE = thing("large", "blue", "metal", "sphere", 0.0)
RED_CUBE = thing("small", "red", "rubber", "cube", 1.0)
CUBES = "How many cubes are there?"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A few steps of training, which teach next to nothing."""
    folder = tmp_path_factory.mktemp("asking")
    packed.write(folder / "few.ngs", some_questions())
    config = TrainCLEVR(
        data=str(folder / "few.ngs"), method="supervised", steps=2, batch_size=8, validate_every=2
    )
    finished(config, folder / "run")
    return folder / "run"


def written(name: str, value: Any) -> str:
    text = json.dumps(value)
    if name.endswith(".gz"):
        Path(name).write_bytes(gzip.compress(text.encode()))
    else:
        Path(name).write_text(text)
    return name


# ask


def test_a_question_about_a_scene_file_is_answered(run) -> None:
    path = written("scene.json", scene(0, RED_CUBE, BIG_SPHERE, RED_CUBE))
    result = done("ask", run, "--scene", path, CUBES)
    assert result.stdout.startswith(
        "scene.json:\n"
        "  small red rubber cube\n"
        "  large blue metal sphere\n"
        "  small red rubber cube\n\n"
        "answer: 2\n\n"
        "program (100.0%)\n"
        "count              = 2\n"
        "filter_shape[cube] = 2 objects: small red rubber cube, small red rubber cube\n"
        "scene              = all 3 objects\n"
    )


@pytest.mark.parametrize("name", ["scenes.json", "scenes.json.gz"])
def test_a_scene_of_many_is_chosen_by_its_number(name, run) -> None:
    scenes = [scene(7, RED_CUBE), scene(9, RED_CUBE, RED_CUBE)]
    for value in (scenes, {"info": {}, "scenes": scenes}):
        path = written(name, value)
        for number, answer in ((7, "1"), (9, "2")):
            result = done("ask", run, CUBES, "--scene", path, "--image-index", str(number))
            assert f"\nanswer: {answer}\n" in result.stdout
    assert f"{name} holds 2 scenes; say which" in refused("ask", run, CUBES, "--scene", path)


def test_without_a_scene_an_embedded_one_is_shown(run) -> None:
    result = done("ask", run, CUBES)
    things = embedded().scenes[1000].things
    assert "".join(f"\n  {description(each)}" for each in things) in result.stdout
    assert f"answer: {sum(each.shape == 'cube' for each in things)}\n" in result.stdout
    assert "--scene-number" in result.stdout
    assert ngs("ask", run, CUBES, "--scene-number", "3").stdout.startswith("scene 3 of the embedded data (")
    assert embedded_scenes(200) == embedded().scenes[1000:] and embedded_scenes(4) == embedded_scenes(200)[:4]


def test_several_programs_are_listed(run) -> None:
    path = written("scene.json", scene(0, RED_CUBE, BIG_SPHERE))
    question = "How many red cubes are left of the big sphere?"
    result = ngs("ask", run, question, "--scene", path, "--top", "50")
    listed = result.stdout.split("less likely programs\n")[1].splitlines()
    shares = [float(line.split("%")[0]) for line in listed]
    assert len(listed) == 7 and shares == sorted(shares, reverse=True)
    assert any(line.endswith("scene = 1") for line in (*listed, *result.stdout.splitlines()))


def test_json_has_everything(run) -> None:
    path = written("scene.json", scene(0, RED_CUBE, BIG_SPHERE))
    question = "What color is the big sphere?"
    found = json.loads(ngs("ask", run, question, "--scene", path, "--json").stdout)
    assert (found["answer"], found["question"], found["scene"]) == ("blue", question, path)
    assert found["objects"] == ["small red rubber cube", "large blue metal sphere"]
    assert {"module": "query_color", "phrase": "color"} in found["modules"]
    (program,) = found["programs"]
    assert program["probability"] == pytest.approx(1) and program["fault"] is None
    assert (program["steps"]["module"], program["steps"]["value"]) == ("query_color", "blue")
    (unique,) = program["steps"]["arguments"]
    assert (unique["module"], unique["value"]) == ("unique", 1)
    assert unique["arguments"][0]["value"] == [1]
    nothing = json.loads(ngs("ask", run, "What color is the big cube?", "--scene", path, "--json").stdout)
    assert nothing["answer"] is None and nothing["programs"][0]["steps"]["value"] is None
    assert nothing["programs"][0]["fault"] == "the scene has no large cube, which `unique` looks for"


def test_undefined_is_explained(run) -> None:
    path = written("scene.json", scene(0, RED_CUBE, BIG_SPHERE, RED_CUBE))
    nothing = done("ask", run, "What color is the big cylinder?", "--scene", path)
    assert "answer: undefined: the scene has no large cylinder, which `unique` looks for\n" in nothing.stdout
    several = ngs("ask", run, "What color is the cube?", "--scene", path)
    assert (
        "answer: undefined: 'cube' fits 2 objects: small red rubber cube, small red rubber cube; "
        "`unique` needs exactly one\n"
    ) in several.stdout
    assert "\nunique             = undefined\n" in several.stdout
    lenient = ngs("ask", run, "What color is the cube?", "--scene", path, "--lenient")
    assert "\nanswer: red\n" in lenient.stdout


def test_a_scene_without_objects_is_a_scene(run) -> None:
    path = written("scene.json", scene(0))
    assert ngs("ask", run, CUBES, "--scene", path).stdout.startswith("scene.json: no objects\n\nanswer: 0\n")
    result = ngs("ask", run, "What color is the cube?", "--scene", path, "--svg", "x.svg")
    assert "the scene has no cube" in result.stdout and ElementTree.parse("x.svg")


def test_the_program_is_drawn(run) -> None:
    path = written("scene.json", scene(0, RED_CUBE, BIG_SPHERE))
    result = ngs("ask", run, CUBES, "--scene", path, "--svg", "x.svg")
    assert result.stdout.endswith("\ndrawn in x.svg\n")
    texts = " ".join(ElementTree.parse("x.svg").getroot().itertext())
    assert CUBES in texts and "filter_shape[cube]" in texts and "answer: 1" in texts
    told = refused("ask", run, CUBES, "--scene", path, "--svg", "no/x.svg")
    assert told.startswith("ngs: no/x.svg cannot be written: ")


def test_words_that_training_lacked_are_named(run, monkeypatch) -> None:
    reader = random_reader(0)
    fewer = tuple("?" if word in ("tiny", "balls", "ball") else word for word in reader.vocabulary)
    monkeypatch.setattr(asking_commands, "load_reader", lambda folder: replace(reader, vocabulary=fewer))
    question = "how many tiny balls are right of the tiny ball"
    told = "\nnot seen in training: tiny, balls, ball; this may not be the program that is meant\n"
    for command in (("ask",), ("explain", "--answer", "0")):
        assert ngs(*command, run, question).stdout.endswith(told)
    assert json.loads(ngs("ask", run, question, "--json").stdout)["unseen"] == ["tiny", "balls", "ball"]


def test_only_what_training_could_do_is_tried(run, tmp_path) -> None:
    shutil.copytree(run, tmp_path / "switches")
    config = json.loads((run / "config.json").read_text())
    (tmp_path / "switches" / "config.json").write_text(json.dumps({**config, "moves": False}))
    question, answer = "how many small red cubes are left of the large sphere", ("--answer", "7")
    found = [
        int(re.findall(r"(\d+) +pop ", ngs("explain", each, question, *answer).stdout)[-1])
        for each in (run, tmp_path / "switches")
    ]
    assert found[0] > found[1] > 0


# What goes wrong


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("How many frobs are there?", "not in the dictionary: 'frobs' (word 3"),
        ("", "the question is empty"),
        ("What color is it?", "'it' stands for nothing"),
        ("How many red blue cubes are there?", "names 2 values of one attribute, color (red, blue)"),
        ("cube " * 500, "the question has 2,500 characters"),
    ],
)
@pytest.mark.parametrize("command", [("ask",), ("explain", "--answer", "3")], ids=["ask", "explain"])
def test_questions_that_are_not_understood_are_refused(command, question, told, run) -> None:
    assert told in refused(command[0], run, question, *command[1:])


def test_faulty_scenes_are_refused(run) -> None:
    Path("cut.json").write_text('{"objects": [')
    written("pink.json", scene(0, {**RED_CUBE, "color": "pink"}))
    written("empty.json", [])
    for command in (("ask",), ("explain", "--answer", "1")):
        for name in ("pink.json", "empty.json", "none.json", "cut.json", "."):
            assert refused(*command, run, CUBES, "--scene", name).startswith(f"ngs: {name}")
    assert "color is 'pink'; give one of gray, red" in refused("ask", run, CUBES, "--scene", "pink.json")


def test_options_that_contradict_each_other_are_refused(run) -> None:
    path = written("scene.json", scene(0, RED_CUBE))
    no_file = refused("ask", run, CUBES, "--image-index", "3")
    assert no_file == "ngs: --image-index is 3, and there is no file; give --scene as well\n"
    both = refused("ask", run, CUBES, "--scene", path, "--scene-number", "3")
    assert both == "ngs: --scene-number is 3 and --scene scene.json; give one of them\n"
    for odd in ((CUBES, "--scene-number", "200"), (), (CUBES, "--top", "0")):
        misused("ask", run, *odd)


def test_what_holds_no_run_is_refused(here) -> None:
    (here / "hwf").mkdir()
    (here / "hwf" / "config.json").write_text(json.dumps(as_facts(TrainHWF())))
    for folder, told in (("none", "none is no folder; give a run of"), ("hwf", "hwf was trained on hwf")):
        assert refused("ask", folder, CUBES).startswith(f"ngs: {told}")


def test_a_program_that_does_not_type_check_is_told(run, monkeypatch) -> None:
    readers = (random_reader(seed, AnyOrder(len(MODULES))) for seed in range(20))
    wrong = next(r for r in readers if r.read(CUBES).programs[0].program[0] == "scene")
    monkeypatch.setattr(asking_commands, "load_reader", lambda folder: wrong)
    assert "answer: undefined: the program does not type-check: " in done("ask", run, CUBES).stdout
    assert json.loads(ngs("ask", run, CUBES, "--json").stdout)["programs"][0]["steps"] is None


# explain


def test_a_right_answer_is_said_to_be_right(run) -> None:
    path = written("scene.json", scene(0, RED_CUBE, BIG_SPHERE))
    for answer in ("1", " 1 "):
        result = done("explain", run, "--scene", path, CUBES, "--answer", answer)
        assert "\n1, right as it stands\n" in result.stdout


def test_a_drawing_is_not_written_over_the_scene(run) -> None:
    path = written("scene.json", scene(0, RED_CUBE))
    content = Path(path).read_bytes()
    assert "scene.json would be written over" in refused(
        "explain", run, "--scene", path, CUBES, "--answer", "1", "--svg", path
    )
    assert Path(path).read_bytes() == content


def test_a_wrong_program_is_corrected_and_drawn(run, monkeypatch) -> None:
    path = written("scene.json", scene(0, RED_CUBE, BIG_SPHERE, RED_CUBE))
    question = "How many red cubes are left of the big sphere?"
    readers = (random_reader(seed) for seed in range(50))
    misread = ("filter_shape[sphere]", "filter_color[red]", "relate[left]")
    wrong = next(r for r in readers if r.read(question).programs[0].program[1:4] == misread)
    monkeypatch.setattr(asking_commands, "load_reader", lambda folder: wrong)
    result = done("explain", run, "--scene", path, question, "--answer", "1", "--svg", "why.svg")
    assert "\nundefined: " in result.stdout and "drawn in why.svg" in result.stdout
    assert "  ->  1: filter_shape[sphere] and filter_shape[cube] change places\n" in result.stdout
    texts = " ".join(ElementTree.parse("why.svg").getroot().itertext())
    assert "corrected" in texts and question in texts


def test_an_answer_is_one_of_the_known(run) -> None:
    result = refused("explain", run, CUBES, "--answer", "maybe")
    assert result.startswith("ngs: the answer is 'maybe'; give one of 0, 1, ")


def test_options_of_the_other_task_are_refused(run, here) -> None:
    assert "No such option: --strip" in misused("explain", run, CUBES, "--answer", "1", "--strip")
    (here / "hwf").mkdir()
    (here / "hwf" / "config.json").write_text(json.dumps(as_facts(TrainHWF())))
    Image.fromarray(np.zeros((45, 45), dtype=np.uint8)).save("x.png")
    for option in (("--scene", "x.json"), ("--scene-number", "0"), ("--lenient",)):
        assert f"No such option: {option[0]}" in misused("explain", "hwf", "x.png", "--answer", "1", *option)


def test_help_says_what_can_be_given(run) -> None:
    text = " ".join(ngs("ask", "--help").output.split())
    for word in ("How many red cubes are left of the big sphere?", "--scene", "--top", "--lenient", "--json"):
        assert word in text
    text = " ".join(ngs("explain", run, "--help").output.replace("│", "").split())
    for word in ("QUESTION", "--scene", "yes, 3, red"):
        assert word in text
