"""Packed questions: what is written is read, what is not whole is refused."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from ngs.errors import DataError
from ngs.learning import tensor_file
from ngs.learning.packed_file import Format, Ragged, as_bytes, flattened
from ngs.tasks.clevr import official, packed
from ngs.tasks.clevr.dataset import Questions, VisualQuestions, columns_of
from ngs.tasks.clevr.scenes import RELATIONS, Scene, Thing
from tests.tasks.clevr.official_files import published_data, sound_files, written


@pytest.fixture
def data(tmp_path) -> VisualQuestions:
    return official.read(written(tmp_path / "official", sound_files())).data


def same(one: VisualQuestions, other: VisualQuestions) -> bool:
    pairs = [(one.train, other.train), (one.validation, other.validation)]
    return (
        (one.name, one.scenes, one.digest) == (other.name, other.scenes, other.digest)
        and all(mine.lexicon == yours.lexicon and mine.known == yours.known for mine, yours in pairs)
        and all(
            torch.equal(mine, yours) and mine.dtype == yours.dtype
            for parts in pairs
            for mine, yours in zip(*(flattened(columns_of(part)).values() for part in parts), strict=True)
        )
    )


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as refused:
        packed.read(path)
    assert str(path) in str(refused.value)
    return str(refused.value)


def test_what_is_written_is_read(tmp_path, data) -> None:
    path = tmp_path / "a" / "x.ngs"
    packed.write(path, replace(data, name="häß [1]"))
    assert same(packed.read(path), replace(data, name="häß [1]"))
    assert packed.FORMAT.is_at(path) and os.listdir(path.parent) == ["x.ngs"]


def test_embedded_data_are_loaded_by_name_and_others_by_path(tmp_path, data, monkeypatch) -> None:
    packed.write(tmp_path / "x.ngs", data)
    assert same(packed.load(str(tmp_path / "x.ngs")), data)
    monkeypatch.setattr(packed, "embedded", lambda: data)
    assert packed.load("embedded") is data


def test_all_published_questions_are_read_again(tmp_path) -> None:
    given = published_data()
    packed.write(tmp_path / "x.ngs", given)
    assert same(packed.read(tmp_path / "x.ngs"), given)
    assert (tmp_path / "x.ngs").stat().st_size < 8e6


def test_scenes_may_be_empty_and_seen_from_anywhere(tmp_path, data) -> None:
    cube = Thing("small", "red", "rubber", "cube", (0.1, -1 / 3, 1e-9), 359.9, (1.5, 2.0, 7.0))
    lonely = Scene(
        (cube,), dict.fromkeys(RELATIONS, (frozenset(),)), {"left": (0.1, 0.2, 0.3)}, "naïve\n.png"
    )
    crowd = Scene((cube,) * 10, dict.fromkeys(RELATIONS, tuple(everyone_else())), {})
    scenes = (Scene((), dict.fromkeys(RELATIONS, ()), {}), lonely, crowd, *data.scenes)
    packed.write(tmp_path / "x.ngs", replace(data, scenes=scenes))
    assert packed.read(tmp_path / "x.ngs").scenes == scenes


def everyone_else() -> list[frozenset[int]]:
    return [frozenset(range(10)) - {k} for k in range(10)]


def test_no_scene_and_no_question_are_a_data_set_too(tmp_path, data) -> None:
    empty = replace(data, scenes=(), train=data.train.select([]), validation=data.validation.select([]))
    packed.write(tmp_path / "x.ngs", empty)
    assert same(packed.read(tmp_path / "x.ngs"), empty)


def changed(data: VisualQuestions, **changes: Any) -> VisualQuestions:
    return replace(data, train=replace(data.train, **changes))


def keywords(questions: Questions, position: int) -> Ragged:
    flat = questions.keywords.flat.clone()
    flat[0, 0] = position
    return replace(questions.keywords, flat=flat)


def known(data: VisualQuestions, number: int) -> VisualQuestions:
    parts = {part: replace(getattr(data, part), known=number) for part in packed.PARTS}
    return replace(data, **parts)


def related(data: VisualQuestions, others: frozenset[int]) -> VisualQuestions:
    first = data.scenes[0]
    left = (others, *first.relations["left"][1:])
    return replace(
        data, scenes=(replace(first, relations={**first.relations, "left": left}), *data.scenes[1:])
    )


FAULTS = [
    (lambda data: changed(data, scenes=data.train.scenes + 5), "train.scenes has 5 to 5, and 0 to below 2"),
    (lambda data: changed(data, keywords=keywords(data.train, 5)), "train: a keyword is not among the words"),
    (lambda data: changed(data, lexicon=data.train.lexicon[:3]), "train.spelling has"),
    (lambda data: known(data, 99), "99 of them in the vocabulary"),
    (lambda data: related(data, frozenset({0})), "is related to one that is not in its scene, or to itself"),
    (lambda data: related(data, frozenset({3})), "is related to one that is not in its scene, or to itself"),
    (lambda data: replace(data, name="a\nb"), r"the name 'a\nb' cannot be printed"),
]


@pytest.mark.parametrize("spoil, fault", FAULTS)
def test_what_is_no_data_set_is_neither_written_nor_read(tmp_path, data, spoil, fault, monkeypatch) -> None:
    path = tmp_path / "x" / "x.ngs"
    with pytest.raises(DataError) as refused:
        packed.write(path, spoil(data))
    assert fault in str(refused.value) and not path.parent.exists()
    monkeypatch.setattr(Format, "faults", lambda *_: iter(()))
    packed.write(path, spoil(data))
    monkeypatch.undo()
    assert fault in refusal(path)


def test_both_parts_need_one_vocabulary(tmp_path, data) -> None:
    with pytest.raises(DataError, match="the two parts have different vocabularies"):
        packed.write(tmp_path / "x.ngs", changed(data, known=2))


@pytest.mark.parametrize(
    "name, tensor, fault",
    [
        ("scenes.counts", torch.tensor([3, 2], dtype=torch.int8), "have 5 objects, but there are 4"),
        ("scenes.directions", as_bytes(['{"left": [1, 2]}', "{}"]), "the directions are no vectors"),
    ],
)
def test_tensors_that_contradict_each_other_are_refused(tmp_path, data, name, tensor, fault) -> None:
    path = tmp_path / "x.ngs"
    packed.write(path, data)
    tensors, facts = tensor_file.load(path, packed.FORMAT.kind, "")
    tensor_file.save(path, packed.FORMAT.kind, {**tensors, name: tensor}, facts)
    assert fault in refusal(path)
