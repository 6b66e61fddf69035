"""`ngs train`, `evaluate`, `report`, `compare`: from a configuration to a run, and what runs are worth."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from ngs.apps.errors import reporting_errors
from ngs.apps.options import options_of
from ngs.errors import NGSError
from ngs.experiments import comparison
from ngs.experiments import run as runs
from ngs.experiments.config import TrainHWF
from ngs.experiments.report.page import write_report

train_app = typer.Typer(help="Train a network from answers alone.", no_args_is_help=True)


@train_app.callback()
def train() -> None:
    """Train a network from answers alone."""


@train_app.command()
@reporting_errors
@options_of(TrainHWF)
def hwf(
    config: TrainHWF,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; by default runs/hwf-METHOD-SEED.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Go on with the interrupted run in this folder; its own settings count."),
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Throw away a run that is in the folder already.")] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads; by default all cores.")] = None,
) -> None:
    """Learn to read handwritten formulas.

    The network sees images of symbols and is told what each formula comes to, never what the symbols are
    (except with the methods that need labels: supervised, --pretrain). Without --data it learns from
    synthetic handwriting that is made on the spot.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    console = Console()
    if resume is not None:
        if out is not None or overwrite or config != TrainHWF():
            raise NGSError("--resume goes on with the run's own settings; give it alone, or with --threads")
        config, folder = runs.load_config(resume), resume
    else:
        folder = Path("runs") / f"hwf-{config.method}-{config.seed}" if out is None else out
        if overwrite:
            runs.remove(folder)
    try:
        events = runs.train(config, folder, resume=resume is not None, command=["ngs", *sys.argv[1:]])
        result = _follow(events, console, f"[bold]{config.method}[/] on {config.data}, into {folder}")
    except KeyboardInterrupt:
        console.print(f"stopped; go on with: ngs train hwf --resume {folder}", soft_wrap=True)
        raise typer.Exit(130) from None
    console.print(_table(result["test"], f"{result['data']}, test part"))
    console.print(
        f"{result['training_seconds']:.1f} s of training; the network of step {result['chosen_step']}, "
        f"chosen on the validation part, is in {folder / runs.BEST}",
        soft_wrap=True,
    )
    console.print(f"see the whole story: ngs report {folder}", soft_wrap=True)


def _follow(events: Iterator[runs.Progress], console: Console, title: str) -> dict[str, Any]:
    """Show a run as it goes: a bar that moves, and a line for each validation; the result at the end."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    row: dict[str, Any] = {}
    lesson = ""
    with bar:
        task = bar.add_task("preparing", total=None, speed="")
        for event in events:
            if not row:
                bar.console.print(title, soft_wrap=True)  # now that nothing was refused
            row = dict(event.row)
            lesson = row.get("lesson", lesson)
            bar.update(task, total=event.steps, completed=event.step)
            if "loss" in row:
                speed = f"{event.step / row['seconds']:.1f} steps/s" if row["seconds"] else ""
                bar.update(task, description=f"{row['lesson']}, loss {row['loss']:.3f}", speed=speed)
            elif "chosen_step" not in row:
                scores = row["validation"]
                bar.console.print(
                    f"{lesson}, step {row['step']:>5}   {row['seconds']:7.1f} s   validation: "
                    f"{scores['calculation']:6.1%} of answers, {scores['symbol']:6.1%} of symbols right",
                    highlight=False,
                )
    return row


@reporting_errors
def evaluate(
    run: Annotated[Path, typer.Argument(help="Folder of a run, as `ngs train` makes it.")],
    data: Annotated[
        str | None, typer.Option(help="Test on this data instead: `embedded` or a packed file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Test the network of a run: answers, formulas and symbols right, for each length."""
    name, scores = runs.evaluate_run(run, data)
    if as_json:
        typer.echo(json.dumps({"data": name, **scores.as_facts()}, indent=2))
    else:
        Console().print(_table(scores.as_facts(), f"{name}, test part"))


@reporting_errors
def report(
    run: Annotated[Path, typer.Argument(help="Folder of a run, as `ngs train` makes it.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write the page; by default report.html in the run.")
    ] = None,
) -> None:
    """Write one HTML page about a run: curves, confusions, mistakes, and corrections that were spurious."""
    typer.echo(f"written to {write_report(run, out=out)}")


@reporting_errors
def compare(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of finished runs.")],
    goal: Annotated[
        float,
        typer.Option(help="Also the training time until this test accuracy, for runs with --test-curve."),
    ] = 0.985,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Put runs side by side; runs that differ in their seed alone become one row, with mean and spread."""
    groups = comparison.compare(folders, goal)
    if as_json:
        typer.echo(json.dumps([asdict(group) for group in groups], indent=2))
        return
    title = "test part; mean and standard deviation over the seeds"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("data", no_wrap=True)
    table.add_column("what", min_width=15, overflow="fold")
    timed = any(group.seconds_to is not None for group in groups)  # needs runs with --test-curve
    for heading in ("runs", "answers %", "symbols %", "training s", *([f"to {goal:.1%}"] * timed)):
        table.add_column(heading, justify="right", no_wrap=True)
    for group in groups:
        others = (f"{name} {value}" for name, value in group.settings.items() if name != "method")
        what = "\n".join([group.settings["method"], *others])
        spreads = [group.seconds, group.seconds_to] if timed else [group.seconds]
        times = ["-" if spread is None else f"{spread.mean:.1f}" for spread in spreads]
        shares = [_percent(group.calculation), f"{100 * group.symbol.mean:.2f}"]
        table.add_row(group.data, what, str(len(group.seeds)), *shares, *times)
    Console().print(table)


def _percent(spread: comparison.Spread) -> str:
    deviation = "" if spread.deviation is None else f" ± {100 * spread.deviation:.2f}"
    return f"{100 * spread.mean:.2f}{deviation}"


def _table(scores: dict[str, Any], title: str) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in ("length", "formulas", "answers right", "formulas right", "symbols right"):
        table.add_column(heading, justify="right")
    for length, row in {**scores["by_length"], "all": scores}.items():
        shares = (row["calculation"], row["formula"], row["symbol"])
        table.add_row(length, str(row["examples"]), *("-" if s is None else f"{s:.2%}" for s in shares))
    return table
