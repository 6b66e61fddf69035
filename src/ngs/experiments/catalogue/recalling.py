"""Runs that are known from a record: done elsewhere, and not to be done again."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path

from ngs.errors import NGSError
from ngs.experiments.catalogue.experiment import Cell, jobs_of
from ngs.experiments.job import address
from ngs.experiments.results.outcome import Run, read_outcome


def recalled(record: Path, experiment: str, cells: Sequence[Cell]) -> dict[str, Run]:
    """The runs on record by their address; an NGSError where some are none of the experiment's cells.

    A record keeps no networks: a job that reads from one of these runs has it done again.
    """
    if not record.exists():
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
    jobs = [job for instead in (False, True) for job in jobs_of(cells, instead=instead)]
    if lost := len(runs.keys() - set(map(address, jobs))):
        raise NGSError(
            f"{record} holds {lost} of {len(runs)} runs that are none of this experiment's with these data "
            f"and as many seeds, and would lose them; give the --seeds and data that it was made with, or "
            f"another --record"
        )
    return runs


def check_nothing_is_lost(record: Path, kept: Container[str], results: Path) -> None:
    """An NGSError where a record that is about to be written anew holds runs that are not among the `kept`
    addresses."""
    lost = [run for run in read_outcome(record).runs if run.address not in kept] if record.exists() else []
    if lost:
        raise NGSError(
            f"{record} holds {len(lost)} runs that are neither in {results} nor to be done now, and would "
            f"lose them; add --extend to keep them, or give another --record"
        )
