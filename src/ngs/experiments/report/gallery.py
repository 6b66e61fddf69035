"""What the networks of a run misread, and what a search makes of it, for a page to show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import torch
from torch import Tensor

from ngs.experiments.config import TrainHWF
from ngs.experiments.folder import BEST, EARLY, check_data, step_of
from ngs.experiments.hwf import load_network, parts_of, reasoner_of
from ngs.experiments.report.corrections import Fates, corrections
from ngs.experiments.report.mistakes import Mistakes, confusion, mistakes
from ngs.learning.examples import Examples
from ngs.learning.metrics import Scores, read_all, scores_of
from ngs.search.back_search import ChainSettings
from ngs.search.reasoner import Reasoner
from ngs.tasks.hwf.dataset import GRAMMAR

SHOWN_MISTAKES, SHOWN_CORRECTIONS = 24, 6
"""At most; of the corrections for each fate."""
SAMPLE = 300
"""Training formulas that are corrected."""


@dataclass(frozen=True, eq=False)
class Exam:
    """What the best network of a run reads on the test part."""

    step: int
    """of the network"""
    examples: Examples
    names: Sequence[str]
    """[example]"""
    scores: Scores
    confusion: Tensor
    """[true, read]"""
    mistakes: Mistakes


@dataclass(frozen=True, eq=False)
class Practice:
    """What an early network reads in some training formulas, and how its answers are corrected."""

    step: int
    """of the network"""
    formulas: int
    """that were learned from"""
    examples: Examples
    """some of them"""
    corrections: Fates | None
    """None where there was nothing to correct"""


@dataclass(frozen=True, eq=False)
class Gallery:
    data: str
    """the name of the data set"""
    exam: Exam
    practice: Practice


def gallery(folder: Path, config: TrainHWF) -> Gallery:
    """Read the test part and some training formulas anew, with the networks of a run."""
    parts = parts_of(config, torch.device("cpu"))
    check_data(folder / BEST, config.data, parts.data.digest)
    exam = _exam(folder, parts.test, parts.data.test.names)
    return Gallery(parts.data.name, exam, _practice(folder, config, parts.train))


def _exam(folder: Path, part: Reasoner, names: Sequence[str]) -> Exam:
    reading = read_all(load_network(folder), part)
    return Exam(
        step_of(folder / BEST, "hwf"),
        part.examples,
        names,
        scores_of(reading, part.examples),
        confusion(reading, part.examples, len(GRAMMAR.symbols)),
        mistakes(reading, part.examples, GRAMMAR, SHOWN_MISTAKES),
    )


def _practice(folder: Path, config: TrainHWF, part: Reasoner) -> Practice:
    """With the network of the first validation, which has much to learn; with the best if it has not."""
    formulas = len(part.examples)
    chosen = sorted(Random(0).sample(range(formulas), min(SAMPLE, formulas)))
    sample = reasoner_of(part.examples.select(chosen))
    for name in [EARLY] * (folder / EARLY).exists() + [BEST]:
        step, reading = step_of(folder / name, "hwf"), read_all(load_network(folder, name), sample)
        if not reading.right.all():
            settings = ChainSettings(steps=config.walk_steps)
            generator = torch.Generator().manual_seed(config.seed)
            found = corrections(reading, sample, settings, generator, SHOWN_CORRECTIONS)
            return Practice(step, formulas, sample.examples, found)
    return Practice(step, formulas, sample.examples, None)
