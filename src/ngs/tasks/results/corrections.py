"""Kinds of correction (Li et al. 2020, Sec. 4.1.2, supplement Sec. 3.2): how frequent, and some of each.

A network that has only begun to learn reads training examples. Where its answer is wrong, 1-BS and m-BS
correct it, and the labels, which no search sees, tell what the correction is worth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from ngs.errors import NGSError
from ngs.learning.whole_file import replacing
from ngs.search.back_search import ChainSettings
from ngs.tasks.finding import find
from ngs.tasks.report.gallery import ReadAgain
from ngs.tasks.report.searches import Searches
from ngs.tasks.results.job import Job, Measurement, Measuring, Progress, Trained
from ngs.tasks.run_folder import EARLY, step_of


@dataclass(frozen=True)
class Corrections(Measurement):
    """Corrections of what the early network of a run misreads in its training examples."""

    run: Trained
    """whose early network reads"""
    number: int = 1000
    """of examples that are read, at most"""
    walk_steps: int = 10
    """of m-BS"""
    examples: int = 3
    """of each kind that are kept, at most"""

    def __post_init__(self) -> None:
        if self.number < 1 or self.examples < 0:
            raise NGSError(
                f"{self.examples} examples of each kind among {self.number} {self.noun}; read at least one, "
                f"and keep 0 or more"
            )
        _ = self.chain  # checks the rest

    @property
    def noun(self) -> str:
        return self.again.report.examples

    @property
    def again(self) -> ReadAgain:
        """How its run is read again."""
        again = find(self.run.task).page().read
        assert isinstance(again, ReadAgain), "a job is about a task that is learned from answers"
        return again

    @property
    def facts(self) -> dict[str, Any]:
        own = {self.noun: self.number, "walk_steps": self.walk_steps, "examples": self.examples}
        return {"job": "corrections", "version": 1, "run": self.run.facts, **own}

    @property
    def needs(self) -> tuple[Job, ...]:
        return (self.run,)

    @property
    def chain(self) -> ChainSettings:
        own: ChainSettings = self.run.settings.chain
        return replace(own, steps=self.walk_steps)

    def measure(self, folder: Path, needed: Sequence[Path]) -> Measuring:
        (run,) = needed
        found = self.corrected(run)
        readings = found.readings
        possible = [fate.value for fate in found.possible]
        yield Progress(0, 1, {})
        return {
            "step": step_of(run / EARLY, self.run.task),
            self.noun: len(readings),
            "wrong": len(readings.wrong),
            "lucky": len(readings.lucky),
            "kinds": counted(found.kinds, kinds_of(found)),
            "searches": {
                name: counted(possible, [fate.value for fate in fates]) for name, fates in found.fates.items()
            },
            "examples": list(examples_of(found, self.examples, folder)),
        }

    def corrected(self, run: Path) -> Searches[Any]:
        parts = find(self.run.task).prepare(self.run.settings, torch.device("cpu")).parts
        readings = self.again.readings(run, EARLY, self.run.settings, parts, "train", self.number)
        return self.again.report.searches.of(readings, self.chain, self.run.settings.seed)


def kinds_of(found: Searches[Any]) -> list[str]:
    """[wrong]"""
    return list(map(found.kind, range(len(found.readings.wrong))))


def counted(kinds: Sequence[str], found: Sequence[str]) -> dict[str, dict[str, float | None]]:
    """How many there are of each kind, and their share; there is no share of nothing."""
    counts, of = Counter(found), len(found)
    return {kind: {"count": counts[kind], "share": counts[kind] / of if of else None} for kind in kinds}


def examples_of(found: Any, limit: int, folder: Path) -> Iterator[dict[str, Any]]:
    """At most `limit` of each kind; each is drawn into `folder`."""
    kinds = kinds_of(found)
    for kind in found.kinds:
        for rank, k in enumerate(found.some(kinds, kind, limit, found.turn), 1):
            facts, drawn = found.example(k)
            drawing = f"{kind.replace(' ', '-')}-{rank}.svg"
            with replacing(folder / drawing) as stage:
                stage.write_text(drawn, encoding="utf-8")
            worth = {name: fates[k].value for name, fates in found.fates.items()}
            yield {"kind": kind, **facts, "worth": worth, "drawing": drawing}
