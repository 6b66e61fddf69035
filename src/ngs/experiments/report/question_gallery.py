"""What the networks of a run make wrong of questions, and what a search makes of that, for a page to show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from ngs.experiments.clevr import load_reader, parts_of
from ngs.experiments.config import TrainCLEVR
from ngs.experiments.folder import BEST, EARLY, check_data, step_of
from ngs.experiments.report.question_corrections import JudgedCorrections, corrections
from ngs.experiments.report.questions import Readings, Sample, WrongAnswers, sample, wrong_answers
from ngs.tasks.clevr.scores import ProgramScores, scores_of

SHOWN_MISTAKES, SHOWN_CORRECTIONS = 12, 3
"""At most; of the corrections for each verdict."""
EXAM, PRACTICE = 5_000, 300
"""Test questions that are read anew, and training questions that are corrected, at most."""


@dataclass(frozen=True, eq=False)
class QuestionExam:
    """What the best network of a run makes of the test part, or of some of it."""

    step: int
    """of the network"""
    sample: Sample
    not_understood: int
    """questions of the test part that nobody can read"""
    scores: ProgramScores
    """without those"""
    mistakes: WrongAnswers


@dataclass(frozen=True, eq=False)
class QuestionPractice:
    """What an early network makes of some training questions, and how its answers are corrected."""

    step: int
    """of the network"""
    sample: Sample
    corrections: JudgedCorrections | None
    """None where there was nothing to correct"""


@dataclass(frozen=True, eq=False)
class QuestionGallery:
    data: str
    """the name of the data set"""
    exam: QuestionExam
    practice: QuestionPractice


def question_gallery(folder: Path, config: TrainCLEVR) -> QuestionGallery:
    """Read test questions and some training questions anew, with the networks of a run."""
    parts = parts_of(config, torch.device("cpu"))
    check_data(folder / BEST, config.data, parts.data.digest)
    test = sample(config, parts.test, parts.data.scenes, EXAM)
    train = sample(config, parts.train, parts.data.scenes, PRACTICE)
    readings = Readings.of(load_reader(folder).network, test)
    exam = QuestionExam(
        step_of(folder / BEST, "clevr"),
        test,
        len(parts.test.not_understood),
        scores_of(readings.outcomes),
        wrong_answers(readings, SHOWN_MISTAKES),
    )
    return QuestionGallery(parts.data.name, exam, _practice(folder, config, train))


def _practice(folder: Path, config: TrainCLEVR, train: Sample) -> QuestionPractice:
    """With the network of the first validation, which has much to learn; with the best if it has not."""
    for name in [EARLY] * (folder / EARLY).exists() + [BEST]:
        step = step_of(folder / name, "clevr")
        readings = Readings.of(load_reader(folder, name).network, train)
        if readings.wrong:
            generator = torch.Generator().manual_seed(config.seed)
            found = corrections(readings, config.chain, generator, SHOWN_CORRECTIONS)
            return QuestionPractice(step, train, found)
    return QuestionPractice(step, train, None)
