"""Kinds of correction (Li et al. 2020, Sec. 4.1.2, supplement Sec. 3.2): how frequent, and some of each.

An early network reads training examples, 1-BS and m-BS correct its wrong answers, and the labels, which no
search sees, judge the corrections.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from ngs.learning.whole_file import replacing
from ngs.search.back_search import ChainSettings
from ngs.tasks.finding import find
from ngs.tasks.report.report import AnswersReport
from ngs.tasks.report.searches import Searches
from ngs.tasks.results.experiment import Cell, Experiment, Means
from ngs.tasks.results.job import Job, Measurement, Measuring, Progress, Trained
from ngs.tasks.results.outcome import Outcome
from ngs.tasks.results.tables import Section, rows_of
from ngs.tasks.run_folder import EARLY, step_of
from ngs.tasks.settings import RunSettings
from ngs.tasks.task import PreparedAnswers
from ngs.tasks.trainable import Source


@dataclass(frozen=True)
class Corrections(Measurement):
    """Corrections of the training examples that a run's early network misreads."""

    run: Trained  # its early network reads
    number: int = 1000  # of examples to read, at most
    walk_steps: int = 10  # steps of m-BS
    examples: int = 3  # to keep of each kind, at most

    @property
    def noun(self) -> str:
        return find(self.run.task).metrics.examples

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
        yield Progress(0, 1, {})
        found = self.corrected(run)
        readings, possible = found.readings, [fate.value for fate in found.possible]
        worth = {name: [fate.value for fate in fates] for name, fates in found.fates.items()}
        return {
            "step": step_of(run / EARLY, self.run.task),
            self.noun: len(readings),
            "wrong": len(readings.wrong),
            "lucky": len(readings.lucky),
            "kinds": counted(found.kinds, kinds_of(found)),
            "searches": {name: counted(possible, fates) for name, fates in worth.items()},
            "examples": list(examples_of(found, self.examples, folder)),
        }

    def corrected(self, run: Path) -> Searches:
        task, settings = find(self.run.task), self.run.settings
        prepared, report = task.prepare(settings, torch.device("cpu")), task.report()
        assert isinstance(prepared, PreparedAnswers) and issubclass(report, AnswersReport)
        readings = prepared.readings(run, EARLY, "train", self.number)
        return report.searches.of(readings, self.chain, settings.seed)


def kinds_of(found: Searches) -> list[str]:
    """[wrong]"""
    return list(map(found.kind, range(len(found.readings.wrong))))


def counted(kinds: Sequence[str], found: Sequence[str]) -> dict[str, dict[str, float | None]]:
    """The count and share of each kind; the share is None if nothing was found."""
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


PLACE = ("corrections", "")


def corrections(
    task: str,
    title: str,
    needs: tuple[Source, ...],
    early: Callable[[Means], RunSettings],
    quick: RunSettings,
    number: int,
) -> Experiment:
    """Corrections of a network that still makes mistakes of every kind; a quick run reads `number`."""

    def full(means: Means) -> list[Cell]:
        return [Cell(*PLACE, (Corrections(Trained(task, early(means))),))]

    fewer = [Cell(*PLACE, (Corrections(Trained(task, quick), number),))]
    return Experiment(f"{task}-examples", title, needs, full, lambda means: fewer, show)


def show(outcome: Outcome) -> Section:
    run, name = next(outcome.runs, None), outcome.experiment
    if run is None:
        return Section("Not run yet.")
    result, counted = run.result, run.result["kinds"]
    rows = [
        [kind, str(found["count"]), "" if found["share"] is None else f"{100 * found['share']:.1f}%"]
        for kind, found in counted.items()
    ]
    first = {each["kind"]: each for each in reversed(result["examples"])}
    shown, drawings = [], {}
    for kind in filter(first.__contains__, counted):
        stem = first[kind]["drawing"].removesuffix(".svg")
        drawings[f"{name}-{stem}"] = (run.drawings or {})[stem]
        shown.append(f"**{kind}**: {_told(first[kind])}\n\n![{kind}]({{{name}-{stem}}})")
    noun = find(run.facts["run"]["task"]).metrics.examples
    wrong = f"{result['wrong']} were wrong"
    head = f"Of {result[noun]} {noun} read by the network of step {result['step']}, {wrong}."
    return Section("\n\n".join([head, rows_of(["kind", "count", "share"], rows), *shown]), drawings=drawings)


def _told(example: dict[str, Any]) -> str:
    told = {
        "question": "asked",
        "written": "written",
        "true": "which means",
        "read": "read",
        "value": "which gives",
        "answer": "instead of",
        "one_step": "1-BS finds",
        "multi_step": "m-BS finds",
    }
    if example.get("true") is None:  # formulas have none; or it is unknown
        del told["true"]
    return "; ".join(
        f"{phrase} nothing" if example[name] is None else f"{phrase} `{example[name]}`"
        for name, phrase in told.items()
        if name in example
    )
