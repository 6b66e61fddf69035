"""`ngs evaluate`, `report` and `compare`: what runs are worth."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ngs.console.options import TaskOption
from ngs.console.printing import plain_console, print_json, print_whole, tell
from ngs.experiments import comparison
from ngs.experiments.report.page import write_report
from ngs.experiments.run import evaluate_run
from ngs.tasks.finding import find, installed
from ngs.tasks.results.tables import in_percent
from ngs.tasks.run_folder import load_config
from ngs.tasks.trainable import MetricsView, Trainable


def evaluate(
    run: Annotated[
        Path, typer.Argument(help="Folder of a run, as `ngs train` makes it, or a file of `ngs weights`.")
    ],
    data: Annotated[
        str | None,
        typer.Option(
            help="Test on this data instead: a packed file, or what comes along: `embedded` formulas and "
            "questions, `rendered` pictures."
        ),
    ] = None,
    task: TaskOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Test the network of a run: answers right, and what was read or seen right, by length or kind."""
    given = None if task is None else find(task)
    name, scores = evaluate_run(run, data, given)
    if as_json:
        print_json({"data": name, **scores.as_facts()})
    else:
        print_scores(plain_console(), load_config(run, given).task, scores.as_facts(), name)


def print_scores(console: Console, task: Trainable, scores: Mapping[str, Any], data: str) -> None:
    """How good a network is on the test part."""
    print_whole(console, table_of(task.metrics, scores, f"{data}, test part"))
    for line in task.metrics.below(scores):
        tell(console, line)


def table_of(view: MetricsView, scores: Mapping[str, Any], title: str) -> Table:
    """A row for each group of examples, and one for all."""
    by, row = next(iter(view.groups.items()))
    table = Table(title=title, title_justify="left")
    for heading in (row, view.examples, *view.headings.values()):
        table.add_column(heading, justify="right")
    for name, group in {**scores[by], "all": scores}.items():
        shares = (group[share] for share in view.headings)
        table.add_row(name, str(group["examples"]), *("-" if s is None else f"{s:.2%}" for s in shares))
    return table


def report(
    run: Annotated[Path, typer.Argument(help="Folder of a run, as `ngs train` makes it.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write the page; by default report.html in the run.")
    ] = None,
    task: TaskOption = None,
) -> None:
    """Write one HTML page about a run: curves, confusions, mistakes, and corrections that were spurious."""
    typer.echo(f"written to {write_report(run, out=out, task=None if task is None else find(task))}")


def compare(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of finished runs.")],
    goal: Annotated[
        float,
        typer.Option(help="Also the training time until this test accuracy, for runs with --test-curve."),
    ] = 0.985,
    curves: Annotated[
        Path | None,
        typer.Option(help="Also draw the test accuracy of runs with --test-curve into this SVG or PNG file."),
    ] = None,
    task: TaskOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Put runs side by side; runs that differ in their seed alone become one row, with mean and spread."""
    given = None if task is None else find(task)
    groups = comparison.compare(folders, goal, given)
    if curves is not None:
        comparison.draw_curves(folders, curves, given)
    if as_json:
        print_json([asdict(group) for group in groups])
        return
    for name in dict.fromkeys(group.task for group in groups):
        about = given or installed(name)
        assert about is not None  # the runs could be read
        _print_comparison(about, [group for group in groups if group.task == name], goal)


def _print_comparison(task: Trainable, groups: list[comparison.Group], goal: float) -> None:
    title = "test part; mean and standard deviation over the seeds"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("data", no_wrap=True)
    table.add_column("what", min_width=15, overflow="fold")
    timed = any(group.seconds_to is not None for group in groups)  # needs runs with --test-curve
    shown = task.metrics.compared
    headings = [f"{heading} %" for heading in shown.values()]
    for heading in ("runs", *headings, "training s", *([f"to {goal:.1%}"] * timed)):
        table.add_column(heading, justify="right", no_wrap=True)
    for group in groups:
        others = (f"{name} {value}" for name, value in group.settings.items() if name != "method")
        what = "\n".join([group.settings["method"], *others])
        spreads = [group.seconds, group.seconds_to] if timed else [group.seconds]
        times = ["-" if spread is None else f"{spread.mean:.1f}" for spread in spreads]
        first, *rest = (group.test.get(name) for name in shown)
        means = ("-" if spread is None else f"{100 * spread.mean:.2f}" for spread in rest)
        shares = ["-" if first is None else in_percent(first), *means]
        table.add_row(group.data, what, str(len(group.seeds)), *shares, *times)
    print_whole(plain_console(), table)
