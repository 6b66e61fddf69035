"""Questions as tensors: in order, with all that is known of them, and judged as the reference judges."""

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
import torch

from ngs.grammar.constraint import AnyOrder
from ngs.grammar.padding import PAD
from ngs.learning.packed_file import Ragged
from ngs.tasks.clevr.batched_execution import SceneTables
from ngs.tasks.clevr.dataset import QuestionRecord, Questions, divided
from ngs.tasks.clevr.dictionary import modules_of
from ngs.tasks.clevr.examples import Part, QuestionInputs, counts_of, inputs_of
from ngs.tasks.clevr.execution import execute, spoken
from ngs.tasks.clevr.language import Programs, TidyPrograms
from ngs.tasks.clevr.program import MODULES
from ngs.tasks.clevr.scenes import Scene
from ngs.tasks.clevr.semantics import Unique, lenient, strict
from tests.tasks.clevr.programs import encoded
from tests.tasks.clevr.readers import row, some_questions
from tests.tasks.clevr.test_execution import random_source

SCENES = (
    row("small red rubber cube", "large blue metal sphere", "large red metal cube"),
    row("small cyan metal cylinder"),
)
CUBES = ("count", "filter_shape[cube]", "scene")
RECORDS = (
    QuestionRecord("How many cubes are there?", 0, "2", CUBES, 10),
    QuestionRecord("How many frobs are there?", 0, "2", CUBES, 11),
    QuestionRecord("How many balls are there?", 1, None, ("count", "filter_shape[sphere]", "scene"), 12),
    QuestionRecord("How many things are there?", 1, "1", ("count", "scene"), 13),
    QuestionRecord("How many gadgets are there?", 1, None, None, 14),
    QuestionRecord("Is there a cyan cube?", 1, "no", None, 15),
)


def questions_of(*records: QuestionRecord) -> Questions:
    return Questions.of(records)


def part_of(questions: Questions, scenes: tuple[Scene, ...] = SCENES, unique: Unique = strict) -> Part:
    return Part.of(questions, SceneTables.of(scenes, unique), TidyPrograms())


def without_programs(questions: Questions) -> Questions:
    nothing = Ragged(torch.zeros(0, dtype=torch.int8), torch.zeros(len(questions) + 1, dtype=torch.long))
    return replace(questions, programs=nothing)


# Which questions


def test_questions_are_kept_in_order_and_those_without_an_answer_are_left_out() -> None:
    part = part_of(questions_of(*RECORDS))
    assert part.questions.numbers.tolist() == [10, 13, 15]
    assert part.not_understood.numbers.tolist() == [11]
    assert len(part) == 4 and len(part.examples) == 3


def test_the_rows_of_the_examples_are_those_of_the_questions() -> None:
    questions = some_questions().train
    order = random_source().sample(range(len(questions)), len(questions))
    part = part_of(questions.select(order), some_questions().scenes)
    examples, inputs = part.examples, part.examples.inputs
    assert isinstance(inputs, QuestionInputs)
    assert part.questions.numbers.tolist() == [int(questions.numbers[k]) for k in order]
    for k in range(len(part)):
        words = [word for word in inputs.words[k].tolist() if word != PAD]
        assert tuple(questions.vocabulary[word] for word in words) == part.questions.text_words(k)
        assert examples.lengths[k] == len(part.questions.program(k) or ())


def test_no_question_at_all() -> None:
    part = part_of(questions_of(RECORDS[1], RECORDS[4]))
    assert len(part) == 1 and len(part.questions) == 0 and len(part.examples) == 0


# What is known of them


def test_the_labels_are_the_programs() -> None:
    labels = part_of(questions_of(RECORDS[0], RECORDS[3])).examples.labels
    assert labels is not None
    assert labels.tolist() == encoded([CUBES, ("count", "scene")]).tolist()


def test_where_a_program_is_missing_there_are_no_labels() -> None:
    assert part_of(questions_of(*RECORDS)).examples.labels is None
    questions = some_questions().train
    assert part_of(without_programs(questions), some_questions().scenes).examples.labels is None


def test_programs_of_questions_that_are_left_out_may_be_missing() -> None:
    unlabelled = [replace(record, program=None) for record in (RECORDS[1], RECORDS[2])]
    assert part_of(questions_of(RECORDS[0], *unlabelled)).examples.labels is not None


def test_counts_are_those_of_the_dictionary() -> None:
    questions = some_questions().train
    counts = counts_of(questions.modules)
    assert counts.shape == (len(questions), len(MODULES))
    for k in range(len(questions)):
        want = Counter(modules_of(questions.text_words(k)).modules)
        assert {m: n for m, n in zip(MODULES, counts[k].tolist(), strict=True) if n} == dict(want)
    assert int(counts.max()) > 1
    assert counts_of(questions.select([]).modules).shape == (0, len(MODULES))


# The judge


@pytest.mark.parametrize("unique", [strict, lenient])
def test_programs_are_judged_as_the_reference_judges_them(unique: Unique) -> None:
    """The true programs, and arrangements of the same modules that are programs or not."""
    rng = random_source()
    data = some_questions()
    part = part_of(data.train, data.scenes, unique)
    true = [part.questions.program(k) or () for k in range(len(part))]
    numbers = torch.arange(len(part))
    assert part.judge(numbers, encoded(true)).all()

    others = [other_program(part, k, rng) for k in range(len(part))]
    judged = part.judge(numbers, encoded(others)).tolist()
    want = [
        spoken(execute(program, data.scenes[int(part.questions.scenes[k])], unique=unique))
        == part.questions.answer(k)
        for k, program in enumerate(others)
    ]
    assert judged == want and {True, False} <= set(judged)
    chosen = torch.tensor([3, 3, 0])
    assert part.judge(chosen, encoded([others[3], true[3], others[0]])).tolist() == [
        judged[3],
        True,
        judged[0],
    ]


def other_program(part: Part, k: int, rng: Random) -> tuple[str, ...]:
    """A random arrangement of the modules of a question, in the grammar."""
    language, left = Programs(), counts_of(part.questions.modules)[k].long()
    columns = [PAD]
    while left.sum():
        legal = language.legal(left[None], torch.tensor(columns[-1:]))[0]
        columns.append(rng.choice(legal.nonzero().flatten().tolist()))
        left[columns[-1]] -= 1
    return tuple(MODULES[column] for column in columns[1:])


def test_what_is_no_program_is_wrong() -> None:
    part = Part.of(questions_of(RECORDS[0]), SceneTables.of(SCENES), AnyOrder(len(MODULES)))
    backwards = encoded([tuple(reversed(CUBES)), CUBES])
    assert part.judge(torch.tensor([0, 0]), backwards).tolist() == [False, True]


def test_several_objects_are_one_too_many_unless_lenient() -> None:
    program = ("query_color", "unique", "filter_shape[cube]", "scene")
    record = QuestionRecord("What color is the cube?", 0, "red", program, 0)
    for unique, right in ((strict, False), (lenient, True)):
        part = part_of(questions_of(record), unique=unique)
        assert part.judge(torch.tensor([0]), encoded([program])).tolist() == [right]


# What a network is shown


@pytest.fixture(scope="module")
def inputs() -> QuestionInputs:
    return inputs_of(some_questions().train)


def test_padding_is_cut_where_no_question_of_the_batch_needs_it(inputs: QuestionInputs) -> None:
    shortest = int(inputs.counts.argmin())
    for numbers in ([6, 1, 3], [shortest]):
        shown, longest = inputs.batch(np.array(numbers)), int(inputs.counts[numbers].max())
        assert shown.words.dtype == torch.int64
        assert torch.equal(shown.words, inputs.words[numbers, :longest].long())
        assert shown.keywords.shape == (len(numbers), longest, len(MODULES))
    assert not (shown.words == PAD).any()


def test_a_word_speaks_of_some_modules_or_of_none() -> None:
    inputs = QuestionInputs(torch.zeros(1, 3), torch.tensor([[[1, 3], [0, 2], [1, 0], [PAD, PAD]]]))
    table = inputs.batch(np.arange(1)).keywords
    assert [word.nonzero().flatten().tolist() for word in table[0]] == [[2], [0, 3], []]
    assert table.max() == 1


def test_keywords_of_a_batch_are_those_of_its_questions(inputs: QuestionInputs) -> None:
    questions, numbers = some_questions().train, random_source().sample(range(100), 8)
    table = inputs.batch(np.array(numbers)).keywords
    found = [row.nonzero().tolist() for row in table]
    assert found == [questions.keywords.row(k).unique(dim=0).tolist() for k in numbers]


def test_questions_without_keywords_have_a_table() -> None:
    bare = inputs_of(questions_of(RECORDS[1]))  # not understood
    assert bare.batch(np.arange(1)).keywords.shape == (1, 5, len(MODULES))
    assert bare.batch(np.arange(1)).keywords.sum() == 0


# A share of the questions


def test_the_share_is_the_same_of_each_number_of_modules() -> None:
    questions = some_questions().train
    part, _ = divided(questions, 0.4, seed=3)
    whole, taken = (Counter(q.modules.lengths.tolist()) for q in (questions, part))
    assert len(whole) > 8
    assert taken == Counter({length: round(0.4 * count) for length, count in whole.items()})


def test_the_choice_depends_on_the_seed_and_on_what_is_known_without_programs() -> None:
    def chosen(questions: Questions, seed: int) -> list[int]:
        return divided(questions, 0.5, seed)[0].numbers.tolist()

    questions = some_questions().train
    assert chosen(questions, 3) == chosen(questions, 3) == chosen(without_programs(questions), 3)
    assert chosen(questions, 3) != chosen(questions, 4)


def test_questions_that_are_not_understood_are_divided_too() -> None:
    records = [QuestionRecord("What is a frob?", 0, "yes", None, k) for k in range(10)]
    assert [len(part) for part in divided(questions_of(*records), 0.3, seed=0)] == [3, 7]
    assert [len(part) for part in divided(questions_of(), 0.5, seed=0)] == [0, 0]
