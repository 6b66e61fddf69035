"""From the folder of results to the outcome of an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ngs.errors import DataError
from ngs.experiments.record import read_rows
from ngs.experiments.sweep.store import Store
from ngs.tasks.results.experiment import Cell, Experiment
from ngs.tasks.results.job import Job, address
from ngs.tasks.results.outcome import Outcome, Place, Run
from ngs.tasks.run_folder import ENVIRONMENT, METRICS, RESULT, read_facts

AGAIN = "delete its folder, and `ngs reproduce` does it again"
ENVIRONMENT_KEPT = ("device", "threads", "python", "packages", "commit")


def gathered(
    experiment: Experiment,
    cells: Sequence[Cell],
    store: Store,
    *,
    quick: bool,
    known: Mapping[str, Run] = MappingProxyType({}),
) -> Outcome:
    """What the store holds of it, and what else is `known`, by address."""
    return Outcome(experiment.name, quick, tuple(_place(cell, store, known) for cell in cells))


def _place(cell: Cell, store: Store, known: Mapping[str, Run]) -> Place:
    done = _done(cell.jobs, store, known)
    if done or not cell.instead:
        return Place(cell.row, cell.column, len(cell.jobs), done)
    instead = _done(cell.instead, store, known)
    return Place(cell.row, cell.column, len(cell.jobs), instead, instead=bool(instead))


def _done(jobs: Sequence[Job], store: Store, known: Mapping[str, Run]) -> tuple[Run, ...]:
    there = [(job, address(job)) for job in jobs]
    return tuple(
        run_of(job, store.at(name)) if store.has(name) else known[name]
        for job, name in there
        if store.has(name) or name in known
    )


def run_of(job: Job, folder: Path) -> Run:
    """A finished job as it goes on record: without what only the machine it ran on can use."""
    result = {name: value for name, value in _facts(folder / RESULT).items() if name != "validation"}
    environment = _facts(folder / ENVIRONMENT, *ENVIRONMENT_KEPT)
    some = "products", "resumed"  # not of every run
    kept = {name: environment[name] for name in (*ENVIRONMENT_KEPT, *some) if name in environment}
    drawings = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.svg"))}
    return Run(address(job), job.facts, result, kept, _curve(folder / METRICS), drawings or None)


def _facts(path: Path, *needed: str) -> dict[str, Any]:
    facts = read_facts(path)
    if not isinstance(facts, dict) or not set(needed) <= facts.keys():
        raise DataError(f"{path} is damaged, or of another version of NGS; {AGAIN}")
    return facts


def _curve(path: Path) -> tuple[dict[str, Any], ...]:
    if not path.exists():
        return ()
    try:
        return tuple(_point(row) for row in read_rows(path) if "test" in row)
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} has a damaged line ({error!r}); {AGAIN}") from None


def _point(row: dict[str, Any]) -> dict[str, Any]:
    shares = {name: round(share, 5) for name, share in row["test"].items() if isinstance(share, float)}
    return {"step": row["step"], "seconds": row["seconds"], **shares}
