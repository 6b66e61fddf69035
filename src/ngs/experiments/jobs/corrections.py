"""The kinds of correction of Li et al. (2020, Sec. 4.1.2) among formulas: how frequent, and some of each.

A network that has only begun to learn reads training formulas. Where its answer is wrong, 1-BS and m-BS
correct it, and the labels, which no search sees, tell what the correction is worth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import torch

from ngs.errors import NGSError
from ngs.experiments.config import TrainHWF
from ngs.experiments.folder import EARLY, step_of
from ngs.experiments.hwf import load_network, parts_of, reasoner_of
from ngs.experiments.job import Job, Trained
from ngs.experiments.jobs.finish import finish
from ngs.experiments.report.corrections import MULTI_STEP, ONE_STEP, Fate, Searches, in_turn, sentence
from ngs.experiments.report.mistakes import labels_of, misreading
from ngs.experiments.run import Progress
from ngs.explanations.drawing import as_svg
from ngs.explanations.text import shown
from ngs.learning.metrics import read_all
from ngs.learning.whole_file import replacing
from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.back_search import ChainSettings
from ngs.search.one_step import one_step
from ngs.tasks.hwf.dataset import GRAMMAR


class Kind(Enum):
    """What became of a formula with a wrong answer."""

    DIGIT = "digit"
    """1-BS changes a digit, and the formula is as it is written"""
    OPERATOR = "operator"
    """1-BS changes an operator, and the formula is as it is written"""
    MORE_STEPS = "more steps"
    """1-BS finds nothing, and m-BS finds a formula with the right answer"""
    NONE = "none"
    """neither finds anything"""
    SPURIOUS = "spurious"
    """1-BS finds a formula with the right answer that is not what is written"""


@dataclass(frozen=True)
class Corrections:
    """Corrections of what the early network of a run misreads in its training formulas."""

    alone: ClassVar[bool] = False

    config: TrainHWF
    formulas: int = 1000
    """that are read, at most"""
    walk_steps: int = 10
    """of m-BS"""
    examples: int = 3
    """of each kind that are kept, at most"""

    def __post_init__(self) -> None:
        if self.formulas < 1 or self.examples < 0:
            raise NGSError(
                f"{self.examples} examples of each kind among {self.formulas} formulas; at least one formula "
                f"must be read"
            )
        _ = self.settings  # checks the rest

    @property
    def facts(self) -> dict[str, Any]:
        (run,) = self.needs
        own = {"formulas": self.formulas, "walk_steps": self.walk_steps, "examples": self.examples}
        return {"job": "corrections", "version": 1, "run": run.facts, **own}

    @property
    def needs(self) -> tuple[Job, ...]:
        return (Trained(self.config),)

    @property
    def settings(self) -> ChainSettings:
        return ChainSettings(steps=self.walk_steps)

    def do(self, folder: Path, needed: Sequence[Path]) -> Iterator[Progress]:
        (run,) = needed
        found = self.corrected(run)
        result = {
            "step": step_of(run / EARLY, "hwf"),
            "formulas": len(found.searches.reading.right),
            "wrong": len(found.kinds),
            "lucky": found.lucky,
            "kinds": counted(Kind, found.kinds),
            "searches": {name: counted(Fate, fates) for name, fates in found.fates.items()},
            "examples": list(found.examples(self.examples, folder)),
        }
        finish(folder, torch.device("cpu"), result)
        yield Progress(1, 1, result)

    def corrected(self, run: Path) -> CorrectedFormulas:
        every = parts_of(self.config, torch.device("cpu")).train.examples
        chosen = sorted(Random(0).sample(range(len(every)), min(self.formulas, len(every))))
        part = reasoner_of(every.select(chosen))
        reading = read_all(load_network(run, EARLY), part)
        generator = torch.Generator().manual_seed(self.config.seed)
        return CorrectedFormulas(Searches.of(reading, part, self.settings, generator), chosen)


@dataclass(frozen=True, eq=False)
class CorrectedFormulas:
    """The wrong answers, told apart; `k` counts them."""

    searches: Searches
    chosen: Sequence[int]
    """[example]: which of the training formulas"""

    @property
    def fates(self) -> Mapping[str, list[Fate]]:
        """[wrong], by search"""
        return self.searches.back_search_fates

    @cached_property
    def kinds(self) -> list[Kind]:
        """[wrong]"""
        pairs = zip(self.fates[ONE_STEP], self.fates[MULTI_STEP], strict=True)
        return [self._kind(k, *pair) for k, pair in enumerate(pairs)]

    def _kind(self, k: int, one: Fate, several: Fate) -> Kind:
        if one is Fate.NONE:
            return Kind.NONE if several is Fate.NONE else Kind.MORE_STEPS
        if one is Fate.SPURIOUS:
            return Kind.SPURIOUS
        pairs = zip(sentence(self.searches.states[0, k]), sentence(self.searches.one.z[k]), strict=True)
        (changed,) = [old for old, new in pairs if old != new]
        return Kind.DIGIT if changed.isdigit() else Kind.OPERATOR

    @property
    def lucky(self) -> int:
        """Formulas that are misread and have the right answer all the same."""
        reading = self.searches.reading
        misread = (reading.symbols != labels_of(self.searches.part.examples)).any(1)
        return int((misread & reading.right).sum())

    def examples(self, limit: int, folder: Path) -> Iterator[dict[str, Any]]:
        """Some of each kind, the lengths in turn, longest first; each is drawn into `folder`."""
        lengths = self.searches.part.examples.lengths[self.searches.numbers]
        for kind in Kind:
            those = (k for k, other in enumerate(self.kinds) if other is kind)
            taken = islice(in_turn(those, lambda k: (-int(lengths[k]),)), limit)
            for rank, k in enumerate(taken, 1):
                drawing = f"{kind.value.replace(' ', '-')}-{rank}.svg"
                yield {"kind": kind.value, **self._example(k, folder / drawing), "drawing": drawing}

    def _example(self, k: int, drawing: Path) -> dict[str, Any]:
        searches, number = self.searches, int(self.searches.numbers[k])
        misread = misreading(searches.reading, searches.part.examples, GRAMMAR, number)
        correction = one_step(GRAMMAR, Arithmetic, misread.log_probs, misread.answer, misread.read)
        with replacing(drawing) as stage:
            stage.write_text(as_svg(correction), encoding="utf-8")
        states = ["".join(sentence(z)) for z in searches.states[:, k]]
        return {
            "formula": self.chosen[number],
            "written": "".join(misread.written),
            "answer": shown(misread.answer),
            "read": "".join(misread.read),
            "value": shown(misread.value),
            "one_step": None if correction.sentence is None else "".join(correction.sentence),
            "multi_step": states[-1] if searches.several.found[k] else None,
            "worth": {name: fates[k].value for name, fates in self.fates.items()},
            "walk": [state for state, _ in groupby(states)],
        }


def counted(kinds: type[Enum], found: Sequence[Enum]) -> dict[str, dict[str, float | None]]:
    """How many there are of each kind, and their share; there is no share of nothing."""
    counts, of = Counter(found), len(found)
    return {kind.value: {"count": counts[kind], "share": counts[kind] / of if of else None} for kind in kinds}
