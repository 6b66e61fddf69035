"""Corrections of questions agree with the plain reference, and true programs judge them."""

from __future__ import annotations

from dataclasses import replace

import torch

from ngs.experiments.report.outcome import read_run
from ngs.tasks.clevr.correction import correct
from ngs.tasks.clevr.noun_phrases import equivalent
from ngs.tasks.clevr.preparation import load_reader
from ngs.tasks.clevr.report.report import QuestionReadings, QuestionSearches
from ngs.tasks.report.searches import MULTI_STEP, ONE_STEP, Fate
from ngs.tasks.run_folder import EARLY
from tests.experiments.report.reports import Reported


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


def test_without_programs_nothing_is_judged(questions: Reported) -> None:
    config, judged, readings = (
        read_run(questions.run).config,
        questions.shown.corrections,
        questions.shown.practice,
    )
    assert isinstance(readings, QuestionReadings)
    nothing = torch.zeros_like(readings.questions.programs.offsets)
    programs = replace(
        readings.questions.programs, flat=readings.questions.programs.flat[:0], offsets=nothing
    )
    bare = replace(readings.part, questions=replace(readings.questions, programs=programs))
    found = QuestionSearches.of(replace(readings, part=bare), config.chain, config.seed)
    assert found.readings.lucky == []
    for name, fates in found.fates.items():
        assert fates == [Fate.NONE if each is Fate.NONE else Fate.UNJUDGED for each in judged.fates[name]]
    assert found.shown(1)[Fate.UNJUDGED][0].true is None
