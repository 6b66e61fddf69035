"""Experiments of the catalogue in a size that a test can run: tiny data and networks, and a step or two."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ngs.networks.pointer import Size
from ngs.tasks.clevr import packed as packed_questions
from ngs.tasks.clevr.dataset import Questions
from ngs.tasks.clevr.embedded import synthetic
from ngs.tasks.clevr.paper.workloads import ProgramLength
from ngs.tasks.clevr.trainable import QUESTIONS
from ngs.tasks.costs.step_cost import StepCost
from ngs.tasks.hwf import packed as packed_formulas
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.paper.long import LongTest
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.hwf.trainable import CLEAN_FORMULAS, FORMULAS
from ngs.tasks.results.corrections import Corrections
from ngs.tasks.results.experiment import Cell, Experiment, Means
from ngs.tasks.results.job import Job, Trained
from ngs.tasks.settings import RunSettings
from tests.experiments.training import trained

NETWORK = "small"
"""of questions; a test makes it tiny for as long as it runs"""
SIZE = Size(8, 4)


@dataclass(frozen=True)
class Data:
    """Where the tiny data lie."""

    formulas: str
    other_formulas: str
    questions: str

    @classmethod
    def written(cls, folder: Path) -> Data:
        paths = [folder / f"formulas-{seed}.ngs" for seed in range(2)]
        for seed, path in enumerate(paths):
            formulas = embedded(seed=seed, train=64, test=48, lengths={1: 0.25, 3: 0.25, 5: 0.25, 7: 0.25})
            packed_formulas.write(path, formulas)

        def short(questions: Questions, number: int) -> Questions:
            return questions.select((questions.modules.lengths <= 8).nonzero().flatten()[:number])

        made = synthetic(scenes=8, per_scene=10, validation_scenes=4, validation_per_scene=8)
        few = replace(made, train=short(made.train, 24), validation=short(made.validation, 8))
        packed_questions.write(folder / "questions.ngs", few)
        return cls(*map(str, paths), str(folder / "questions.ngs"))

    def means(self, seeds: int = 1) -> Means:
        there = {FORMULAS: self.formulas, CLEAN_FORMULAS: self.other_formulas, QUESTIONS: self.questions}
        return Means(there, seeds)


def smaller(experiment: Experiment, data: Data) -> Experiment:
    """The experiment with the same places, of which the quick jobs are still smaller."""
    return replace(
        experiment,
        quick=lambda means: [
            Cell(cell.row, cell.column, tuple(small_job(job, data) for job in cell.jobs))
            for cell in experiment.quick(means)
        ],
    )


def small_job(job: Job, data: Data) -> Job:
    match job:
        case Trained(_, config):
            return trained(small_config(config, data))
        case LongTest(run):
            return replace(job, run=trained(small_config(run.settings, data)), lengths=(1, 9), formulas=4)
        case Corrections(run):
            number = 40 if run.task == "hwf" else 10
            small_run = trained(small_config(run.settings, data))
            return replace(job, run=small_run, number=number, examples=1)
        case StepCost(workload):
            small = replace(workload, batch_size=2) if hasattr(workload, "batch_size") else workload
            values = (
                job.values[:2] if isinstance(workload, ProgramLength) else (1, 3)
            )  # no program is so short
            return replace(job, workload=small, values=values, rounds=1, warm_up=0)
    raise NotImplementedError(f"a smaller {type(job).__name__}")


STEPS = {"steps": 2, "validate_every": 1, "batch_size": 4, "validation": 0.25}


def small_config(config: RunSettings, data: Data) -> RunSettings:
    if isinstance(config, TrainHWF):
        return _formulas(config, data)
    return replace(config, data=data.questions, network=NETWORK, **STEPS)


def _formulas(config: TrainHWF, data: Data) -> TrainHWF:
    pretrain = 0.01 if config.pretrain else 0.0
    return replace(config, data=data.formulas, pretrain=pretrain, pretrain_formulas=8, augment=False, **STEPS)
