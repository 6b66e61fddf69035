"""Where questions come from."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import torch

from ngs.errors import DataError, NGSError
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


def test_a_folder_is_to_be_packed_first(tmp_path) -> None:
    folder = written(tmp_path / "x", sound_files())
    with pytest.raises(DataError, match=f"{folder} is not packed yet; first `ngs data import {folder}`"):
        load(str(folder))


def test_a_missing_file_says_what_to_give() -> None:
    with pytest.raises(DataError, match="nowhere: there is no such file; give 'embedded' or what `ngs data"):
        load("nowhere")


# A share of the questions


def numbers(questions: Questions) -> list[int]:
    return questions.numbers.tolist()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.5, 1.0])
def test_a_share_and_the_rest_are_the_whole(share) -> None:
    questions = some_questions().train
    part, rest = divided(questions, share, seed=3)
    assert sorted(numbers(part) + numbers(rest)) == numbers(questions)
    assert numbers(part) == sorted(numbers(part)) and numbers(rest) == sorted(numbers(rest))
    assert abs(len(part) - share * len(questions)) < 8  # rounded for each length


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


def test_a_smaller_share_is_part_of_a_larger() -> None:
    """So that curves over the number of questions add questions, and change none."""
    questions = some_questions().train
    shares = [set(numbers(divided(questions, share, seed=0)[0])) for share in (0.1, 0.3, 0.6)]
    assert shares[0] < shares[1] < shares[2]


def test_questions_that_are_not_understood_are_divided_too() -> None:
    records = [QuestionRecord("What is a frob?", 0, "yes", None, k) for k in range(10)]
    part, rest = divided(Questions.of(records)[0], 0.3, seed=0)
    assert (len(part), len(rest)) == (3, 7)


def test_no_questions_can_be_divided() -> None:
    nothing = some_questions().train.select([])
    assert [len(part) for part in divided(nothing, 0.5, seed=0)] == [0, 0]


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_is_from_0_to_1(share) -> None:
    with pytest.raises(NGSError, match=f"the share is {share}; it must be from 0 to 1"):
        divided(some_questions().train, share, seed=0)
