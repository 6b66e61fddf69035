"""The official files: what is sound is read without loss, what is not is named by file, index and field."""

import json
from pathlib import Path
from typing import Any

import pytest

from ngs.errors import DataError, ParseError
from ngs.tasks.clevr import official
from ngs.tasks.clevr.inspection import inspect
from ngs.tasks.clevr.official_program import as_program
from ngs.tasks.clevr.official_scene import as_scene, scene_to_official
from ngs.tasks.json_list import elements
from tests.tasks.clevr.official_files import (
    GONE,
    published,
    scene,
    sound_files,
    sound_question,
    sound_scene,
    spoiled,
    step,
    thing,
    written,
)
from tests.tasks.clevr.official_programs import to_official

# Programs

PROGRAM = ("count", "filter_color[red]", "relate[left]", "unique", "filter_shape[sphere]")
PROGRAM += ("filter_color[blue]", "filter_size[large]", "scene")


def test_a_program_is_read_in_prefix_notation() -> None:
    assert as_program(sound_question()["program"]) == PROGRAM
    assert to_official(PROGRAM) == sound_question()["program"]


def test_both_branches_of_a_comparison_are_read_in_order() -> None:
    steps = [step("scene"), step("count", 0), step("scene")]
    steps += [step("filter_color", 2, value="red"), step("count", 3), step("less_than", 1, 4)]
    assert as_program(steps) == ("less_than", "count", "scene", "count", "filter_color[red]", "scene")
    assert as_program([*steps[:5], step("less_than", 4, 1)])[:3] == (
        "less_than",
        "count",
        "filter_color[red]",
    )


def test_the_generators_own_spelling_is_read() -> None:
    steps = [
        {"type": "scene", "inputs": []},
        {"type": "filter_color", "inputs": [0], "side_inputs": ["red"]},
        {"type": "exist", "inputs": [1], "side_inputs": []},
    ]
    assert as_program(steps) == ("exist", "filter_color[red]", "scene")


def test_a_shared_scene_is_written_out_and_an_unused_one_left_out() -> None:
    steps = [step("scene"), step("scene"), step("filter_size", 1, value="small"), step("union", 1, 2)]
    steps += [step("filter_shape", 3, value="cube"), step("count", 4)]
    program = as_program(steps)
    assert program == ("count", "filter_shape[cube]", "union", "scene", "filter_size[small]", "scene")
    assert to_official(program) == steps


def test_every_published_program_comes_back_as_it_was() -> None:
    count = 0
    for part in ("train", "val"):
        for _, question in elements(published() / f"questions_{part}.json.gz", "questions"):
            program = as_program(question["program"])
            assert to_official(program) == question["program"]
            count += 1
    assert count == 28_000


BAD_PROGRAMS = [
    ("program", "count", "program is 'count'; a list of steps is needed"),
    ("program[3]", 5, "program[3] is 5; an object with function and inputs is needed"),
    ("program[3].function", GONE, "program[3].function is missing; give one of exist, "),
    ("program[3].function", "filter", "program[3].function is 'filter'; give one of"),
    ("program[3].function", ["scene"], "program[3].function is ['scene']; give one of"),
    ("program[3].inputs", GONE, "program[3].inputs is missing; list the steps that it uses"),
    ("program[3].inputs", 2, "program[3].inputs is 2; a list of numbers of steps is needed"),
    ("program[3].inputs", [True], "program[3].inputs is [True]; a list of numbers of steps is needed"),
    ("program[3].inputs", [9], "program[3].inputs is [9]; only the steps before, 0 to 2, can be used"),
    ("program[3].inputs", [3], "program[3].inputs is [3]; only the steps before, 0 to 2, can be used"),
    ("program[3].inputs", [-1], "program[3].inputs is [-1]; only the steps before"),
    ("program[3].inputs", [], "program[3].inputs is []; filter_shape[sphere] needs 1: a set of objects"),
    ("program[3].inputs", [1, 2], "program[3].inputs is [1, 2]; filter_shape[sphere] needs 1:"),
    ("program[0].inputs", [0], "program[0].inputs is [0]; only"),
    ("program[6].inputs", [4], "program[6].inputs is [4]; which gives an object; filter_color[red] needs"),
    ("program[3].inputs", [1], "program[2] is used by no other step"),
    (
        "program[3].value_inputs",
        [],
        "program[3].value_inputs is []; filter_shape needs a list with one of cube",
    ),
    ("program[3].value_inputs", ["pink"], "program[3].value_inputs is ['pink']; filter_shape needs a list"),
    ("program[3].value_inputs", "cube", "program[3].value_inputs is 'cube'; filter_shape needs a list"),
    ("program[3].value_inputs", [["cube"]], "program[3].value_inputs is [['cube']]; filter_shape needs"),
    ("program[4].value_inputs", ["cube"], "program[4].value_inputs is ['cube']; unique needs an empty list"),
    ("program[7]", step("unique", 6), "program[7] is unique, which gives an object; the last step must give"),
]


def test_an_endless_program_is_refused() -> None:
    steps = [step("scene")] + [step("union", k, k) for k in range(60)]
    with pytest.raises(DataError, match=r"program\[6\] stands for more than 100 modules"):
        as_program(steps)


@pytest.mark.parametrize("program", [("scene",), ("count",), ("count", "unique", "scene"), ("red",), ()])
def test_what_is_no_program_is_not_written(program) -> None:
    with pytest.raises(ParseError):
        to_official(program)


# Scenes


def test_a_scene_is_read_and_written_without_loss() -> None:
    found = as_scene(sound_scene())
    assert found.things[0].color == "red" and found.things[2].position == (1.0, 0.5, 0.35)
    assert found.relations["left"] == (frozenset(), frozenset({0}), frozenset({0, 1}))
    assert found.name == "image_7.png" and found.directions["left"] == (-1.0, 0.0, 0.0)
    assert scene_to_official(found, 7) == sound_scene()


def test_every_published_scene_comes_back_as_it_was() -> None:
    for _, value in elements(published() / "scenes_val.json.gz", "scenes"):
        again = scene_to_official(as_scene(value), value["image_index"])
        assert again == {key: value[key] for key in value if key != "split"}
        assert json.loads(json.dumps(again)) == again


def test_where_things_are_may_be_left_out() -> None:
    bare = {name: sound_scene()[name] for name in ("objects", "relationships")}
    for each in bare["objects"]:
        del each["3d_coords"], each["rotation"], each["pixel_coords"]
    assert as_scene(bare).things[1].position == (0.0, 0.0, 0.0)
    assert as_scene(bare).directions == {} and as_scene(bare).name == ""


BAD_SCENES = [
    ("objects", GONE, "objects is missing; a list of objects is needed"),
    ("objects", {}, "objects is {}; a list of objects is needed"),
    ("objects", [thing("small", "red", "rubber", "cube", 0.0)] * 11, "objects has 11 entries; at most 10"),
    ("objects[1]", "cube", "objects[1] is 'cube'; an object with size, color, material, shape is needed"),
    ("objects[1].color", "pink", "objects[1].color is 'pink'; give one of gray, red, blue"),
    ("objects[1].color", GONE, "objects[1].color is missing; give one of gray, red, blue"),
    ("objects[1].size", ["small"], "objects[1].size is ['small']; give one of small, large"),
    ("objects[1].3d_coords", [1, 2], "objects[1].3d_coords is [1, 2]; a list of three numbers is needed"),
    ("objects[1].3d_coords", [1, 2, "3"], "objects[1].3d_coords[2] is '3'; a number is needed"),
    ("objects[1].rotation", True, "objects[1].rotation is True; a number is needed"),
    ("relationships", GONE, "relationships is missing; an object with left, right, front, behind is needed"),
    ("relationships.front", GONE, "relationships.front is missing; a list for each object is needed"),
    ("relationships.front", [[]], "relationships.front has 1 lists; one for each of the 3 objects is needed"),
    ("relationships.left[2]", [0, 3], "relationships.left[2] is [0, 3]; the objects are 0 to 2"),
    ("relationships.left[2]", [-1], "relationships.left[2] is [-1]; the objects are 0 to 2"),
    ("relationships.left[2]", [2], "relationships.left[2] is [2]; an object is not related to itself"),
    ("relationships.left[2]", 0, "relationships.left[2] is 0; a list of numbers of objects is needed"),
    ("directions", [], "directions is []; an object with a vector for each direction is needed"),
    ("directions.left", [0], "directions.left is [0]; a list of three numbers is needed"),
    ("image_filename", 5, "image_filename is 5; a printable text is needed"),
    ("image_index", "7", "image_index is '7'; an integer from 0 is needed"),
]


@pytest.mark.parametrize("place, new, message", BAD_SCENES)
def test_a_malformed_scene_is_named(tmp_path, place, new, message) -> None:
    files = {"scenes": {"scenes": [scene(1), spoiled(sound_scene(), place, new)]}}
    written(tmp_path, files)
    faults: list[str] = []
    assert [number for number, _ in official.read_scenes(tmp_path / "scenes.json", faults)] == [1]
    assert len(faults) == 1 and faults[0].startswith(f"scenes.json: scene 1: {message}")


def test_a_number_of_more_than_64_bits_is_named() -> None:
    place, message = (
        "objects[1].pixel_coords",
        r"objects\[1\]\.pixel_coords\[2\] is 1000.*; a number of 64 bits",
    )
    with pytest.raises(DataError, match=message):
        as_scene(spoiled(sound_scene(), place, [1, 2, 10**400]))


def test_scenes_are_numbered_by_image_index_or_else_by_position(tmp_path) -> None:
    bare = spoiled(sound_scene(), "image_index", GONE)
    written(tmp_path, {"a": {"scenes": [sound_scene(), scene(3)]}, "b": {"scenes": [bare, bare]}})
    faults: list[str] = []
    assert [number for number, _ in official.read_scenes(tmp_path / "a.json", faults)] == [7, 3]
    assert [number for number, _ in official.read_scenes(tmp_path / "b.json", faults)] == [0, 1]
    written(tmp_path, {"a": {"scenes": [sound_scene(), sound_scene()]}})
    assert [number for number, _ in official.read_scenes(tmp_path / "a.json", faults)] == [7]
    assert faults == ["a.json: scene 1: image_index is 7, as in an earlier scene; each needs its own"]


# One scene


@pytest.mark.parametrize("wrap", [lambda s: s, lambda s: [s], lambda s: {"info": 1, "scenes": [s]}])
def test_one_scene_is_read_from_any_file_that_holds_one(tmp_path, wrap) -> None:
    written(tmp_path, {"x": wrap(sound_scene())})
    assert official.read_scene(tmp_path / "x.json") == as_scene(sound_scene())


def test_one_of_several_scenes_is_chosen_by_its_number(tmp_path) -> None:
    path = written(tmp_path, {"x": [scene(4), sound_scene()]}, ".json.gz") / "x.json.gz"
    assert official.read_scene(path, 7) == as_scene(sound_scene())
    with pytest.raises(DataError, match="holds 2 scenes; say which"):
        official.read_scene(path)
    with pytest.raises(DataError, match="no scene with image_index 5; its 2 go from 4 to 7"):
        official.read_scene(path, 5)


@pytest.mark.parametrize(
    "content, message",
    [
        ("[]", "is no scene; an object with objects and relationships is needed"),
        ("5", "is no scene; an object with objects and relationships is needed"),
        ("[5]", "scene 0: it is 5; an object with objects and relationships is needed"),
        ("{}", "scene 0: objects is missing"),
        ('{"objects": [', "the file is cut short here"),
        ("red cube", "no proper JSON, "),
    ],
)
def test_a_file_without_a_scene_is_refused(tmp_path, content, message) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(DataError) as refused:
        official.read_scene(tmp_path / "x.json")
    assert str(tmp_path / "x.json") in str(refused.value) and message in str(refused.value)


# Questions


def test_a_question_is_read() -> None:
    record = official.as_question(sound_question(), {7: 2}, 0)
    assert (record.scene, record.answer, record.program, record.number) == (2, "1", PROGRAM, 3)


@pytest.mark.parametrize(
    "answer, text", [(True, "yes"), (False, "no"), (4, "4"), ("red", "red"), (None, None)]
)
def test_answers_may_be_truth_values_and_integers(answer, text) -> None:
    assert official.as_question(spoiled(sound_question(), "answer", answer), {7: 0}, 0).answer == text


def test_answer_program_and_number_may_be_missing() -> None:
    value = {"question": "How many?", "image_index": 7}
    record = official.as_question(value, {7: 0}, 5)
    assert (record.answer, record.program, record.number) == (None, None, 5)


BAD_QUESTIONS = [
    *BAD_PROGRAMS,
    ("question", GONE, "question is missing; a text of at most 2,000 characters is needed"),
    ("question", 5, "question is 5; a text"),
    ("question", " ", "question is ' '; a text"),
    ("question", "why " * 1000, "question is 'why why"),
    ("image_index", GONE, "image_index is missing; an integer from 0 is needed"),
    ("image_index", 7.0, "image_index is 7.0; an integer from 0 is needed"),
    ("image_index", 8, "image_index is 8, and there is no such scene"),
    ("question_index", -1, "question_index is -1; an integer from 0 is needed"),
    ("question_index", 1 << 31, "question_index is 2147483648; an integer"),
    ("answer", "pink", "answer is 'pink'; give one of 0, 1, 2"),
    ("answer", 11, "answer is 11; give one of 0, 1, 2"),
    ("answer", 1.0, "answer is 1.0; give one of 0, 1, 2"),
    ("answer", ["red"], "answer is ['red']; give one of 0, 1, 2"),
]


@pytest.mark.parametrize("place, new, message", BAD_QUESTIONS)
def test_a_malformed_question_is_named(tmp_path, place, new, message) -> None:
    questions = [sound_question(), spoiled(sound_question(), place, new)]
    path = written(tmp_path, {"questions": {"questions": questions}}) / "questions.json"
    faults: list[str] = []
    assert [record.number for record in official.read_questions(path, {7: 0}, faults)] == [3]
    assert len(faults) == 1 and faults[0].startswith(f"questions.json: question 1: {message}")


def test_a_question_that_is_no_object_is_named(tmp_path) -> None:
    path = written(tmp_path, {"questions": {"questions": ["How many?"]}}) / "questions.json"
    faults: list[str] = []
    assert list(official.read_questions(path, {}, faults)) == []
    assert "question 0: it is 'How many?'; an object" in faults[0]


# Folders

RELEASED = {
    "scenes_train": "scenes/CLEVR_train_scenes",
    "questions_train": "questions/CLEVR_train_questions",
    "scenes_val": "scenes/CLEVR_val_scenes",
    "questions_val": "questions/CLEVR_val_questions",
}


def as_released(folder: Path, files: dict[str, Any], ending: str) -> Path:
    return written(folder, {RELEASED[name]: content for name, content in files.items()}, ending)


@pytest.mark.parametrize("ending", [".json", ".json.gz"])
@pytest.mark.parametrize("layout", [written, as_released])
def test_a_folder_is_read_in_any_layout(tmp_path, layout, ending) -> None:
    folder = layout(tmp_path / "here" / "x", sound_files(), ending)
    for path in (folder, folder.parent):
        assert official.is_official(path)
        reading = official.read(path)
        assert (len(reading.data.train), len(reading.data.validation)) == (3, 1)
        assert reading.left_out == () and reading.data.train.understood.all()
    assert reading.data.train.scenes.tolist() == [0, 0, 0]
    assert reading.data.validation.scenes.tolist() == [1]  # the second of both parts' scenes
    assert reading.data.train.program(2) == PROGRAM and reading.data.train.numbers.tolist() == [0, 1, 3]


def test_faulty_elements_are_listed_or_left_out(tmp_path) -> None:
    files = spoiled(sound_files(), "questions_train.questions[1].answer", "pink")
    files = spoiled(files, "questions_val.questions[0].image_index", 5)
    files["questions_val"]["questions"].append(spoiled(sound_question(), "image_index", 0))
    files["scenes_train"]["scenes"].append({"objects": 1})
    folder = written(tmp_path, files)
    with pytest.raises(DataError) as refused:
        official.read(folder)
    message = str(refused.value)
    assert (
        f"{folder} has 3 faulty scenes or questions; correct them, or leave them out with --skip" in message
    )
    assert "\n  scenes_train.json: scene 1: objects is 1" in message
    assert "\n  questions_train.json: question 1: answer is 'pink'" in message
    assert "\n  questions_val.json: question 0: image_index is 5, and there is no such scene" in message
    reading = official.read(folder, skip_faulty=True)
    assert len(reading.left_out) == 3
    assert (len(reading.data.train), len(reading.data.validation)) == (2, 1)


def test_a_part_without_a_sound_question_is_refused(tmp_path) -> None:
    folder = written(tmp_path, spoiled(sound_files(), "questions_val.questions[0].answer", "pink"))
    with pytest.raises(DataError, match="no sound question to learn from or to be tested on"):
        official.read(folder, skip_faulty=True)


def test_questions_not_understood_are_told(tmp_path) -> None:
    files = spoiled(sound_files(), "questions_train.questions[0].question", "How many xylophones are there?")
    data = official.read(written(tmp_path, files)).data
    (refused,) = inspect(data).train.not_understood
    assert "xylophones" in str(refused) and len(data.train) == 3


def test_the_test_questions_serve_where_there_is_no_validation(tmp_path) -> None:
    files = sound_files()
    files["scenes_test"], files["questions_test"] = files.pop("scenes_val"), files.pop("questions_val")
    for question in files["questions_test"]["questions"]:
        del question["answer"], question["program"]
    validation = official.read(written(tmp_path, files)).data.validation
    assert validation.answer(0) is None and validation.program(0) is None
    assert validation.modules_of(0) == ("count", "scene", "filter_shape[cube]")


@pytest.mark.parametrize("missing", list(RELEASED))
def test_a_missing_file_is_named(tmp_path, missing) -> None:
    files = sound_files()
    del files[missing]
    noun, _, part = missing.partition("_")
    with pytest.raises(
        DataError, match=f"holds no {noun} called {part}; scenes/CLEVR_{part}_scenes.json and"
    ):
        official.read(written(tmp_path, files))


def test_a_damaged_file_is_refused_even_if_faults_are_skipped(tmp_path) -> None:
    folder = written(tmp_path, sound_files())
    path = folder / "questions_train.json"
    path.write_text(path.read_text()[:-40])
    with pytest.raises(DataError, match=r"questions_train\.json: question 2: the file is cut short here"):
        official.read(folder, skip_faulty=True)
    path.rename(folder / "questions_train.json.gz")
    with pytest.raises(DataError, match=r"is called \.gz, but is not compressed"):
        official.read(folder, skip_faulty=True)
