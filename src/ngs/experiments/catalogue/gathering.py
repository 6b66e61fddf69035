"""The outcome of an experiment: from the folder of results, and from records of runs done elsewhere."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ngs.errors import DataError, NGSError
from ngs.experiments.sweep.store import Store
from ngs.tasks.results.experiment import Cell, Experiment, addresses_of
from ngs.tasks.results.job import Job, address
from ngs.tasks.results.outcome import Outcome, Place, Run, read_outcome
from ngs.tasks.run_folder import ENVIRONMENT, METRICS, RESULT, read_facts, read_rows

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
    """The places with the runs in the store, and those `known` by address."""
    return Outcome(experiment.name, quick, tuple(_place(cell, store, known) for cell in cells))


def _place(cell: Cell, store: Store, known: Mapping[str, Run]) -> Place:
    done = _done(cell.jobs, store, known)
    if done or not cell.instead:
        return Place(cell.row, cell.column, len(cell.jobs), done)
    instead = _done(cell.instead, store, known)
    return Place(cell.row, cell.column, len(cell.jobs), instead, instead=bool(instead))


def _done(jobs: Sequence[Job], store: Store, known: Mapping[str, Run]) -> tuple[Run, ...]:
    addresses = {address(job): job for job in jobs}
    found = (run_of(job, store.at(a)) if store.has(a) else known.get(a) for a, job in addresses.items())
    return tuple(run for run in found if run is not None)


def run_of(job: Job, folder: Path) -> Run:
    """The record of a finished job."""
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
    rows = read_rows(path) if path.exists() else []
    return tuple(_point(row) for row in rows if "test" in row)


def _point(row: dict[str, Any]) -> dict[str, Any]:
    shares = {name: round(share, 5) for name, share in row["test"].items() if isinstance(share, float)}
    return {"step": row["step"], "seconds": row["seconds"], **shares}


def recalled(
    record: Path, experiment: str, cells: Sequence[Cell], beside: Iterable[Path] = ()
) -> dict[str, Run]:
    """Runs on record by address, of this experiment and of the records `beside` it, which may share runs.

    A record keeps no networks: a job that reads one of these runs needs it done again.
    """
    addresses = addresses_of(cells)
    shared = {
        run.address: run
        for other in beside
        if other.exists()
        for run in read_outcome(other).runs
        if run.address in addresses
    }
    if not record.exists():
        if shared:
            return shared
        raise NGSError(
            f"{record}: there is no such record to extend; leave out --extend, or name the folder that has "
            f"it by --record"
        )
    outcome = read_outcome(record)
    if outcome.experiment != experiment:
        raise NGSError(
            f"{record} is the record of {outcome.experiment}; give a folder with one of {experiment}"
        )
    runs = {run.address: run for run in outcome.runs}
    if lost := len(runs.keys() - addresses):
        raise NGSError(
            f"{record} holds {lost} of {len(runs)} runs that are none of this experiment's with these data "
            f"and as many seeds, and would lose them; give the --seeds, --device and data that it was made "
            f"with, or another --record"
        )
    return {**shared, **runs}


def check_nothing_is_lost(record: Path, cells: Sequence[Cell], jobs: Sequence[Job], store: Store) -> None:
    """Refuse to overwrite a record with runs that are neither in the store nor among the jobs."""
    if not record.exists():
        return
    kept = set(filter(store.has, addresses_of(cells))) | set(map(address, jobs))
    if lost := sum(run.address not in kept for run in read_outcome(record).runs):
        raise NGSError(
            f"{record} holds {lost} runs that are neither in {store.root} nor to be done now, and would "
            f"lose them; add --extend to keep them, or give another --record"
        )
