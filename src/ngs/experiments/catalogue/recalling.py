"""Runs that are known from records: done elsewhere, and not to be done again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ngs.errors import NGSError
from ngs.experiments.sweep.store import Store
from ngs.tasks.results.experiment import Cell, addresses_of
from ngs.tasks.results.job import Job, address
from ngs.tasks.results.outcome import Run, read_outcome


def recalled(
    record: Path, experiment: str, cells: Sequence[Cell], beside: Iterable[Path] = ()
) -> dict[str, Run]:
    """The runs on record by their address; an NGSError where there are none, or some of no cell.

    Experiments share runs: what the records `beside` it hold of the cells counts as well, but for less than
    what is on its own, which may be among them. A record keeps no networks: a job that reads from one of
    these runs has it done again.
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
    """An NGSError where a record that is about to be written anew holds runs of which the store has nothing,
    and which are not among the jobs to be done now."""
    if not record.exists():
        return
    kept = set(filter(store.has, addresses_of(cells))) | set(map(address, jobs))
    if lost := sum(run.address not in kept for run in read_outcome(record).runs):
        raise NGSError(
            f"{record} holds {lost} runs that are neither in {store.root} nor to be done now, and would "
            f"lose them; add --extend to keep them, or give another --record"
        )
