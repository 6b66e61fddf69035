"""From the record of an experiment back to the folder of results: what was done elsewhere is done."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ngs.experiments.folder import ENVIRONMENT, RESULT
from ngs.experiments.job import Job
from ngs.experiments.record import METRICS, Record
from ngs.experiments.results.outcome import Outcome, Run
from ngs.experiments.sweep.store import Store, addressed
from ngs.learning.whole_file import replacing


def recall(outcome: Outcome, jobs: Iterable[Job], store: Store) -> int:
    """Put the jobs that are on record into a store that has nothing of them; how many that were.

    A record keeps no networks: what a job that is still to be done would read from, is done again instead.
    """
    on_record = {run.address: run for run in outcome.runs}
    entries = addressed(jobs, lambda address: address in on_record or store.has(address))
    read_from = {need for entry in entries for need in entry.needs}
    wanted = {entry.address for entry in entries} & on_record.keys() - read_from
    recalled = [address for address in wanted if not store.at(address).exists()]
    for address in recalled:
        _write(on_record[address], store)
    return len(recalled)


def _write(run: Run, store: Store) -> None:
    """The files that `gathering.run_of` reads, the result last: it says that the rest is there."""
    folder = store.at(run.address)
    folder.mkdir(parents=True)
    record = Record(folder, writes=True)
    record.write(ENVIRONMENT, run.environment)
    for name, drawing in (run.drawings or {}).items():
        (folder / f"{name}.svg").write_text(drawing, encoding="utf-8")
    if run.curve:
        with replacing(folder / METRICS) as temporary:
            rows = (json.dumps(_row(point)) + "\n" for point in run.curve)
            temporary.write_text("".join(rows), encoding="utf-8")
    record.write(RESULT, run.result)


def _row(point: dict[str, Any]) -> dict[str, Any]:
    """The line of metrics that a point of a curve was taken from."""
    place = {name: point[name] for name in ("step", "seconds")}
    return {**place, "test": {name: share for name, share in point.items() if name not in place}}
