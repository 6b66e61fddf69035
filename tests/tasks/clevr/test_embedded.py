"""The embedded data set is made from a seed, understood whole, and validated on other scenes."""

import pytest
import torch

from ngs.errors import NGSError
from ngs.tasks.clevr import dataset
from ngs.tasks.clevr.cues import words_of
from ngs.tasks.clevr.dataset import Questions, VisualQuestions
from ngs.tasks.clevr.embedded import embedded, synthetic
from ngs.tasks.clevr.program import MODULES, Kind


def tiny(seed: int = 0, scenes: int = 12) -> VisualQuestions:
    return synthetic(seed, scenes=scenes, per_scene=6, validation_scenes=5, validation_per_scene=4)


def contents(questions: Questions, number: int) -> list[object]:
    return [(questions.text_words(k), questions.answer(k), questions.program(k)) for k in range(number)]


def test_the_default_has_ten_thousand_questions_and_every_kind_in_both_parts() -> None:
    data = embedded()
    assert data is embedded() and data.name == "embedded"
    assert (len(data.scenes), len(data.train), len(data.validation)) == (1_200, 10_000, 1_000)
    for part in (data.train, data.validation):
        assert {part.kind(k) for k in range(len(part))} == set(Kind)
        for k in range(len(part)):
            program = part.program(k)
            assert program is not None and part.modules_of(k) == tuple(sorted(program, key=MODULES.index))


def test_training_and_validation_are_about_different_scenes() -> None:
    data = tiny()
    assert set(data.train.scenes.tolist()) == set(range(12))
    assert set(data.validation.scenes.tolist()) == set(range(12, 17))
    assert len(set(map(repr, data.scenes))) == 17


def test_the_same_seed_gives_the_same_data_and_another_does_not() -> None:
    one, same, other = tiny(), tiny(), tiny(1)
    assert one.digest == same.digest != other.digest
    assert one.name == "synthetic"
    assert not {repr(scene) for scene in one.scenes} & {repr(scene) for scene in other.scenes}


def test_more_scenes_leave_the_first_questions_as_they_are() -> None:
    few, more = tiny(), tiny(scenes=20)
    assert more.scenes[:12] == few.scenes[:12] and more.scenes[20:] == few.scenes[12:]
    assert contents(more.train, 72) == contents(few.train, 72)
    assert contents(more.validation, 20) == contents(few.validation, 20)
    assert torch.equal(more.validation.scenes, few.validation.scenes + 8)


def test_the_default_is_the_synthetic_data_of_its_size() -> None:
    data, small = embedded(), synthetic(scenes=3, validation_scenes=2)
    assert data.scenes[:3] == small.scenes[:3] and data.scenes[1_000:1_002] == small.scenes[3:]
    assert contents(small.train, 30) == contents(data.train, 30)


def test_a_question_that_the_dictionary_refuses_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(words: tuple[str, ...]) -> None:
        raise NGSError("never heard of it")

    monkeypatch.setattr(dataset, "modules_of", refuse)
    with pytest.raises(NGSError, match=r"does not understand 92 made-up questions.*never heard of it"):
        tiny()


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"scenes": 0}, "10 questions about each of 0 scenes"),
        ({"per_scene": 0}, "0 questions about each of 1000 scenes"),
        ({"validation_scenes": -1}, "5 questions about each of -1 scenes"),
        ({"seed": -1}, "the seed is -1"),
    ],
)
def test_what_cannot_be_made_is_refused(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(NGSError, match=message):
        synthetic(**arguments)


def test_words_are_kept_as_they_are_written() -> None:
    data = tiny()
    assert set(data.train.text_words(0)) <= set(data.vocabulary)
    assert words_of(" ".join(data.train.text_words(0))) == data.train.text_words(0)
