"""Mistakes shown are those of the network, asked one by one; corrections agree with the plain reference."""

from pathlib import Path

import pytest
import torch

from ngs.experiments.report.outcome import read_run
from ngs.tasks.clevr.correction import correct
from ngs.tasks.clevr.dataset import VisualQuestions
from ngs.tasks.clevr.execution import spoken, trace
from ngs.tasks.clevr.noun_phrases import equivalent
from ngs.tasks.clevr.preparation import PreparedQuestions, load_reader
from ngs.tasks.clevr.program import Program
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.report.searches import MULTI_STEP, ONE_STEP, Fate
from ngs.tasks.run_folder import BEST, EARLY
from tests.experiments.report.reports import Reported


def asked_one_by_one(folder: Path, data: VisualQuestions) -> dict[int, tuple[Program, float, bool, bool]]:
    """(program, p, whether the answer is right, whether it is equivalent) of each test question."""
    reader, found = load_reader(folder), {}
    part = data.validation
    for k in range(len(part)):
        likely = reader.read(" ".join(part.text_words(k))).programs[0]
        answer = spoken(trace(likely.program, data.scenes[int(part.scenes[k])]).value)
        true = part.program(k)
        assert true is not None
        alike = equivalent(likely.program, true)
        found[int(part.numbers[k])] = likely.program, likely.probability, answer == part.answer(k), alike
    return found


def test_the_mistakes_are_those_of_the_network(questions: Reported) -> None:
    one_by_one, shown = asked_one_by_one(questions.run, questions.data), questions.shown
    exam = shown.exam
    rights = [(right, alike) for _, _, right, alike in one_by_one.values()]
    assert len(exam.wrong) == sum(not right for right, _ in rights) > 0
    assert len(exam.lucky) == sum(right and not alike for right, alike in rights)
    assert exam.scores.total.symbols_right == sum(alike for _, alike in rights)
    some = shown.wrong + shown.lucky
    assert len(some) == min(12, len(exam.wrong + exam.lucky))
    for each in some:
        program, p, right, alike = one_by_one[each.number]
        assert each.read.program == program
        assert each.p == pytest.approx(p, rel=1e-3)
        assert (each.read.answer == each.answer) == right
        assert each.true is not None
        assert (each.true.answer, alike) == (each.answer, False)


def test_a_sample_has_the_scenes_of_its_questions(questions: Reported) -> None:
    config, data = read_run(questions.run).config, questions.data
    assert isinstance(config, TrainCLEVR)
    prepared = PreparedQuestions(config, torch.device("cpu"))
    few = prepared.readings(questions.run, BEST, "test", 7)
    assert (len(few), few.of) == (7, 100)
    place = {number: k for k, number in enumerate(data.validation.numbers.tolist())}
    for k, number in enumerate(few.questions.numbers.tolist()):
        whole = data.validation.scenes[place[number]]
        assert few.scenes[int(few.questions.scenes[k])] == data.scenes[int(whole)]
    assert len(few.mistakes(2, 0)[0]) <= 2


# Corrections


def test_shown_corrections_are_those_of_the_reference(questions: Reported) -> None:
    found = questions.shown.corrections
    reader = load_reader(questions.run, EARLY)
    some = [each for shown in found.shown(3).values() for each in shown]
    assert len(some) >= 3
    for each in some:
        answered = each
        reference = correct(reader, answered.text, answered.scene, answered.answer, few=1)
        assert answered.read.program == reference.first.program
        assert answered.read.answer != answered.answer
        fix = None if each.correction is None else each.correction.program
        assert fix == (None if reference.corrected is None else reference.corrected.program)
        assert answered.true is not None
        if fix is None:
            assert each.fate is Fate.NONE
        else:
            same = equivalent(fix, answered.true.program)
            assert each.fate is (Fate.TRUE if same else Fate.SPURIOUS)


def test_every_wrong_answer_has_a_fate(questions: Reported) -> None:
    found = questions.shown.corrections
    assert set(found.fates) == set(found.compared) == {ONE_STEP, MULTI_STEP}
    for fates in found.fates.values():
        assert len(fates) == len(found.readings.wrong) and Fate.UNJUDGED not in fates
    for fate, some in found.shown(3).items():
        assert len(some) == min(3, found.fates[ONE_STEP].count(fate))
