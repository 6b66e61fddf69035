"""What an inspection counts and finds."""

from collections import Counter
from dataclasses import replace

import pytest

from ngs.tasks.clevr import official
from ngs.tasks.clevr.dataset import VisualQuestions
from ngs.tasks.clevr.execution import execute, spoken
from ngs.tasks.clevr.inspection import Count, Inspection, inspect
from tests.tasks.clevr.official_files import published_data, sound_files, sound_question, sound_scene, written


@pytest.fixture
def files():
    return sound_files()


def inspected(folder, files) -> Inspection:
    return inspect(official.read(written(folder, files)).data)


def test_questions_and_scenes_are_counted(tmp_path, files) -> None:
    found = inspected(tmp_path, files)
    assert (found.scenes, found.train.questions, found.validation.questions) == (2, 3, 1)
    assert found.kinds == (Count("zero hops", 2, 1), Count("one hop", 1, 0))
    assert found.lengths == (Count("3", 1, 1), Count("4", 1, 0), Count("8", 1, 0))
    assert found.answers == (Count("1", 2, 1), Count("sphere", 1, 0))
    assert found.objects == (Count("1", 0, 1), Count("3", 1, 0))
    assert "ball" in found.vocabulary and found.vocabulary == tuple(sorted(found.vocabulary))
    assert found.new_words == {} and found.repeated == ()


def test_modules_and_answers_are_checked(tmp_path, files) -> None:
    files["questions_train"]["questions"][0]["answer"] = "2"
    files["questions_train"]["questions"][2]["program"][5]["value_inputs"] = ["right"]
    found = inspected(tmp_path, files)
    assert (found.train.same_modules, found.train.other_modules) == (2, (3,))
    assert (found.train.right_answers, found.train.wrong_answers) == (2, (0,))  # red things on both sides
    assert (found.validation.same_modules, found.validation.right_answers) == (1, 1)


def test_what_is_not_known_is_not_counted_as_wrong(tmp_path, files) -> None:
    del files["questions_val"]["questions"][0]["answer"], files["questions_val"]["questions"][0]["program"]
    found = inspected(tmp_path, files)
    assert (found.validation.with_answer, found.validation.with_program) == (0, 0)
    assert found.validation.other_modules == found.validation.wrong_answers == ()
    assert found.answers[-1] == Count("not known", 0, 1) and found.kinds[0] == Count("zero hops", 2, 1)


def test_what_is_not_understood_is_named_with_its_reason(tmp_path, files) -> None:
    files["questions_val"]["questions"][0]["question"] = "How many zorks are there?"
    found = inspected(tmp_path, files)
    (refused,) = found.validation.not_understood
    assert refused.text == "how many zorks are there" and "zorks" in refused.message
    assert found.validation.same_modules == 0 and found.validation.other_modules == ()
    assert found.new_words == {"zorks": 1}


def test_repeated_questions_are_found(tmp_path, files) -> None:
    files["scenes_val"]["scenes"].append(replaced_names(sound_scene()))
    files["questions_val"]["questions"].append({**sound_question(), "question_index": 5})
    assert inspected(tmp_path, files).repeated == (5,)


def replaced_names(scene):
    """The same scene from elsewhere: another image, a turned object."""
    scene["image_filename"] = "other.png"
    scene["objects"][0]["rotation"] = 1.0
    return scene


def test_a_kind_needs_modules(tmp_path, files) -> None:
    data = official.read(written(tmp_path, files)).data
    records = VisualQuestions.of("x", data.scenes, [], [])
    nothing = replace(data, train=records.train)
    assert inspect(nothing).kinds == (Count("zero hops", 0, 1),)


def test_the_published_data_is_as_described() -> None:
    data = published_data()
    found = inspect(data)
    assert (found.scenes, found.train.scenes, found.validation.scenes) == (2800, 2500, 300)
    for part, count in ((found.train, 25_000), (found.validation, 3_000)):
        assert part.questions == part.with_program == part.with_answer == part.right_answers == count
        assert part.same_modules >= 0.999 * count
    assert found.repeated == () and found.new_words == {}
    assert {count.of: count.train for count in found.kinds}["same relate"] == 7840
    assert sum(count.train for count in found.answers) == 25_000

    some = range(0, 3000, 100)  # against the reference, one by one
    kinds = Counter(data.validation.kind(k) for k in range(3000))
    assert all(kinds[count.of] == count.validation for count in found.kinds)
    for k in some:
        scene = data.scenes[int(data.validation.scenes[k])]
        assert spoken(execute(data.validation.program(k), scene)) == data.validation.answer(k)
