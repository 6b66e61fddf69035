"""Where questions come from."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import torch

from ngs.learning.packed_file import Ragged
from ngs.tasks.clevr import official, packed
from ngs.tasks.clevr.dataset import QuestionRecord, Questions, divided
from ngs.tasks.clevr.packed import load
from tests.tasks.clevr.official_files import sound_files, written
from tests.tasks.clevr.readers import some_questions


def test_a_packed_file_is_loaded(tmp_path) -> None:
    data = official.read(written(tmp_path / "x", sound_files())).data
    packed.write(tmp_path / "x.ngs", data)
    assert load(str(tmp_path / "x.ngs")).digest == data.digest


def test_the_embedded_data_is_loaded_by_its_name(tmp_path, monkeypatch) -> None:
    data = official.read(written(tmp_path / "x", sound_files())).data
    monkeypatch.setattr(packed, "embedded", lambda: data)
    assert load("embedded") is data


# A share of the questions


def numbers(questions: Questions) -> list[int]:
    return questions.numbers.tolist()


def test_the_share_is_the_same_of_each_number_of_modules() -> None:
    questions = some_questions().train
    part, _ = divided(questions, 0.4, seed=3)
    whole, taken = (Counter(q.modules.lengths.tolist()) for q in (questions, part))
    assert len(whole) > 8
    assert taken == Counter({length: round(0.4 * count) for length, count in whole.items()})


def test_the_choice_depends_on_the_seed_and_on_what_is_known_without_programs() -> None:
    questions = some_questions().train
    nothing = Ragged(torch.zeros(0, dtype=torch.int8), torch.zeros(len(questions) + 1, dtype=torch.long))
    chosen = numbers(divided(questions, 0.5, seed=3)[0])
    assert numbers(divided(questions, 0.5, seed=3)[0]) == chosen
    assert numbers(divided(replace(questions, programs=nothing), 0.5, seed=3)[0]) == chosen
    assert numbers(divided(questions, 0.5, seed=4)[0]) != chosen


def test_questions_that_are_not_understood_are_divided_too() -> None:
    records = [QuestionRecord("What is a frob?", 0, "yes", None, k) for k in range(10)]
    part, rest = divided(Questions.of(records)[0], 0.3, seed=0)
    assert (len(part), len(rest)) == (3, 7)


def test_no_questions_can_be_divided() -> None:
    nothing = some_questions().train.select([])
    assert [len(part) for part in divided(nothing, 0.5, seed=0)] == [0, 0]
