"""`ngs reproduce` and `ngs results`: run experiments of the catalogue, and write down what is known."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, make_dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import torch
import typer

from ngs.console.options import option, with_options
from ngs.errors import NGSError
from ngs.experiments.catalogue.gathering import check_nothing_is_lost, gathered, recalled
from ngs.experiments.catalogue.page import (
    EXPERIMENTS,
    RECORDS,
    SOURCES,
    experiment,
    illustrated,
    listed,
    records,
    write_page,
)
from ngs.experiments.sweep.driver import Events
from ngs.experiments.sweep.local import run_here
from ngs.experiments.sweep.on_ray import run_on_ray
from ngs.experiments.sweep.store import Store, addressed
from ngs.tasks.results.experiment import Cell, Experiment, Means, jobs_of
from ngs.tasks.results.job import Job, address
from ngs.tasks.results.outcome import Outcome, Run, write_outcome
from ngs.tasks.results.tables import provenance
from ngs.tasks.trainable import Source

Sweep = Callable[[Sequence[Job], Store], Events]
WHERE: Mapping[str, Callable[..., Events]] = {
    "here": lambda jobs, store, workers: run_here(jobs, store, workers=workers),
    "ray": lambda jobs, store, workers: run_on_ray(jobs, store, per_gpu=workers or 1),
}

RESULTS = Path("runs/reproduce")
QUICK_SEEDS, SEEDS = 1, 3
SILENCE = 60.0  # seconds after which a run that goes on says where it is


@dataclass(frozen=True)
class Options:
    """What is asked of `ngs reproduce`."""

    list_them: bool = option(False, "List the experiments.", "--list")
    quick: bool = option(False, "Embedded data and few steps: minutes on two cores.", "--quick")
    seeds: int | None = option(
        None, f"Runs of each setting. [default: {SEEDS}; {QUICK_SEEDS} if quick]", min=1
    )
    results: Path = option(RESULTS, "Folder of all runs; what it holds is not done again.")
    record: Path | None = option(None, "Folder for the records. [default: the folder of the runs]")
    extend: bool = option(
        False, "Add to the records: runs that one of the folder holds are not done again.", "--extend"
    )
    row: list[str] | None = option(
        None, "Run only these rows of the tables; repeat it. What is there of others is shown."
    )
    workers: int | None = option(
        None, "Runs at a time; on Ray, runs that share a GPU. [default: one for each GPU]", min=1
    )
    on: str = option("here", f"Where to run: {', '.join(WHERE)} (an existing cluster).")
    device: str | None = option(
        None, "Where costs are measured: cpu or cuda. [default: cuda if there is one]"
    )
    instead: bool = option(
        False, "Run what is shown (†) while the real runs are too long to do.", "--instead"
    )
    only_gather: bool = option(False, "Run nothing: show and record what is there.", "--only-gather")


PARAMETERS: Mapping[Source, str] = {each: each.option.replace("-", "_") for each in SOURCES}
Asked = make_dataclass(
    "Asked",
    [(name, str, option(each.path, f"{each.title}, as imported.")) for each, name in PARAMETERS.items()],
    bases=(Options,),
    frozen=True,
)
"""Also where the data of each source are."""


@partial(with_options, configuration=Asked)
def reproduce(
    asked: Options,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[EXPERIMENT]...", help="Which; see --list.")
    ] = None,
) -> None:
    """Rerun experiments of the paper, and our own: only what is missing is done.

    Interrupt it at any time; the same command goes on. On several machines: --on ray, or --row for each.
    """
    if asked.list_them or not names:
        for each in EXPERIMENTS.values():
            typer.echo(listed(each))
        return
    if asked.on not in WHERE:
        raise NGSError(f"--on is {asked.on!r}; choose from {', '.join(WHERE)}")
    device = asked.device or ("cuda" if torch.cuda.is_available() else "cpu")
    data = {source: getattr(asked, name) for source, name in PARAMETERS.items()}
    means = Means(data, asked.seeds or (QUICK_SEEDS if asked.quick else SEEDS), device)
    wanted = {each.name: (each, each.cells(means, quick=asked.quick)) for each in map(experiment, names)}
    store = Store(asked.results)
    scale = "-quick" if asked.quick else ""
    paths = {name: (asked.record or asked.results) / f"{name}{scale}.json" for name in EXPERIMENTS}
    chosen = _in_rows([cell for _, cells in wanted.values() for cell in cells], asked.row or ())
    jobs = [] if asked.only_gather else list(jobs_of(chosen, instead=asked.instead))
    known = {
        name: recalled(paths[name], name, cells, beside=paths.values()) if asked.extend else {}
        for name, (_, cells) in wanted.items()
    }
    if asked.record is not None and not asked.extend:
        for name, (_, cells) in wanted.items():
            check_nothing_is_lost(paths[name], cells, jobs, store)
    missing = _unknown(jobs, known.values())
    sweep = partial(WHERE[asked.on], workers=asked.workers)
    failed = 0 if asked.only_gather else _run(missing, store, sweep, _labels(wanted))
    for each, cells in wanted.values():
        outcome = gathered(each, cells, store, quick=asked.quick, known=known[each.name])
        _write_down(each, outcome, asked.results / f"figures{scale}", paths[each.name])
    if failed:
        raise NGSError(f"failed, see above: {failed} of the runs; the same command tries them again")


def results(
    docs: Annotated[Path, typer.Argument(help="The folder of the documentation.")] = Path("docs"),
) -> None:
    """Write results.md and its figures from the records in results/ of the same folder."""
    outcomes = records(docs / RECORDS)
    if not outcomes:
        raise NGSError(f"{docs / 'results'} holds no records; make some: ngs reproduce NAME --record DIR")
    typer.echo(f"written to {write_page(outcomes, docs)}")


def _in_rows(cells: Sequence[Cell], rows: Sequence[str]) -> list[Cell]:
    there = dict.fromkeys(cell.row for cell in cells)
    if unknown := [row for row in rows if row not in there]:
        raise NGSError(f"no row is named {', '.join(unknown)}; choose from {', '.join(there)}")
    return [cell for cell in cells if not rows or cell.row in rows]


def _labels(wanted: Mapping[str, tuple[Experiment, Sequence[Cell]]]) -> dict[str, str]:
    """What a job is for, by its address."""
    return {
        address(job): f"{name}: {cell.row} {cell.column}".rstrip() + (f", seed {seed}" if several else "")
        for name, (_, cells) in wanted.items()
        for cell in cells
        for several in [len(cell.jobs) > 1]
        for seed, job in enumerate(cell.jobs)
    }


def _run(jobs: Sequence[Job], store: Store, sweep: Sweep, labels: Mapping[str, str]) -> int:
    """Do the jobs, telling what happens; how many failed."""
    number = len(addressed(jobs, store.has))
    typer.echo(f"{number} runs; interrupt them at any time, and the same command goes on")
    try:
        with closing(sweep(jobs, store)) as events:  # whatever happens, its jobs stop
            return _tell(events, number, labels)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; what is done is in {store.root}, and the same command goes on", err=True)
        raise


def _tell(events: Events, number: int, labels: Mapping[str, str]) -> int:
    """Tell what happens to so many runs; how many failed."""
    failed = done = 0
    told: dict[str, float] = {}
    for event in events:
        name, now = event.entry.address, time.monotonic()
        label = labels.get(name, "a run that others need")
        if event.state == "running":
            if now > told.setdefault(name, now) + SILENCE:
                told[name] = now
                typer.echo(f"at {event.text}: {label}")
        elif event.state == "failed":
            failed += 1
            typer.echo(f"failed: {label}\n{event.text}", err=True)
        else:
            done += 1
            typer.echo(f"[{done}/{number}] {event.state}: {label}")
    return failed


def _unknown(jobs: Sequence[Job], known: Iterable[Mapping[str, Run]]) -> list[Job]:
    on_record = {name for runs in known for name in runs}
    unknown = [job for job in jobs if address(job) not in on_record]
    if number := len(jobs) - len(unknown):
        typer.echo(f"on record, and not done again: {number} of {len(jobs)} runs")
    return unknown


def _write_down(each: Experiment, outcome: Outcome, images: Path, path: Path) -> None:
    write_outcome(outcome, path)
    text = illustrated(each.show(outcome), images, str(images))
    heading = each.title + (" (quick: embedded data and few steps)" if outcome.quick else "")
    typer.echo(f"\n{heading}\n\n{text}\n\n{provenance(outcome)}\nwritten to {path}")
