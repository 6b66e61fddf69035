"""Corrections of questions agree with the plain reference, and true programs judge them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import torch

from ngs.experiments.clevr import load_reader
from ngs.experiments.folder import EARLY, RESULT
from ngs.experiments.report.corrections import MULTI_STEP, ONE_STEP
from ngs.experiments.report.outcome import read_run
from ngs.experiments.report.question_corrections import Verdict, corrections
from ngs.experiments.report.question_gallery import QuestionGallery, question_gallery
from ngs.experiments.report.questions import Readings
from ngs.tasks.clevr.correction import correct
from ngs.tasks.clevr.equivalence import equivalent
from tests.experiments.report.documents import facts


def test_shown_corrections_are_those_of_the_reference(
    question_run: Path, question_shown: QuestionGallery
) -> None:
    found = question_shown.practice.corrections
    reader = load_reader(question_run, EARLY)
    assert found is not None
    some = [each for shown in found.shown.values() for each in shown]
    assert len(some) >= 3
    for each in some:
        answered = each.answered
        reference = correct(reader, answered.text, answered.scene, answered.answer, few=1)
        assert answered.read.program == reference.first.program
        assert answered.read.answer != answered.answer
        fix = None if each.correction is None else each.correction.program
        assert fix == (None if reference.corrected is None else reference.corrected.program)
        assert answered.true is not None
        if fix is None:
            assert each.verdict is Verdict.NONE
        else:
            same = equivalent(fix, answered.true.program)
            assert each.verdict is (Verdict.TRUE if same else Verdict.SPURIOUS)


def test_every_wrong_answer_has_a_verdict(question_shown: QuestionGallery) -> None:
    found = question_shown.practice.corrections
    assert found is not None
    assert set(found.verdicts) == {ONE_STEP, MULTI_STEP}
    for counts in found.verdicts.values():
        assert sum(counts.values()) == found.wrong
        assert counts[Verdict.UNJUDGED] == 0
    for verdict, some in found.shown.items():
        assert len(some) == min(3, found.verdicts[ONE_STEP][verdict])


def test_without_programs_nothing_is_judged(question_run: Path, question_shown: QuestionGallery) -> None:
    config, sample = read_run(question_run).config, question_shown.practice.sample
    readings = Readings.of(load_reader(question_run, EARLY).network, sample)
    unknown = replace(
        readings, outcomes=[replace(each, same=None, equivalent=None) for each in readings.outcomes]
    )
    nothing = torch.zeros_like(sample.questions.programs.offsets)
    programs = replace(sample.questions.programs, flat=sample.questions.programs.flat[:0], offsets=nothing)
    bare = replace(sample, part=replace(sample.part, questions=replace(sample.questions, programs=programs)))
    generators = [torch.Generator().manual_seed(0) for _ in range(2)]
    judged = corrections(readings, config.chain, generators[0], 1)
    found = corrections(replace(unknown, sample=bare), config.chain, generators[1], 1)
    assert found.lucky == 0
    for name, counts in found.verdicts.items():
        right = judged.verdicts[name][Verdict.TRUE] + judged.verdicts[name][Verdict.SPURIOUS]
        assert counts == Counter({Verdict.UNJUDGED: right, Verdict.NONE: found.wrong - right})
    assert found.shown[Verdict.UNJUDGED][0].answered.true is None


def test_without_the_early_network_the_best_is_corrected(
    question_copy: Path, question_shown: QuestionGallery
) -> None:
    assert question_shown.practice.step == 3
    (question_copy / EARLY).unlink()
    other = question_gallery(question_copy, read_run(question_copy).config)
    assert other.practice.step == other.exam.step == facts(question_copy / RESULT)["chosen_step"]
