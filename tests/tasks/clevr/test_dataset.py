"""Questions in arrays: what goes in comes out."""

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ngs.errors import ParseError
from ngs.learning.packed_file import Ragged
from ngs.tasks.clevr import dataset
from ngs.tasks.clevr.dataset import (
    NO_ANSWER,
    UNKNOWN,
    UNKNOWN_WORD,
    QuestionRecord,
    Questions,
    VisualQuestions,
)
from ngs.tasks.clevr.program import COLUMN, MODULES, Kind
from ngs.tasks.clevr.scenes import ANSWERS, RELATIONS, Scene, Thing

EMPTY = Scene((), dict.fromkeys(RELATIONS, ()), {})


def counting(words: tuple[str, ...]) -> SimpleNamespace:
    """A dictionary that knows one word."""
    if "many" not in words:
        raise ParseError(f"{' '.join(words)}: what?")
    return SimpleNamespace(modules=("count", "scene"), keywords=((words.index("many"), "count"),))


@pytest.fixture(autouse=True, scope="module")
def dictionary() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataset, "modules_of", counting)
        yield


RECORDS = [
    QuestionRecord("How many?", 0, "3", ("count", "scene"), 7),
    QuestionRecord("Which one; this?", 0, None, None, 9),
    QuestionRecord("So many things, how many?", 1, "0", ("count", "filter_color[red]", "scene"), 8),
]


@pytest.fixture
def questions() -> Questions:
    return Questions.of(RECORDS)


def test_what_goes_in_comes_out(questions) -> None:
    assert len(questions) == 3
    assert questions.text_words(1) == ("which", "one", ";", "this")
    assert [questions.answer(k) for k in range(3)] == ["3", None, "0"]
    assert questions.answers.tolist() == [ANSWERS.index("3"), NO_ANSWER, ANSWERS.index("0")]
    assert [questions.program(k) for k in range(3)] == [record.program for record in RECORDS]
    assert questions.modules_of(2) == ("count", "scene")
    assert questions.keywords.row(2).tolist() == [[1, COLUMN["count"]]]
    assert (questions.scenes.tolist(), questions.numbers.tolist()) == ([0, 0, 1], [7, 9, 8])
    assert [questions.kind(k) for k in range(3)] == [Kind.ZERO_HOP, None, Kind.ZERO_HOP]


def test_a_kind_is_known_from_the_modules_where_there_is_no_program() -> None:
    questions = Questions.of([QuestionRecord("how many", 0, None, None, 0)])
    assert questions.program(0) is None and questions.kind(0) is Kind.ZERO_HOP


def test_what_is_not_understood_stays_and_is_told() -> None:
    questions = Questions.of(RECORDS)
    (refused,) = questions.not_understood()
    assert (refused.index, refused.number, refused.text) == (1, 9, "which one ; this")
    assert "question 9 ('which one ; this'): which one ; this: what?" in str(refused)
    assert questions.understood.tolist() == [True, False, True]
    assert questions.modules_of(1) == () and not len(questions.keywords.row(1))


def test_the_vocabulary_is_that_of_training() -> None:
    strange = [QuestionRecord("many zebras how", 0, "0", None, 0)]
    data = VisualQuestions.of("x", [EMPTY, EMPTY], RECORDS[:1], strange)
    assert data.vocabulary == (UNKNOWN_WORD, "how", "many") == data.validation.vocabulary
    assert data.validation.words.padded().tolist() == [[2, UNKNOWN, 1]]
    assert data.validation.text_words(0) == ("many", "zebras", "how")


@pytest.mark.parametrize(
    "vocabulary",
    [
        (UNKNOWN_WORD, "how", "many"),
        (UNKNOWN_WORD, "things", "many", "zebras"),
        (
            UNKNOWN_WORD,
            *sorted({"how", "many", "which", "one", ";", "this", "so", "things", ","}, reverse=True),
        ),
        (UNKNOWN_WORD,),
    ],
)
def test_other_numbers_are_for_the_same_words(questions, vocabulary) -> None:
    """A network knows words by its own numbers, and all others as one."""
    other = questions.numbered_by(vocabulary)
    assert other.vocabulary == vocabulary and len(other) == len(questions)
    for k in range(3):
        words = questions.text_words(k)
        assert other.text_words(k) == words
        known = [vocabulary.index(word) if word in vocabulary else UNKNOWN for word in words]
        assert other.words.row(k).tolist() == known
        assert other.keywords.row(k).equal(questions.keywords.row(k))
        assert other.program(k) == questions.program(k)
    assert other.answers.tolist() == questions.answers.tolist()
    again = other.numbered_by(questions.vocabulary)
    assert again.words.flat.tolist() == questions.words.flat.tolist()


def test_its_own_vocabulary_changes_no_number() -> None:
    strange = [QuestionRecord("many zebras how", 0, "0", None, 0)]
    data = VisualQuestions.of("x", [EMPTY, EMPTY], RECORDS[:1], strange)
    same = data.validation.numbered_by(data.vocabulary)
    assert same.lexicon == data.validation.lexicon
    assert same.spelling.flat.tolist() == data.validation.spelling.flat.tolist()
    assert same.spelling.flat.dtype == torch.int32
    empty = Questions.of([]).numbered_by(data.vocabulary)
    assert len(empty) == 0 and empty.words.padded().shape == (0, 0)


@given(st.lists(st.integers(0, 2), max_size=6))
def test_selected_questions_are_those_that_were_named(chosen) -> None:
    questions = Questions.of(RECORDS)
    part = questions.select(chosen)
    assert len(part) == len(chosen)
    for k, origin in enumerate(chosen):
        assert part.text_words(k) == questions.text_words(origin)
        assert part.program(k) == questions.program(origin)
        assert part.answer(k) == questions.answer(origin)
        assert part.keywords.row(k).equal(questions.keywords.row(origin))


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=5))
def test_padding_keeps_the_rows(rows) -> None:
    lengths = torch.tensor([0, *(len(row) for row in rows)])
    table = Ragged(torch.tensor([n for row in rows for n in row], dtype=torch.int8), lengths.cumsum(0))
    width = max(map(len, rows), default=0)
    assert table.padded().tolist() == [row + [-1] * (width - len(row)) for row in rows]
    assert table.padded().dtype == torch.long and table.padded().shape == (len(rows), width)


def test_arrays_are_small(questions) -> None:
    assert questions.programs.flat.dtype == questions.modules.flat.dtype == torch.int8
    assert questions.keywords.flat.dtype == torch.int16 and questions.keywords.flat.shape[1] == 2
    assert questions.spelling.flat.dtype == questions.scenes.dtype == torch.int32
    assert questions.programs.flat.tolist()[:2] == [MODULES.index("count"), MODULES.index("scene")]


def test_no_question_at_all() -> None:
    questions = Questions.of([])
    assert (
        len(questions) == 0 and not [*questions.not_understood()] and questions.vocabulary == (UNKNOWN_WORD,)
    )
    assert questions.words.padded().shape == (0, 0) and questions.keywords.padded().shape == (0, 0, 2)


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(ParseError, match="the grammar has no symbol 'all'; its symbols are exist"):
        Questions.of([replace(RECORDS[0], program=("count", "all"))])


def test_the_digest_sees_every_part() -> None:
    cube = Thing("small", "red", "rubber", "cube")
    lonely = Scene((cube,), dict.fromkeys(RELATIONS, (frozenset(),)), {})
    turned = replace(lonely, things=(replace(cube, rotation=1.0),))
    other = replace(RECORDS[0], answer="4")

    def digest(scenes: list[Scene], train: QuestionRecord, validation: QuestionRecord) -> str:
        return VisualQuestions.of("x", scenes, [train], [validation]).digest

    base = ([lonely], RECORDS[0], RECORDS[0])
    variants = [([turned], *base[1:]), ([lonely], other, RECORDS[0]), ([lonely], RECORDS[0], other)]
    digests = {digest(*variant) for variant in [base, *variants]}
    assert len(digests) == 4 and digest(*base) in digests
