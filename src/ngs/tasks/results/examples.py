"""Experiments with corrections: some of each kind that the paper shows, and how frequent it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ngs.tasks.results.corrections import Corrections
from ngs.tasks.results.experiment import Cell, Experiment, Means
from ngs.tasks.results.job import Trained
from ngs.tasks.results.outcome import Outcome
from ngs.tasks.results.tables import Section, rows_of
from ngs.tasks.settings import RunSettings
from ngs.tasks.trainable import Source

PLACE = ("corrections", "")


def corrections(
    task: str,
    title: str,
    needs: tuple[Source, ...],
    early: Callable[[Means], RunSettings],
    quick: RunSettings,
    number: int,
) -> Experiment:
    """Of a network that has learned something, and still makes mistakes of every kind.

    A quick run reads only this `number` of examples.
    """

    def cells(settings: RunSettings, **options: Any) -> list[Cell]:
        return [Cell(*PLACE, (Corrections(Trained(task, settings), **options),))]

    return Experiment(
        f"{task}-examples",
        title,
        needs,
        lambda means: cells(early(means)),
        lambda means: cells(quick, number=number),
        show,
    )


def show(outcome: Outcome) -> Section:
    run, name = next(outcome.runs, None), outcome.experiment
    if run is None:
        return Section("Not run yet.")
    result, counted = run.result, run.result["kinds"]
    rows = [
        [kind, str(found["count"]), "" if found["share"] is None else f"{100 * found['share']:.1f}%"]
        for kind, found in counted.items()
    ]
    shown, drawings = [], {}
    for kind in counted:
        example = next((each for each in result["examples"] if each["kind"] == kind), None)
        if example is not None:
            stem = example["drawing"].removesuffix(".svg")
            drawings[f"{name}-{stem}"] = (run.drawings or {})[stem]
            shown.append(f"**{kind}**: {_told(example)}\n\n![{kind}]({{{name}-{stem}}})")
    noun = "formulas" if "formulas" in result else "questions"
    wrong = f"{result['wrong']} were wrong"
    head = f"Of {result[noun]} {noun} read by the network of step {result['step']}, {wrong}."
    return Section("\n\n".join([head, rows_of(["kind", "count", "share"], rows), *shown]), drawings=drawings)


def _told(example: dict[str, Any]) -> str:
    """What was written, read and found, in the order it happened."""
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
    if example.get("true") is None:  # of a formula, or nobody knows it
        del told["true"]
    return "; ".join(
        f"{phrase} nothing" if example[name] is None else f"{phrase} `{example[name]}`"
        for name, phrase in told.items()
        if name in example
    )
