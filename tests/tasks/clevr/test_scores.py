"""Scores: counted by hand, and read in batches as one question after another is read."""

import json
from dataclasses import replace

import pytest
import torch

from ngs.grammar.constraint import AnyOrder, Counting
from ngs.learning import metrics
from ngs.learning.metrics import Score, read_all
from ngs.tasks.clevr import scores
from ngs.tasks.clevr.batched_execution import SceneTables
from ngs.tasks.clevr.dataset import QuestionRecord, Questions
from ngs.tasks.clevr.examples import Part
from ngs.tasks.clevr.execution import execute, spoken
from ngs.tasks.clevr.language import TidyPrograms
from ngs.tasks.clevr.program import Kind, program_of
from ngs.tasks.clevr.scores import Outcome, measure, outcomes, scores_of
from tests.tasks.clevr.programs import LANGUAGES, decoded, encoded
from tests.tasks.clevr.readers import random_reader, row, some_questions


def validation(language: Counting) -> Part:
    data = some_questions()
    return Part.of(data.validation, SceneTables.of(data.scenes), language)


# Counting


def score(questions: int, *right: int | None) -> Score:
    """Right answers, identical programs, equivalent programs."""
    return Score(questions, questions, *right)


def outcome(kind: Kind | None, length: int, *right: bool | None) -> Outcome:
    return Outcome(kind, length, score(1, *right))


OUTCOMES = [
    outcome(Kind.ZERO_HOP, 3, True, True, True),
    outcome(Kind.ZERO_HOP, 3, True, False, True),
    outcome(Kind.ZERO_HOP, 4, True, False, False),  # right for a wrong reason
    outcome(Kind.OR, 4, False, False, False),
    outcome(None, 4, False, False, False),
]


def test_scores_by_hand() -> None:
    found = scores_of(OUTCOMES)
    assert found.total == score(5, 3, 1, 2)
    assert found.by_kind == {"zero hops": score(3, 3, 1, 2), "or": score(1, 0, 0, 0)}
    assert found.by_length == {3: score(2, 2, 1, 2), 4: score(3, 1, 0, 0)}
    assert found.accuracy == 3 / 5


def test_kinds_and_lengths_are_in_order() -> None:
    found = scores_of(
        [outcome(kind, length, True, None, None) for length in (9, 2) for kind in [*Kind][::-1]]
    )
    assert list(found.by_kind) == [str(kind) for kind in Kind] and list(found.by_length) == [2, 9]


def test_facts_are_shares_for_json() -> None:
    facts = scores_of(OUTCOMES).as_facts()
    assert json.loads(json.dumps(facts)) == facts
    assert facts == {**facts, "examples": 5, "answers": 0.6, "programs": 0.2, "equivalent": 0.4}
    assert facts["by_kind"] == {
        "zero hops": {"examples": 3, "answers": 1.0, "programs": 1 / 3, "equivalent": 2 / 3},
        "or": {"examples": 1, "answers": 0.0, "programs": 0.0, "equivalent": 0.0},
    }
    assert facts["by_length"] == {
        "3": {"examples": 2, "answers": 1.0, "programs": 0.5, "equivalent": 1.0},
        "4": {"examples": 3, "answers": 1 / 3, "programs": 0.0, "equivalent": 0.0},
    }


def test_what_is_not_known_of_one_is_not_known_of_all() -> None:
    unknown = outcome(Kind.OR, 5, True, None, None)
    found = scores_of([*OUTCOMES, unknown])
    assert found.total == score(6, 4, None, None)
    assert found.by_kind["or"] == score(2, 1, None, None)
    assert found.by_kind["zero hops"] == score(3, 3, 1, 2)  # these are known
    assert found.total.answer == 4 / 6


def test_nothing_is_no_accuracy() -> None:
    assert scores_of([]).accuracy == 0.0 and scores_of([]).by_kind == {}
    assert scores_of([]).as_facts()["answers"] == 0.0


# What became of each question

RED = "filter_color[red]"
CUBE = "filter_shape[cube]"
BOTH = ("count", "intersect", RED, "relate[left]", "unique", CUBE, "scene")
BOTH += (RED, "relate[right]", "unique", "filter_shape[sphere]", "scene")

CASES = {
    "the same": (("count", RED, CUBE, "scene"), ("count", RED, CUBE, "scene"), True, True),
    "equivalent": (("count", RED, CUBE, "scene"), ("count", CUBE, RED, "scene"), False, True),
    "another": (
        ("count", RED, "relate[left]", "unique", CUBE, "scene"),
        ("count", "relate[left]", "unique", RED, CUBE, "scene"),
        *(False, False),
    ),
    "too short": (("count", "scene"), ("scene", "count"), False, False),
    "too long": (BOTH, (*BOTH[:7], *BOTH[8:], RED), False, False),
    "not known": (None, ("count", "scene"), None, None),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_read_is_compared_with_the_true_program(case: str) -> None:
    true, read, same, alike = CASES[case]
    records = [QuestionRecord("How many things are there?", 0, "1", true, 0)] * 2
    questions = Questions.of(records)
    right = torch.tensor([True, False])
    first, second = outcomes(questions, encoded([read, read], extra=3), right)
    assert first == outcome(first.kind, len(read), True, same, alike)
    assert second == outcome(first.kind, len(read), False, same, alike)
    assert program_of(encoded([read], extra=2)[0].tolist()) == read


# Reading


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
def test_questions_are_read_as_one_by_one(language: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of any size, and the reader that `ngs ask` uses, which takes one at a time."""
    data, reader = some_questions(), random_reader(3, language)
    part = validation(language)
    read = read_all(reader.network, part.reasoner())
    texts = [" ".join(part.questions.text_words(k)) for k in range(len(part))]
    alone = [reader.read(text).programs[0].program for text in texts]
    assert decoded(read.symbols) == alone
    if not isinstance(language, AnyOrder):
        scenes = [data.scenes[k] for k in part.questions.scenes.tolist()]
        given = [spoken(execute(*each)) for each in zip(alone, scenes, strict=True)]
        assert read.right.tolist() == [given[k] == part.questions.answer(k) for k in range(len(part))]
        assert {True, False} == set(read.right.tolist())
    monkeypatch.setattr(metrics, "AT_ONCE", 7 * part.examples.time)
    again = read_all(reader.network, part.reasoner())
    assert torch.equal(again.symbols, read.symbols) and torch.equal(again.right, read.right)


# All of it


def test_measuring_counts_what_is_read() -> None:
    part = validation(TidyPrograms())
    network = random_reader(3).network
    read = read_all(network, part.reasoner())
    true = [part.questions.program(k) for k in range(len(part))]
    found = measure(network, part)
    assert found.total.examples == len(part) == 120
    assert found.total.answers_right == int(read.right.sum())
    assert found.total.sentences_right == sum(map(tuple.__eq__, decoded(read.symbols), true))
    assert found.total.sentences_right <= found.total.symbols_right <= len(part)  # type: ignore[operator]
    for parts in (found.by_kind, found.by_length):
        assert sum(score.examples for score in parts.values()) == 120
        assert sum(score.answers_right for score in parts.values()) == found.total.answers_right
    kinds = [part.questions.kind(k) for k in range(len(part))]
    assert found.by_kind["one hop"].examples == kinds.count(Kind.ONE_HOP)


def test_what_is_not_understood_is_wrong() -> None:
    scene = row("small red rubber cube")
    counting = ("count", "scene")
    records = [
        QuestionRecord("How many things are there?", 0, "1", counting, 0),
        QuestionRecord("How many frobs are there?", 0, "1", ("count", CUBE, "scene"), 1),
        QuestionRecord("Are frobs or blobs there?", 0, "yes", ("exist", "union", "scene", "scene"), 2),
    ]

    def measured(*records: QuestionRecord) -> scores.ProgramScores:
        questions = Questions.of(records, some_questions().vocabulary)
        part = Part.of(questions, SceneTables.of([scene]), TidyPrograms())
        return measure(random_reader(0).network, part)

    found = measured(*records)
    assert found.total == score(3, 1, 1, 1)
    assert found.by_kind == {"zero hops": score(2, 1, 1, 1), "or": score(1, 0, 0, 0)}
    assert found.by_length == {2: score(1, 1, 1, 1), 3: score(1, 0, 0, 0), 4: score(1, 0, 0, 0)}
    unknown = measured(records[0], replace(records[1], program=None))
    assert unknown.total == score(2, 1, None, None) and unknown.accuracy == 0.5
    assert unknown.by_kind == {"zero hops": score(1, 1, 1, 1)}  # nobody knows the other's
