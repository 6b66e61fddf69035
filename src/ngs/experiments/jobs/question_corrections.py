"""The kinds of correction of programs (Li et al. 2020, supplement, Sec. 3.2): how frequent, and some of each.

A network that has only begun to learn reads training questions. Where its answer is wrong, 1-BS and m-BS
correct its program, and the true program, which no search sees, tells what the correction is worth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import torch

from ngs.errors import NGSError
from ngs.experiments.clevr import load_reader, parts_of
from ngs.experiments.config import TrainCLEVR
from ngs.experiments.folder import EARLY, step_of
from ngs.experiments.job import Job, Trained
from ngs.experiments.jobs.corrections import counted
from ngs.experiments.jobs.finish import finish
from ngs.experiments.report.corrections import MULTI_STEP, ONE_STEP, in_turn
from ngs.experiments.report.question_corrections import Verdict, searched, verdicts_on
from ngs.experiments.report.questions import Readings, sample
from ngs.experiments.run import Progress
from ngs.learning.whole_file import replacing
from ngs.search.back_search import ChainSettings, Corrections
from ngs.tasks.clevr.correction import Edits, correct, tidy_switches
from ngs.tasks.clevr.explanation import drawn_correction
from ngs.tasks.clevr.program import Program, program_of
from ngs.tasks.clevr.program_text import shown_answer
from ngs.tasks.clevr.reading import QuestionReader


class Kind(Enum):
    """What became of a question with a wrong answer."""

    TRUE = "true"
    """1-BS finds a program that means what the true one means"""
    MORE_STEPS = "more steps"
    """1-BS finds nothing, and m-BS finds a program with the right answer"""
    NONE = "none"
    """neither finds anything"""
    SPURIOUS = "spurious"
    """1-BS finds the right answer by a program that means something else"""
    UNJUDGED = "unjudged"
    """1-BS finds the right answer, and nobody knows the true program"""


@dataclass(frozen=True)
class QuestionCorrections:
    """Corrections of what the early network of a run makes of its training questions."""

    alone: ClassVar[bool] = False

    config: TrainCLEVR
    questions: int = 1000
    """that are read, at most"""
    walk_steps: int = 10
    """of m-BS"""
    examples: int = 3
    """of each kind that are kept, at most"""

    def __post_init__(self) -> None:
        if self.questions < 1 or self.examples < 0:
            raise NGSError(
                f"{self.examples} examples of each kind among {self.questions} questions; at least one "
                f"question must be read"
            )
        _ = self.chain  # checks the rest

    @property
    def facts(self) -> dict[str, Any]:
        (run,) = self.needs
        own = {"questions": self.questions, "walk_steps": self.walk_steps, "examples": self.examples}
        return {"job": "corrections", "version": 1, "run": run.facts, **own}

    @property
    def needs(self) -> tuple[Job, ...]:
        return (Trained(self.config),)

    @property
    def chain(self) -> ChainSettings:
        return replace(self.config.chain, steps=self.walk_steps)

    def do(self, folder: Path, needed: Sequence[Path]) -> Iterator[Progress]:
        (run,) = needed
        found = self.corrected(run)
        result = {
            "step": step_of(run / EARLY, "clevr"),
            "questions": len(found.readings.outcomes),
            "wrong": len(found.kinds),
            "lucky": len(found.readings.lucky),
            "kinds": counted(Kind, found.kinds),
            "searches": {name: counted(Verdict, verdicts) for name, verdicts in found.verdicts.items()},
            "examples": list(found.examples(self.examples, folder)),
        }
        finish(folder, torch.device("cpu"), result)
        yield Progress(1, 1, result)

    def corrected(self, run: Path) -> CorrectedQuestions:
        parts = parts_of(self.config, torch.device("cpu"))
        reader = load_reader(run, EARLY)
        asked = sample(self.config, parts.train, parts.data.scenes, self.questions)
        readings = Readings.of(reader.network, asked)
        generator = torch.Generator().manual_seed(self.config.seed)
        edits = tidy_switches if self.config.grammar == "tidy" and not self.config.moves else None
        return CorrectedQuestions(reader, edits, readings, *searched(readings, self.chain, generator))


@dataclass(frozen=True, eq=False)
class CorrectedQuestions:
    """The wrong answers, told apart; `k` counts them."""

    reader: QuestionReader
    edits: Edits | None
    """what one step can change; None for all that the reader's language can"""
    readings: Readings
    one: Corrections
    several: Corrections
    """what 1-BS and m-BS ended in"""

    @cached_property
    def verdicts(self) -> dict[str, list[Verdict]]:
        """[wrong], by search"""
        found = {ONE_STEP: self.one, MULTI_STEP: self.several}
        return {name: verdicts_on(self.readings, each) for name, each in found.items()}

    @cached_property
    def kinds(self) -> list[Kind]:
        """[wrong]"""
        return list(map(_kind, self.verdicts[ONE_STEP], self.verdicts[MULTI_STEP]))

    def examples(self, limit: int, folder: Path) -> Iterator[dict[str, Any]]:
        """Some of each kind, the kinds of question in turn, short programs first; each is drawn."""
        numbers, outcomes = self.readings.wrong, self.readings.outcomes
        for kind in Kind:
            those = [k for k, other in enumerate(self.kinds) if other is kind]
            those.sort(key=lambda k: outcomes[numbers[k]].length)
            taken = islice(in_turn(those, lambda k: self.readings.kind(numbers[k])), limit)
            for rank, k in enumerate(taken, 1):
                drawing = f"{kind.value.replace(' ', '-')}-{rank}.svg"
                yield {"kind": kind.value, **self._example(k, folder / drawing), "drawing": drawing}

    def _example(self, k: int, drawing: Path) -> dict[str, Any]:
        number = self.readings.wrong[k]
        (p,) = self.readings.p([number], self.readings.programs[number][None])
        answered = self.readings.answered(number, p)
        text, scene, answer = answered.text, answered.scene, answered.answer
        correction = correct(self.reader, text, scene, answer, edits=self.edits, few=1)
        with replacing(drawing) as stage:
            stage.write_text(drawn_correction(correction), encoding="utf-8")
        return {
            "question": text,
            "number": answered.number,
            "answer": answer,
            "true": None if answered.true is None else _text(answered.true.program),
            "read": _text(answered.read.program),
            "value": shown_answer(answered.read.answer),
            "p_read": p,
            "change": correction.search.edit and correction.search.edit.text,
            "one_step": _found(self.one, k),
            "multi_step": _found(self.several, k),
            "worth": {name: verdicts[k].value for name, verdicts in self.verdicts.items()},
        }


def _kind(one: Verdict, several: Verdict) -> Kind:
    if one is Verdict.NONE:
        return Kind.NONE if several is Verdict.NONE else Kind.MORE_STEPS
    return Kind(one.value)


def _text(program: Program) -> str:
    return " ".join(program)


def _found(corrections: Corrections, k: int) -> str | None:
    return _text(program_of(corrections.z[k].tolist())) if corrections.found[k] else None
